#!/usr/bin/env python3
"""bench/grid.py: every pattern is verified under pmio, a stopped grid goes on, and failures are listed.

mpiio_bench checks every byte that it has written.
"""

import json
import subprocess
import sys

from pmiolab import command_line, mpi_libraries, places
from pmiolab.grid_patterns import PATTERNS

BYTES = 100_000  # of a rank, at least one call
ONE_CELL = ("--file-systems", "tmpfs", "--states", "cold", "--repetitions", 1)


def run(options, scratch, *arguments):
    words = [sys.executable, places.ROOT / "bench" / "grid.py", "--build", options.build, "--mpi", options.mpi,
             "--work", scratch, "--bytes", BYTES, "--noisy", *ONE_CELL, *arguments]  # fmt: skip
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def rows_of(path):
    return json.loads(path.read_text())["grid"]


def check_patterns(options, scratch, plain):
    """What is measured is nothing: only that all ways wrote and read the right bytes."""
    path = scratch / "patterns.json"
    operations = ("write", "read") if options.all_ways else ("write",)
    ways = () if options.all_ways else ("--ways", "pmio")
    done = run(options, scratch, *ways, "--json", path, "--operations", ",".join(operations))
    rows = rows_of(path)
    assert len(rows) == len(PATTERNS) * len(operations), done
    failed = [(row["cell"], row["failed"]) for row in rows if row["failed"]]
    assert not failed, failed
    measured = {frozenset(row["seconds"]) for row in rows}
    assert len(measured) == 1 and ({"pmio", plain} if options.all_ways else {"pmio"}) <= set(*measured), measured
    assert ("worst case: " in done.stdout) == options.all_ways and "min left" in done.stdout, done
    assert done.returncode == ("below 0.9: " in done.stdout), done
    figure = [places.SYSTEM_PYTHON, places.ROOT / "bench" / "figure.py"]
    if subprocess.run([*figure, "--check"], capture_output=True, check=False).returncode == 0:
        subprocess.run([*figure, path, scratch / "grid.svg"], check=True)
        assert "s3d" in (scratch / "grid.svg").read_text(), "no figure"


def check_resumed(options, scratch, plain):
    """A grid that was stopped behind its first cell goes on, and one that is there is not lost."""
    path = scratch / "resumed.json"
    two = ("--patterns", "olam,s3d", "--ways", plain, "--json", path)
    done = run(options, scratch, *two, "--seconds", 0.001)
    first = rows_of(path)
    assert [row["cell"]["pattern"] for row in first] == ["olam"] and "stopped: 1 " in done.stdout, done
    done = run(options, scratch, *two)
    assert done.returncode == 1 and "--resume" in done.stderr and rows_of(path) == first, done
    done = run(options, scratch, *two, "--resume", "--bytes", 2 * BYTES)
    assert done.returncode == 1 and "bytes" in done.stderr, done
    run(options, scratch, *two, "--resume")
    rows = rows_of(path)
    assert rows[:1] == first and [row["cell"]["pattern"] for row in rows] == ["olam", "s3d"], rows


def check_failures(options, scratch, plain):
    """A run that takes too long, and a file system that is not there, are listed; the exit code tells of them."""
    path = scratch / "failed.json"
    olam = ("--patterns", "olam", "--ways", plain, "--json", path)
    done = run(options, scratch, *olam, "--timeout", 0.001, "--file-systems", "tmpfs,zfs")
    rows = rows_of(path)
    assert done.returncode == 1 and len(rows) == 2, done
    assert all(set(row["failed"]) == {"pmio", plain} and not row["seconds"] for row in rows), rows
    lines = [line for line in done.stdout.splitlines() if line.startswith("failed: ")]
    assert len(lines) == 4 and any("zfs" in line and "--work" in line for line in lines), done
    done = run(options, scratch, "--patterns", "unknown")
    assert done.returncode == 2 and "s3d" in done.stderr, done


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--all-ways", action="store_true", help="verify all ways, and reads; else pmio's default")
    options = parser.parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    options.mpi = mpi.tag
    plain = "ompio" if mpi.family == "openmpi" else "default"
    with places.temporary("grid", places.memory()) as scratch:
        check_patterns(options, scratch, plain)
        check_resumed(options, scratch, plain)
        check_failures(options, scratch, plain)


if __name__ == "__main__":
    main()
