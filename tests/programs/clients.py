#!/usr/bin/env python3
"""Libraries above MPI-IO, and I/O kernels, plain and under pmio: the files are the same, and pmio
wrote the data.

What the programs read back is right, and the hints that they report are the same except pmio's own. The
programs are in clients/, see client.h. The result of each case is kept in the build directory for
clients_page.py.
"""

import filecmp
import subprocess
from dataclasses import dataclass, field

from pmiolab import checks, client_records, command_line, mpi_libraries, places, real_programs, tables

SOURCES = places.ROOT / "tests" / "programs" / "clients"


@dataclass(frozen=True)
class Client:
    programs: tuple
    # pkg-config's name of the library by the MPI that the distribution builds it with; empty: it needs none.
    packages: dict = field(default_factory=dict)
    # The same with the script of scripts/ that builds the library for an MPI and prints pkg-config's name of it.
    builders: dict = field(default_factory=dict)
    headers: str = ""  # directory of the library's headers, below the library's, if pkg-config does not tell
    # Files in whose gaps HDF5 writes what its memory happened to hold: two plain runs differ too.
    undetermined: tuple = ()


CLIENTS = {
    "kernels": Client(("kernels", "hints")),
    "hdf5": Client(
        ("hdf5", "olam"),
        {"mpich-4": "hdf5-mpich", "openmpi-4": "hdf5-openmpi"},
        undetermined=("deflate", "space-page", "space-aggregated-persist"),
    ),
    "pnetcdf": Client(("pnetcdf",), {"openmpi-4": "pnetcdf"}, {"mpich-5": "build-pnetcdf"}),
    "petsc": Client(("petsc",), {"openmpi-4": "PETSc"}),
    "netcdf": Client(
        ("netcdf",), {"openmpi-4": "netcdf-pnetcdf"}, headers="netcdf/pnetcdf/include", undetermined=("deflate",)
    ),
}


@dataclass
class Case:
    hints: set = field(default_factory=set)
    stored_bytes: int = 0


def read_report(path):
    """{file: Case} of a report, see client.h."""
    cases = {}
    for line in path.read_text().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "case":
            case = cases[rest] = Case()
        elif kind == "hint":
            case.hints.add(rest)
        else:
            case.stored_bytes += int(rest)
    return cases


def by_mpi(table, mpi):
    return next((value for prefix, value in table.items() if mpi.tag.startswith(prefix)), None)


def build_library(script, mpi):
    """pkg-config's name of the library; ends as skipped if its source cannot be had."""
    run = subprocess.run([places.ROOT / "scripts" / script, mpi.mpicc], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode == checks.SKIPPED:
        checks.skip(f"scripts/{script} cannot build the library")
    run.check_returncode()
    return run.stdout.strip()


def library_flags(client, mpi):
    """What the compiler must be told; ends as skipped if the library cannot be had."""
    if not client.packages:
        return []
    builder = by_mpi(client.builders, mpi)
    name = build_library(builder, mpi) if builder else by_mpi(client.packages, mpi)
    if not name:
        checks.skip(f"no package of the library is built with {mpi.tag}")

    def ask(*question):
        return subprocess.run(["pkg-config", *question, name], capture_output=True, text=True, check=False)

    answer = ask("--cflags", "--libs")
    if answer.returncode != 0:
        checks.skip(f"{name} is not installed")
    headers = f"{ask('--variable=libdir').stdout.strip()}/{client.headers}"
    return ([f"-I{headers}"] if client.headers else []) + answer.stdout.split()


def difference(client, name, plain, under):
    """"identical", "equal" (to h5diff, if bytes are not determined), or what is wrong."""
    if not under.exists():
        return "MISSING"
    undetermined = name.startswith(client.undetermined) if client.undetermined else False
    if not undetermined:
        return "identical" if filecmp.cmp(plain, under, shallow=False) else "DIFFERENT"
    run = subprocess.run(["h5diff", "-v", str(plain), str(under)], capture_output=True, text=True, check=False)
    return "equal" if run.returncode == 0 else "DIFFERENT"


def hint_complaint(plain, under):
    """What is wrong with the hints under pmio; "" if nothing is, or the client reports none."""
    own = {hint for hint in under.hints if hint.startswith("pmio_")}
    if under.hints - own != plain.hints:
        return "other hints: " + ", ".join(sorted((under.hints - own) ^ plain.hints))
    return "not logged" if own and "pmio_mode=log" not in own else ""


def run_program(mpi, binary, options, directory, pmio):
    """How many bytes pmio wrote of it."""
    directory.mkdir()
    return real_programs.run_or_end(
        binary.name, mpi, options.ranks, [binary], directory=directory, pmio=pmio
    ).written_bytes


def compare(client, mpi, program, options, scratch):
    """{file: verdict}, bytes stored, bytes that pmio wrote."""
    binary = scratch / program
    flags = library_flags(client, mpi)
    subprocess.run([mpi.mpicc, "-O1", str(SOURCES / f"{program}.c"), "-o", str(binary), *flags], check=True)
    plain, under = scratch / f"{program}-plain", scratch / f"{program}-pmio"
    run_program(mpi, binary, options, plain, None)
    logged = run_program(mpi, binary, options, under, None if options.plain_only else places.pmio(options.build))
    cases, cases_under = read_report(plain / "report"), read_report(under / "report")
    verdicts = {}
    for name, case in cases.items():
        same = difference(client, name, plain / name, under / name)
        verdicts[name] = hint_complaint(case, cases_under[name]) or same
    return verdicts, sum(case.stored_bytes for case in cases.values()), logged


def main():
    parser = command_line.parser(__doc__)
    command_line.add_ranks(parser)
    command_line.add_plain_only(parser)
    parser.add_argument("--client", required=True, choices=CLIENTS)
    options = parser.parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    client, results, unlogged = CLIENTS[options.client], {}, []
    with places.temporary("clients") as scratch:
        for program in client.programs:
            verdicts, stored, logged = compare(client, mpi, program, options, scratch)
            results.update(verdicts)
            print(f"{program}: {stored} bytes of data, {logged} bytes by pmio")
            if logged < stored and not options.plain_only:
                unlogged.append(program)
    tables.print_table(("file", "plain and pmio"), results.items())
    if options.plain_only:
        return 0 if set(results.values()) <= {"identical", "equal"} else 1
    client_records.write_client(options.build, options.client, mpi, results)
    for program in unlogged:
        print(f"{program}: pmio has not written all of its data")
    return 1 if unlogged or set(results.values()) - {"identical", "equal"} else 0


if __name__ == "__main__":
    raise SystemExit(main())
