#!/usr/bin/env python3
"""Programs in C and in the three Fortran bindings, plain and under pmio: the same answers, the same file, all bytes logged.

The Fortran ones are compiled by the Fortran wrapper of the MPI, and left out where it has none, or none that compiles a
binding. Which MPI functions reach pmio is counted on the way, and kept in the build directory for coverage.py.
"""

import argparse
import filecmp
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import call_counter
import harness
import transfer_calls

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import mpi_processes

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent / "bindings"
BINDINGS = {"C": "", "mpif.h": "MPIF_H", "use mpi": "USE_MPI", "mpi_f08": "F08"}
FLAGS = ["-O1", "-cpp", "-w", "-fallow-argument-mismatch", f"-I{SOURCES}", "-I."]


def programs(binding):
    return ["transfers"] if binding == "C" else ["transfers", "files"]


def expected_bytes(binding, program, data, ranks):
    """What the ranks write together. The bindings differ by what only mpi_f08 can leave out."""
    if program == "transfers":
        return data.stat().st_size  # each byte of the file is written once
    return (14 + (binding == "mpi_f08")) * 4 * ranks


def fortran_compiler(mpi):
    """The Fortran wrapper beside mpicc, or None."""
    mpicc = Path(mpi.mpicc)
    for name in ("mpifort", "mpif90"):
        wrapper = mpicc.with_name(mpicc.name.replace("mpicc", name))
        if mpi.family != "abi" and wrapper.exists():
            return str(wrapper)
    return None


def has_binding(mpi, binding, directory):
    if binding == "C":
        return True
    compiler = fortran_compiler(mpi)
    probe = directory / "probe.F90"
    probe.write_text('#include "binding.inc"\nprogram probe\nUSE_BINDING\nimplicit none\nINCLUDE_BINDING\nend program\n')
    command = [compiler, *FLAGS, f"-DBINDING_{BINDINGS[binding]}", "-fsyntax-only", str(probe)]
    return compiler is not None and subprocess.run(command, cwd=directory, capture_output=True).returncode == 0


def compile_program(mpi, binding, program, directory):
    """The program's path."""
    if binding == "C":
        (directory / "transfer_calls.h").write_text(transfer_calls.c())
        command = [mpi.mpicc, "-O1", "-I.", str(SOURCES / f"{program}.c")]
    else:
        (directory / "transfer_calls.inc").write_text(transfer_calls.fortran())
        subprocess.run([mpi.mpicc, "-O1", "-c", str(SOURCES / "handles.c"), "-o", "handles.o"], cwd=directory, check=True)
        sources = [str(SOURCES / "record.F90"), str(SOURCES / f"{program}.F90"), "handles.o"]
        command = [fortran_compiler(mpi), *FLAGS, f"-DBINDING_{BINDINGS[binding]}", *sources]
    subprocess.run([*command, "-o", program], cwd=directory, check=True)
    return directory / program


def differences(ranks, directory):
    """What differs between the run in directory/plain and that in directory/pmio."""
    names = ["data", *(f"record.{rank}" for rank in range(ranks))]
    return [name for name in names if not filecmp.cmp(directory / "plain" / name, directory / "pmio" / name, shallow=False)]


def compare(mpi, binding, program, options, directory):
    """(verdict, how many bytes were logged)."""
    binary = compile_program(mpi, binding, program, directory)
    logged = 0
    for kind, command in (("plain", None), ("pmio", options.build.resolve() / "bin" / "pmio")):
        (directory / kind).mkdir()
        run = harness.run(mpi, options.ranks, [str(binary), "data", "record"], directory=directory / kind, pmio=command)
        logged = run.logged_bytes
        if run.verdict != "pass":
            return f"{kind}: {run.verdict}\n{run.output[:2000]}", logged
    if different := differences(options.ranks, directory):
        return f"differ: {', '.join(different)}", logged
    expected = expected_bytes(binding, program, directory / "plain" / "data", options.ranks)
    return "pass" if logged == expected else f"{expected} bytes expected in the log", logged


def functions_called(mpi, counter, program, options, directory):
    """The MPI functions by which the program comes to pmio."""
    counts = directory / "counts"
    counts.mkdir()
    settings = {"CALL_COUNTS": counts, "PMIO_DIR": directory / "log"}
    command = [mpi.mpiexec, "-n", options.ranks, *mpi_processes.with_environment(settings, [counter, mpi.runtime])]
    command += [program, directory / "counted", directory / "record"]
    code, output = mpi_processes.run([str(word) for word in command], harness.environment(mpi), 120)
    if code != 0:
        raise SystemExit(f"{mpi.tag} {program.name}, counted: exit {code}\n{output[:2000]}")
    return sorted(name for name in call_counter.read(counts, "wrapper") if name != "pwrite")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    parser.add_argument("--mpi", required=True, help="tag of an MPI")
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    mpi = harness.choose_mpi(options.build, options.mpi)
    rows, called = [], {}
    with tempfile.TemporaryDirectory(prefix="pmio-bindings-", dir=harness.memory()) as scratch:
        counter = call_counter.build(mpi, "wrapper", Path(scratch))
        for binding in BINDINGS:
            if not has_binding(mpi, binding, Path(scratch)):
                rows.append((binding, "", "absent", ""))
                continue
            for program in programs(binding):
                directory = Path(scratch) / f"{program}-{binding.replace(' ', '-')}"
                directory.mkdir()
                rows.append((binding, program, *compare(mpi, binding, program, options, directory)))
                names = functions_called(mpi, counter, directory / program, options, directory)
                called.setdefault(binding, {})[program] = names
        for program in ("smoke", "handles"):
            directory = Path(scratch) / program
            directory.mkdir()
            binary = options.build / "tests" / "mpi" / f"{program}-{mpi.tag}"
            called["C"][program] = functions_called(mpi, counter, binary, options, directory)
    harness.print_table(("binding", "program", "", "bytes logged"), rows)
    record = options.build / "tests" / "coverage" / f"{mpi.tag}.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps(called, indent=1))
    return 1 if {row[2] for row in rows} - {"pass", "absent"} else 0


if __name__ == "__main__":
    raise SystemExit(main())
