#!/usr/bin/env python3
"""Parallel h5py plain and under pmio: what is read back is right, and h5diff finds the two files equal.

Two plain runs differ in bytes, since HDF5 places its metadata by timing; hence h5diff. Runs the Debian
package's parallel h5py, which is built with Open MPI.
"""

import shutil
import subprocess

from pmiolab import checks, client_records, command_line, mpi_libraries, places, real_programs, tables

WRITER = places.ROOT / "tests" / "programs" / "h5py_writer.py"


def write(mpi, ranks, path, pmio):
    """How many bytes it logged."""
    command = [places.SYSTEM_PYTHON, WRITER, path.name]
    return real_programs.run_or_end(
        "h5py", mpi, ranks, command, directory=path.parent, pmio=pmio, timeout=200, logs=True
    ).written_bytes


def main():
    parser = command_line.parser(__doc__, mpi=False)
    command_line.add_ranks(parser)
    command_line.add_plain_only(parser)
    options = parser.parse_args()
    installed = subprocess.run(
        [places.SYSTEM_PYTHON, "-c", "import h5py._debian_h5py_mpi, mpi4py"], capture_output=True, check=False
    )
    if installed.returncode != 0 or not shutil.which("h5diff"):
        checks.skip("parallel h5py or h5diff is not installed")
    mpi = mpi_libraries.choose_of_distribution(options.build, "h5py")
    pmio = None if options.plain_only else places.pmio(options.build)
    with places.temporary("h5py") as scratch:
        plain, under = scratch / "plain.h5", scratch / "pmio.h5"
        write(mpi, options.ranks, plain, None)
        logged = write(mpi, options.ranks, under, pmio)
        sizes = plain.stat().st_size, under.stat().st_size
        difference = subprocess.run(
            ["h5diff", "-v", str(plain), str(under)], capture_output=True, text=True, check=False
        )
    verdict = "equal" if difference.returncode == 0 else "DIFFERENT"
    tables.print_table(
        ("program", "ranks", "bytes plain", "bytes pmio", "bytes logged", "h5diff"),
        [("parallel h5py", options.ranks, *sizes, logged, verdict)],
    )
    if pmio:
        client_records.write_client(options.build, "h5py", mpi, {"h5py_writer.h5": verdict})
    if difference.returncode != 0:
        print(difference.stdout + difference.stderr)
    return 0 if difference.returncode == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
