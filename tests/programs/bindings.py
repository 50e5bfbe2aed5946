#!/usr/bin/env python3
"""Programs in C and in the three Fortran bindings, plain and under pmio: the same answers, the same file, all
bytes logged.

The Fortran wrapper of the MPI compiles the Fortran programs. They are left out if there is none, or none that
compiles a binding. The test also counts which MPI functions reach pmio, and keeps that in the build directory
for coverage.py.
"""

import filecmp
import subprocess
from pathlib import Path

from pmiolab import (
    call_counter,
    client_records,
    command_line,
    mpi_jobs,
    mpi_libraries,
    places,
    real_programs,
    tables,
    transfer_calls,
)

SOURCES = places.ROOT / "tests" / "programs" / "bindings"
BINDINGS = {"C": "", "mpif.h": "MPIF_H", "use mpi": "USE_MPI", "mpi_f08": "F08"}
FLAGS = ["-O1", "-cpp", "-w", "-fallow-argument-mismatch", f"-I{SOURCES}", "-I."]


def programs(binding):
    return ["transfers"] if binding == "C" else ["transfers", "files"]


def expected_bytes(binding, program, data, ranks):
    """Bytes that the ranks write together. mpi_f08 writes more: only there arguments can be left out."""
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
    probe.write_text(
        '#include "binding.inc"\nprogram probe\nUSE_BINDING\nimplicit none\nINCLUDE_BINDING\nend program\n'
    )
    command = [compiler, *FLAGS, f"-DBINDING_{BINDINGS[binding]}", "-fsyntax-only", str(probe)]
    return compiler is not None and subprocess.run(command, cwd=directory, capture_output=True).returncode == 0


def compile_program(mpi, binding, program, directory):
    """The program's path."""
    if binding == "C":
        (directory / "transfer_calls.h").write_text(transfer_calls.c())
        command = [mpi.mpicc, "-O1", "-I.", str(SOURCES / f"{program}.c")]
    else:
        (directory / "transfer_calls.inc").write_text(transfer_calls.fortran())
        subprocess.run(
            [mpi.mpicc, "-O1", "-c", str(SOURCES / "handles.c"), "-o", "handles.o"], cwd=directory, check=True
        )
        sources = [str(SOURCES / "record.F90"), str(SOURCES / f"{program}.F90"), "handles.o"]
        command = [fortran_compiler(mpi), *FLAGS, f"-DBINDING_{BINDINGS[binding]}", *sources]
    subprocess.run([*command, "-o", program], cwd=directory, check=True)
    return directory / program


def differences(ranks, directory):
    """What differs between the run in directory/plain and that in directory/pmio."""
    names = ["data", *(f"record.{rank}" for rank in range(ranks))]
    return [
        name for name in names if not filecmp.cmp(directory / "plain" / name, directory / "pmio" / name, shallow=False)
    ]


def compare(mpi, binding, program, options, directory):
    """(verdict, how many bytes were logged)."""
    binary = compile_program(mpi, binding, program, directory)
    logged = 0
    for kind, command in (("plain", None), ("pmio", places.pmio(options.build))):
        (directory / kind).mkdir()
        run = real_programs.run(
            mpi, options.ranks, [str(binary), "data", "record"], directory=directory / kind, pmio=command
        )
        logged = run.written_bytes
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
    words = [program, directory / "counted", directory / "record"]
    ended = mpi_jobs.run(mpi, options.ranks, words, settings=settings, preload=[counter, mpi.runtime], timeout=120)
    if ended.code != 0:
        raise SystemExit(f"{mpi.tag} {program.name}, counted: {ended.how}\n{ended.output[:2000]}")
    return sorted(name for name in call_counter.read(counts, "wrapper") if name != "pwrite")


def main():
    parser = command_line.parser(__doc__)
    command_line.add_ranks(parser)
    options = parser.parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    rows, called = [], {}
    with places.temporary("bindings", places.memory()) as scratch:
        counter = call_counter.build(mpi, "wrapper", scratch)
        for binding in BINDINGS:
            if not has_binding(mpi, binding, scratch):
                rows.append((binding, "", "absent", ""))
                continue
            for program in programs(binding):
                directory = scratch / f"{program}-{binding.replace(' ', '-')}"
                directory.mkdir()
                rows.append((binding, program, *compare(mpi, binding, program, options, directory)))
                names = functions_called(mpi, counter, directory / program, options, directory)
                called.setdefault(binding, {})[program] = names
        for program in ("smoke", "handles"):
            directory = scratch / program
            directory.mkdir()
            binary = places.test_program(options.build, program, mpi)
            called["C"][program] = functions_called(mpi, counter, binary, options, directory)
    tables.print_table(("binding", "program", "", "bytes logged"), rows)
    client_records.write_bindings(options.build, mpi, called)
    return 1 if {row[2] for row in rows} - {"pass", "absent"} else 0


if __name__ == "__main__":
    raise SystemExit(main())
