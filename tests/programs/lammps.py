#!/usr/bin/env python3
"""LAMMPS writing its trajectories and restarts by MPI-IO: the files under pmio are those without it, byte for byte.

Runs the melt example of the Debian package (Open MPI) with the dump styles atom/mpiio, custom/mpiio and xyz/mpiio and
with restart ... mpiio, seven files in all.
"""

import argparse
import filecmp
import shutil
import tempfile
import time
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]
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
    directory.mkdir()
    write_input(directory)
    started = time.monotonic()
    run = harness.run(
        mpi, ranks, ["lmp", "-in", "in.melt", "-log", "log.melt"], directory=directory, pmio=pmio,
        timeout=300, statistics=True,
    )  # fmt: skip
    if run.verdict != "pass":
        print(run.output)
        raise SystemExit(f"LAMMPS {'under pmio' if pmio else 'plain'}: {run.verdict} {run.leftovers}")
    if pmio and not run.logged_bytes:
        raise SystemExit("LAMMPS under pmio: nothing went through the log")
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
    harness.print_table(("file", "bytes", "plain and pmio"), rows)
    verdicts = {name: verdict for name, _, verdict in rows}
    return verdicts, set(verdicts.values()) == {"identical"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--plain-only", action="store_true", help="compare two plain runs")
    options = parser.parse_args()
    if not shutil.which("lmp") or not EXAMPLE.exists():
        harness.skip("LAMMPS and its examples are not installed")
    # The package is built with the distribution's Open MPI.
    mpis = [m for m in harness.load_mpis(options.build) if m.tag.startswith("openmpi-4")]
    if not mpis:
        harness.skip("no runtime library for the Open MPI that LAMMPS is built with")
    pmio = None if options.plain_only else options.build.resolve() / "bin" / "pmio"
    with tempfile.TemporaryDirectory(prefix="pmio-lammps-") as scratch:
        plain, under = Path(scratch) / "plain", Path(scratch) / "pmio"
        seconds = run_lammps(mpis[0], options.ranks, plain, None)
        seconds_under = run_lammps(mpis[0], options.ranks, under, pmio)
        verdicts, same = compare(plain, under)
    if pmio:
        harness.record_client(options.build, "lammps", mpis[0], verdicts)
    print(f"LAMMPS melt, {options.ranks} ranks, {mpis[0].tag}: plain {seconds:.2f} s, pmio {seconds_under:.2f} s")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
