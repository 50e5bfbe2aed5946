"""Pages of docs/ that are tables with a column per MPI, written from records that tests leave in a build directory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from . import checks, command_line
from .mpi_libraries import Mpi

NAMES = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI", "abi": "MPI ABI"}


Table = dict[str, dict[str, str]]  # {first cell of a row: {column: cell}}


def label(tag: str) -> str:
    """MPICH 4.0 for mpich-4.0.2: what a patch release does not change."""
    name, _, version = tag.partition("-")
    parts = version.split(".")
    return f"{NAMES[name]} {'.'.join(parts[:2] if name in ('mpich', 'openmpi') else parts[:1])}"


def in_order(mpis: Iterable[Mpi]) -> list[Mpi]:
    """In the order of the pages' columns."""
    return sorted(mpis, key=lambda mpi: (list(NAMES).index(mpi.tag.partition("-")[0]), mpi.tag))


def row(words: Iterable[str]) -> str:
    """A line of a table in Markdown."""
    return "| " + " | ".join(words) + " |\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return row(header) + row(["---"] * len(header)) + "".join(map(row, rows))


def table_of(text: str) -> Table:
    """The table of a page; empty if it has none."""
    lines = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    return {cells[0]: dict(zip(lines[0], cells)) for cells in lines[2:]} if lines else {}


def main(
    description: str | None,
    page: Path,
    text_from: Callable[[Path], str | None],
    complaints: Callable[[Table, Table], Iterable[str]],
) -> int:
    """The command of a page; returns the exit code.

    text_from(build): the page's text now, None without records. complaints(now, filed): where the table of
    the page on file differs from that of a page written now.
    """
    parser = command_line.parser(description, mpi=False)
    parser.add_argument("action", choices=("write", "check"))
    options = parser.parse_args()
    text = text_from(options.build)
    if text is None:
        checks.skip("the tests have left no records in the build directory")
    if options.action == "write":
        page.write_text(text)
        return 0
    found = list(complaints(table_of(text), table_of(page.read_text()) if page.exists() else {}))
    if found:
        print(f"write it again: {Path(sys.argv[0]).name} write", file=sys.stderr)
    return checks.conclude(found)
