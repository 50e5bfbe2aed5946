"""What the ranks of tests/mpi/crash_writer.c, and of programs like it, tell of their progress while they run."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

MAX_RANKS = 64  # as in crash_writer.h
CALLS_PER_OPEN = 120  # as there: write calls between an open and its close
_ROW = struct.Struct("QQQQQQ")  # started, acknowledged, pid, finished, closing, failed


class Progress:
    """A file that is mapped by the ranks and by the test; it tells the truth also when ranks have been killed."""

    def __init__(self, path: Path, ranks: int) -> None:
        """Makes the file, all zero, for that many ranks."""
        path.write_bytes(bytes(MAX_RANKS * _ROW.size))
        self.ranks = ranks
        with path.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)

    def rows(self) -> list[tuple[int, ...]]:
        """Of each rank: calls started, calls acknowledged, process id, finished, closing, failed."""
        return [_ROW.unpack_from(self.map, rank * _ROW.size) for rank in range(self.ranks)]

    def started(self) -> int:
        """The most calls that a rank has started."""
        return max(row[0] for row in self.rows())

    def pids(self) -> list[int]:
        """The process ids of the ranks that have begun."""
        return [row[2] for row in self.rows() if row[2]]

    def finished(self) -> bool:
        """All ranks have done all their calls."""
        return all(row[3] for row in self.rows())

    def closing(self) -> bool:
        """All ranks are in MPI_File_close."""
        return all(row[4] for row in self.rows())

    def within_a_close(self) -> list[int]:
        """The ranks that are in MPI_File_close now."""
        return [rank for rank, row in enumerate(self.rows()) if row[4]]

    def failed(self, rank: int) -> bool:
        """A call of that rank has returned an error."""
        return bool(self.rows()[rank][5])

    def within_a_write(self) -> list[int]:
        """The ranks that are in a write call now."""
        return [rank for rank, row in enumerate(self.rows()) if row[0] > row[1]]
