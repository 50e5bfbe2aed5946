#!/usr/bin/env python3
"""Fortran programs in the three bindings, plain and under pmio: the same answers, the same file, and all bytes logged.

Compiled by the Fortran wrapper of the MPI; skipped where it has none, or none that compiles a binding.
"""

import argparse
import filecmp
import subprocess
import tempfile
from pathlib import Path

import fortran_calls
import harness

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent / "fortran"
BINDINGS = {"mpif.h": "MPIF_H", "use mpi": "USE_MPI", "mpi_f08": "F08"}
# What the ranks write together, in bytes by the number of ranks; the bindings differ by what only mpi_f08 can leave out.
LOGGED = {
    "transfers": lambda ranks, binding: 14 * 50 * 4 * ranks,
    "files": lambda ranks, binding: (14 + (binding == "mpi_f08")) * 4 * ranks,
}


def fortran_compiler(mpi):
    """The Fortran wrapper beside mpicc, or None."""
    mpicc = Path(mpi.mpicc)
    for name in ("mpifort", "mpif90"):
        wrapper = mpicc.with_name(mpicc.name.replace("mpicc", name))
        if wrapper.exists():
            return str(wrapper)
    return None


def c_side(mpi):
    """What CMake has compiled of fortran/handles.c."""
    return mpi.runtime.parents[1] / "tests" / "programs" / f"libfortran_handles-{mpi.tag}.a"


def compile_program(mpi, binding, program, directory):
    """The program's path; None where this MPI does not have the binding. A program that it has must compile."""
    directory.mkdir(parents=True, exist_ok=True)
    flags = ["-O1", "-cpp", "-w", "-fallow-argument-mismatch", f"-DBINDING_{BINDINGS[binding]}", f"-I{SOURCES}", f"-I{directory}"]
    compiler = fortran_compiler(mpi)
    probe = directory / "probe.F90"
    probe.write_text('#include "binding.h"\nprogram probe\nUSE_BINDING\nimplicit none\nINCLUDE_BINDING\nend program\n')
    if subprocess.run([compiler, *flags, "-fsyntax-only", str(probe)], cwd=directory, capture_output=True).returncode != 0:
        return None
    (directory / "transfer_calls.inc").write_text(fortran_calls.transfer_calls())
    sources = [str(SOURCES / "record.F90"), str(SOURCES / f"{program}.F90"), str(c_side(mpi))]
    subprocess.run([compiler, *flags, *sources, "-o", program], cwd=directory, check=True)
    return directory / program


def differences(ranks, directory):
    """What differs between the run in directory/plain and that in directory/pmio."""
    names = ["data", *(f"record.{rank}" for rank in range(ranks))]
    return [name for name in names if not filecmp.cmp(directory / "plain" / name, directory / "pmio" / name, shallow=False)]


def compare(mpi, binding, program, ranks, pmio, directory):
    """(verdict, how many bytes were logged)."""
    binary = compile_program(mpi, binding, program, directory)
    if binary is None:
        return "absent", 0
    logged = 0
    for kind, command in (("plain", None), ("pmio", pmio)):
        (directory / kind).mkdir()
        run = harness.run(mpi, ranks, [str(binary), "data", "record"], directory=directory / kind, pmio=command)
        logged = run.logged_bytes
        if run.verdict != "pass":
            return f"{kind}: {run.verdict}\n{run.output[:2000]}", logged
    if different := differences(ranks, directory):
        return f"differ: {', '.join(different)}", logged
    expected = LOGGED[program](ranks, binding)
    return "pass" if logged == expected else f"{expected} bytes expected in the log", logged


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    parser.add_argument("--mpi", required=True, help="tag of an MPI")
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    found = [mpi for mpi in harness.load_mpis(options.build) if mpi.tag == options.mpi]
    if not found or fortran_compiler(found[0]) is None:
        harness.skip(f"{options.mpi} has no Fortran wrapper")
    pmio = options.build.resolve() / "bin" / "pmio"
    rows = []
    with tempfile.TemporaryDirectory(prefix="pmio-fortran-") as scratch:
        for binding in BINDINGS:
            for program in LOGGED:
                directory = Path(scratch) / f"{program}-{BINDINGS[binding]}"
                rows.append((binding, program, *compare(found[0], binding, program, options.ranks, pmio, directory)))
    harness.print_table(("binding", "program", "", "bytes logged"), rows)
    verdicts = {row[2] for row in rows}
    if verdicts == {"absent"}:
        harness.skip(f"{options.mpi} has no Fortran binding that this compiler reads")
    return 1 if verdicts - {"pass", "absent"} else 0


if __name__ == "__main__":
    raise SystemExit(main())
