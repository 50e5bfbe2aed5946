"""Options that several scripts have. Every build directory that a script gets is an absolute path."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import places


def resolved(path: str) -> Path:
    """The type of an option that names a path: absolute, whatever directory the script changes to."""
    return Path(path).resolve()


def parser(description: str | None, *, mpi: bool = True) -> argparse.ArgumentParser:
    """--build and, unless the script looks at all MPIs, --mpi. The description is shown as it is written."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--build", default=places.RELEASE, type=resolved, help="build directory; default: build/release"
    )
    if mpi:
        options.add_argument("--mpi", help="tag of the MPI; default: the first")
    return options


def benchmark_parser(
    description: str | None, *, repetitions: int, timeout: float, mpi: bool = True
) -> argparse.ArgumentParser:
    """The options of `parser`, and --repetitions, --timeout and --json."""
    options = parser(description, mpi=mpi)
    options.add_argument("--repetitions", type=int, default=repetitions)
    options.add_argument("--timeout", type=float, default=timeout, help="seconds of one run")
    options.add_argument("--json", type=Path, help="file that gets the results, every time included")
    return options


def add_work(options: argparse.ArgumentParser) -> None:
    """--work, for benchmarks whose files shall be on a disk."""
    options.add_argument(
        "--work", default=places.ROOT, type=Path, help="where target files are written: a disk file system"
    )


def add_log_directory(options: argparse.ArgumentParser) -> None:
    """--log-dir."""
    options.add_argument("--log-dir", default="/dev/shm", help="where the log directory is made: a tmpfs")


def add_figure(options: argparse.ArgumentParser) -> None:
    """--figure, of a benchmark with --json; check_figure goes with it."""
    options.add_argument("--figure", type=Path, help="draws the results: SVG or PNG")


def check_figure(parsed_by: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the script as wrongly used if there is a --figure and no --json."""
    if options.figure and not options.json:
        parsed_by.error("--figure draws what --json names; give both")


def add_ranks(options: argparse.ArgumentParser) -> None:
    """--ranks, two by default."""
    options.add_argument("--ranks", type=int, default=2)


def add_plain_only(options: argparse.ArgumentParser) -> None:
    """--plain-only: tests the test."""
    options.add_argument("--plain-only", action="store_true", help="compare two plain runs")
