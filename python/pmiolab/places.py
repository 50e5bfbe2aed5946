"""Where things are: in the source tree, in a build directory, and for as long as one test runs.

A build directory is given as a path; the functions only compose names and do not look whether the file is there.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .mpi_libraries import Mpi

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"  # the build directory that scripts take by default
SYSTEM_PYTHON = "/usr/bin/python3"  # the interpreter that the distribution's Python packages belong to
KIB, MIB = 1 << 10, 1 << 20  # bytes


def file_system(path: Path) -> str:
    """The type of the one that a directory is on, as mount(8) calls it."""
    words = ["stat", "-c", "%m", str(path)]
    mount = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    kinds = [line.split()[2] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[1] == mount]
    return kinds[-1] if kinds else "unknown"


def pmio(build: Path) -> Path:
    """The command `pmio`."""
    return build / "bin" / "pmio"


def preloaded(build: Path) -> Path:
    """The library for every program, which takes the runtime library of the program's MPI."""
    return build / "lib" / "libpmio.so"


def yielding(build: Path) -> Path:
    """The library that turns an MPI library's busy polling into short sleeps (tests/mpi/yield.c)."""
    return build / "lib" / "libpmio_yield.so"


def faults(build: Path) -> Path:
    """The library that makes system calls fail (tests/faults/faults.c)."""
    return build / "lib" / "libpmio_faults.so"


def test_program(build: Path, name: str, mpi: Mpi) -> Path:
    """The program of tests/mpi with that name."""
    return build / "tests" / "mpi" / f"{name}-{mpi.tag}"


def benchmark(build: Path, name: str, mpi: Mpi) -> Path:
    """The program bench/<name>_bench.c."""
    return build / "bin" / f"{name}_bench-{mpi.tag}"


def memory() -> str | None:
    """A directory in memory; None, for the default of `tempfile`, if there is none."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextlib.contextmanager
def temporary(name: str, where: str | Path | None = None) -> Iterator[Path]:
    """A directory pmio-<name>-... in `where`, or in the usual place; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix=f"pmio-{name}-", dir=where) as directory:
        yield Path(directory)
