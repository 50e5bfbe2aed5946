#!/usr/bin/env python3
"""LAMMPS writing its trajectories and restarts by MPI-IO: the files under pmio are those without it, byte for byte.

Runs the melt example of the Debian package (Open MPI) with the dump styles atom/mpiio, custom/mpiio and xyz/mpiio and
with restart ... mpiio, seven files in all.
"""

import filecmp
import shutil
import time
from pathlib import Path

from pmiolab import checks, client_records, command_line, mpi_libraries, places, real_programs, tables

EXAMPLE = Path("/usr/share/lammps/examples/melt/in.melt")
OUTPUT = """
dump a all atom/mpiio 50 melt.atom.mpiio
dump c all custom/mpiio 50 melt.custom.mpiio id type x y z vx vy vz
dump x all xyz/mpiio 50 melt.xyz.mpiio
restart 60 melt.restart.mpiio
"""
FILES = ["melt.atom.mpiio", "melt.custom.mpiio", "melt.xyz.mpiio"]
FILES += [f"melt.restart.mpiio.{step}" for step in (60, 120, 180, 240)]


def write_input(directory):
    """The example with its output added before the run starts."""
    text = EXAMPLE.read_text()
    before, run = text.rsplit("\nrun", 1)
    (directory / "in.melt").write_text(before + OUTPUT + "run" + run)


def run_lammps(mpi, ranks, directory, pmio):
    """The seconds that it took."""
    directory.mkdir()
    write_input(directory)
    started = time.monotonic()
    command = ["lmp", "-in", "in.melt", "-log", "log.melt"]
    real_programs.run_or_end("LAMMPS", mpi, ranks, command, directory=directory, pmio=pmio, timeout=300, logs=True)
    return time.monotonic() - started


def compare(plain, under):
    """({file: verdict}, whether all are the same)."""
    rows = []
    for name in FILES:
        exists = (plain / name).exists() and (under / name).exists()
        same = exists and filecmp.cmp(plain / name, under / name, shallow=False)
        size = (plain / name).stat().st_size if (plain / name).exists() else "missing"
        rows.append((name, size, "identical" if same else "DIFFERENT" if exists else "MISSING"))
    extra = {p.name for p in under.iterdir()} ^ {p.name for p in plain.iterdir()}
    rows += [(name, "", "only in one run") for name in sorted(extra)]
    tables.print_table(("file", "bytes", "plain and pmio"), rows)
    verdicts = {name: verdict for name, _, verdict in rows}
    return verdicts, set(verdicts.values()) == {"identical"}


def main():
    parser = command_line.parser(__doc__, mpi=False)
    command_line.add_ranks(parser)
    command_line.add_plain_only(parser)
    options = parser.parse_args()
    if not shutil.which("lmp") or not EXAMPLE.exists():
        checks.skip("LAMMPS and its examples are not installed")
    mpi = mpi_libraries.choose_of_distribution(options.build, "LAMMPS")
    pmio = None if options.plain_only else places.pmio(options.build)
    with places.temporary("lammps") as scratch:
        plain, under = scratch / "plain", scratch / "pmio"
        seconds = run_lammps(mpi, options.ranks, plain, None)
        seconds_under = run_lammps(mpi, options.ranks, under, pmio)
        verdicts, same = compare(plain, under)
    if pmio:
        client_records.write_client(options.build, "lammps", mpi, verdicts)
    print(f"LAMMPS melt, {options.ranks} ranks, {mpi.tag}: plain {seconds:.2f} s, pmio {seconds_under:.2f} s")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
