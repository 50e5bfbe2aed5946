#!/usr/bin/env python3
"""Parallel h5py plain and under pmio: what is read back is right, and h5diff finds the two files equal.

Two plain runs differ in bytes (HDF5 places its metadata as timing has it), hence h5diff. Runs the Debian package's
parallel h5py, which is built with Open MPI.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"  # the one that the distribution's packages belong to
WRITER = Path(__file__).with_name("h5py_writer.py")


def write(mpi, ranks, path, pmio):
    command = [PYTHON, str(WRITER), path.name]
    run = harness.run(mpi, ranks, command, directory=path.parent, pmio=pmio, timeout=200, statistics=True)
    if run.verdict != "pass":
        print(run.output)
        raise SystemExit(f"h5py {'under pmio' if pmio else 'plain'}: {run.verdict} {run.leftovers}")
    if pmio and not run.logged_bytes:
        raise SystemExit("h5py under pmio: nothing went through the log")
    return run.logged_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--plain-only", action="store_true", help="compare two plain runs")
    options = parser.parse_args()
    installed = subprocess.run([PYTHON, "-c", "import h5py._debian_h5py_mpi, mpi4py"], capture_output=True, check=False)
    if installed.returncode != 0 or not shutil.which("h5diff"):
        harness.skip("parallel h5py or h5diff is not installed")
    mpis = [m for m in harness.load_mpis(options.build) if m.tag.startswith("openmpi-4")]
    if not mpis:
        harness.skip("no runtime library for the Open MPI that h5py is built with")
    pmio = None if options.plain_only else options.build.resolve() / "bin" / "pmio"
    with tempfile.TemporaryDirectory(prefix="pmio-h5py-") as scratch:
        plain, under = Path(scratch) / "plain.h5", Path(scratch) / "pmio.h5"
        write(mpis[0], options.ranks, plain, None)
        logged = write(mpis[0], options.ranks, under, pmio)
        sizes = plain.stat().st_size, under.stat().st_size
        difference = subprocess.run(["h5diff", "-v", str(plain), str(under)], capture_output=True, text=True, check=False)
    verdict = "equal" if difference.returncode == 0 else "DIFFERENT"
    harness.print_table(
        ("program", "ranks", "bytes plain", "bytes pmio", "bytes logged", "h5diff"),
        [("parallel h5py", options.ranks, *sizes, logged, verdict)],
    )
    if pmio:
        harness.record_client(options.build, "h5py", mpis[0], {"h5py_writer.h5": verdict})
    if difference.returncode != 0:
        print(difference.stdout + difference.stderr)
    return 0 if difference.returncode == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
