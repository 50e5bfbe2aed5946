#!/usr/bin/env python3
"""mpi4py's own tests of MPI-IO under pmio: none may fail that passes without it.

Python loads its MPI so that a preloaded library cannot see it. mpi4py is taken from the virtual environment
of an MPI's wheel, its tests from its source package; scripts/setup gets both, and without them this test is
skipped.
"""

import os
import re
import subprocess
from pathlib import Path

from pmiolab import checks, command_line, mpi_libraries, places, real_programs

SOURCES = places.ROOT / ".deps" / "mpi4py" / "test"
MODULES = ("test_file", "test_io")
# The distribution's mpi4py is for one MPI, not for that of the mpicc beside it: it does not count.
PROBE = "import sys, numpy, mpi4py; sys.exit(sys.prefix == sys.base_prefix)"


def python_of(mpi):
    """The interpreter beside mpicc, in a virtual environment with mpi4py; else None."""
    python = Path(mpi.mpicc).with_name("python3")
    if not python.exists() or subprocess.run([python, "-c", PROBE], capture_output=True).returncode != 0:
        return None
    return str(python)


def run_tests(mpi, python, ranks, options, pmio):
    """(the run, the names of the tests that failed on any rank)."""
    program = [python, str(options.sources / "main.py"), *(word for name in MODULES for word in ("-i", name))]
    quiet = places.yielding(options.build)  # there are more ranks than cores, so ranks must not spin
    run = real_programs.run(
        mpi, ranks, program, directory=options.sources, pmio=pmio, timeout=options.timeout, preload=[quiet]
    )
    return run, set(re.findall(r"^(?:FAIL|ERROR): (\S+ \(\S+\))", run.output, re.MULTILINE))


def compare(mpi, python, ranks, options):
    """What is worse under pmio than without it; empty if nothing is. The plain run is made only if something failed."""
    under, failed = run_tests(mpi, python, ranks, options, places.pmio(options.build))
    count = re.search(r"^Ran (\d+) tests", under.output, re.MULTILINE)
    print(f"{mpi.tag}, {ranks} ranks: {count[1] if count else 'no'} tests, {under.verdict}", flush=True)
    if under.verdict == "pass" and count:
        return ""
    plain, failed_plain = run_tests(mpi, python, ranks, options, None)
    print(f"{mpi.tag}, {ranks} ranks, plain: {plain.verdict}")
    if plain.passed or failed - failed_plain or (under.leftovers and not failed):
        return f"{mpi.tag}, {ranks} ranks: {under.verdict} {sorted(failed - failed_plain)}\n{under.output[-3000:]}"
    return ""


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--sources", type=Path, default=SOURCES, help="mpi4py's folder of tests")
    parser.add_argument("--timeout", type=float, default=250, help="seconds per run")
    options = parser.parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    python = python_of(mpi)
    if python is None or not (options.sources / "main.py").exists():
        checks.skip(f"mpi4py for {mpi.tag} cannot be had")
    with places.temporary("mpi4py", places.memory()) as scratch:
        os.environ["TMPDIR"] = str(scratch)  # where its tests put their files
        worse = [complaint for ranks in options.ranks if (complaint := compare(mpi, python, ranks, options))]
    return checks.conclude(worse)


if __name__ == "__main__":
    raise SystemExit(main())
