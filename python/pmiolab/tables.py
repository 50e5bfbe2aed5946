"""Results as a table for a reader, and as JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path


def print_table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
    """Columns are as wide as their widest cell."""
    lines = [header, *rows]
    widths = [max(len(str(row[i])) for row in lines) for i in range(len(header))]
    for row in lines:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())


def write_json(path: Path | None, results: object) -> None:
    """Writes the results, indented, and makes the file's folder; does nothing without a path."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n")
