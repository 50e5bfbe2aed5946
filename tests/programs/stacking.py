#!/usr/bin/env python3
"""Profilers beside pmio: what two kinds of them count of a program, preloaded before and after pmio.

Before pmio (nearer to the program) a tool must count what it counts without pmio. After it (nearer to the library) it counts
what pmio hands on: all of opening and closing, nothing that was logged; with PMIO_MODE=off everything. What pmio writes
to the file, a tool that looks at pwrite sees in both places.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import call_counter
import harness

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import mpi_processes

ROOT = Path(__file__).resolve().parents[2]
# Each call of the program is one of the library's.
ALWAYS_HANDED_ON = ("Init", "Finalize", "File_open", "File_close", "File_delete")
LOGGED = ("File_write_all", "File_read_at_all", "File_iwrite_at", "File_iread_at", "File_write_ordered", "File_set_view")


def count(mpi, options, tool, preload, directory, settings=None):
    """What the tool counted of the smoke test with these libraries preloaded."""
    counts = directory / "counts"
    counts.mkdir(parents=True)
    program = options.build / "tests" / "mpi" / f"smoke-{mpi.tag}"
    settings = {"CALL_COUNTS": counts, "PMIO_DIR": directory / "log", **(settings or {})}
    command = [mpi.mpiexec, "-n", "2", *mpi_processes.with_environment(settings, preload), program, directory / "data"]
    code, output = mpi_processes.run([str(word) for word in command], harness.environment(mpi), 100)
    if code != 0:
        raise SystemExit(f"{mpi.tag}, {tool}, {directory.name}: exit {code}\n{output}")
    return call_counter.read(counts, tool)


def without_pwrite(counts):
    return {name: number for name, number in counts.items() if name != "pwrite"}


def complaints_of(tool, alone, before, after, off):
    if without_pwrite(before) != without_pwrite(alone):
        yield f"{tool} before pmio counts {before}, without pmio {alone}"
    if without_pwrite(off) != without_pwrite(alone):
        yield f"{tool} after pmio that is off counts {off}, without pmio {alone}"
    for name in ALWAYS_HANDED_ON:
        if after[name] != alone[name]:
            yield f"{tool} after pmio counts {after[name]} {name}, without pmio {alone[name]}"
    for name in LOGGED:
        if alone[name] == 0 or after[name] != 0:
            yield f"{tool} after pmio counts {after[name]} {name}, which was logged; without pmio {alone[name]}"
    if tool == "wrapper" and min(before["pwrite"], after["pwrite"]) < 2 * 100 * 50 * 4:
        yield f"{tool} sees too little written to the file: {before['pwrite']} and {after['pwrite']} bytes"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    parser.add_argument("--mpi", required=True, help="tag of an MPI")
    options = parser.parse_args()
    found = [mpi for mpi in harness.load_mpis(options.build) if mpi.tag == options.mpi]
    if not found:
        harness.skip(f"no runtime library for {options.mpi}")
    mpi, complaints = found[0], []
    with tempfile.TemporaryDirectory(prefix="pmio-stacking-", dir=harness.memory()) as scratch:
        for tool in ("pmpi", "wrapper"):
            work = Path(scratch) / tool
            work.mkdir()
            library = call_counter.build(mpi, tool, work)
            alone = count(mpi, options, tool, [library], work / "alone")
            before = count(mpi, options, tool, [library, mpi.runtime], work / "before")
            after = count(mpi, options, tool, [mpi.runtime, library], work / "after")
            off = count(mpi, options, tool, [mpi.runtime, library], work / "off", {"PMIO_MODE": "off"})
            complaints += complaints_of(tool, alone, before, after, off)
            print(f"{mpi.tag}, {tool}: {sum(alone.values())} alone, {sum(before.values())} before, {sum(after.values())} after")
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    raise SystemExit(main())
