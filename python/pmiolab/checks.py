"""What a test says and its exit code: named checks, complaints, and the reason why it is skipped."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

SKIPPED = 77  # the exit code that CTest takes as "skipped"


def skip(reason: str) -> NoReturn:
    """Ends the script as skipped."""
    print(f"skipped: {reason}")
    raise SystemExit(SKIPPED)


class Checks:
    """Many named checks of one job or of several; each says at once how it went."""

    def __init__(self) -> None:
        self.failures = 0

    def check(self, name: str, holds: object, output: object = "") -> None:
        """Counts a failure if `holds` is false, and prints the output that shows why."""
        print(f"{'ok    ' if holds else 'FAILED'} {name}")
        if not holds:
            self.failures += 1
            print(output)

    def conclude(self) -> int:
        """The exit code of the script."""
        print(f"{self.failures} failed" if self.failures else "all right")
        return 1 if self.failures else 0


def conclude(complaints: Iterable[str], all_right: str = "") -> int:
    """Prints the complaints or, if there are none, that all is right. The exit code of the script."""
    complaints = list(complaints)
    for complaint in complaints:
        print(complaint)
    if all_right and not complaints:
        print(all_right)
    return 1 if complaints else 0


def is_complete(path: Path, size: int) -> bool:
    """Whether the file has `size` bytes and holds what tests/mpi/full_target.c writes; looks at samples."""
    data = path.read_bytes()
    return len(data) == size and all(data[i] == (i // 251 + i * 3) & 0xFF for i in range(0, size, 97))
