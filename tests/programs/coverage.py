#!/usr/bin/env python3
"""docs/coverage.md: which MPI functions reach pmio in which MPI and binding, and what becomes of them.

From src/mpi/functions.py and from what bindings.py counted in a build directory, with every MPI that the page is about:

  coverage.py write [--build DIRECTORY]     writes the page
  coverage.py check [--build DIRECTORY]     fails where the page says something else than the records that are there
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import call_counter
import harness

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "coverage.md"
LETTERS = {"C": "C", "mpif.h": "f", "use mpi": "u", "mpi_f08": "8"}
NAMES = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI", "abi": "MPI ABI"}
FIRST_COLUMNS = ["function", "under pmio", "called by"]
OUTCOMES = {
    "transfer": "logged",
    "split_end": "logged",
    "native": "served",
    "whole": "served, and handed on",
    "hand_on": "handed on",
}
HEAD = """\
# Which functions pmio takes over

Written by `tests/programs/coverage.py write`; CTest's `programs.coverage` fails when it is out of date.

What happens to a call on a file that is logged:

- *logged*: the data goes through the log;
- *served*: pmio gives the answer, or drains first and lets the MPI library do it;
- *served, and handed on*: pmio does its part, and the library its own;
- *handed on*: the library's.

On a file that is not logged ([semantics.md](semantics.md)) everything is handed on, after draining what it must see. Conversions
of handles (`MPI_File_c2f`, `MPI_File_f2c`) and the functions for error handlers are not here: pmio's files and requests are the
library's own, and its functions do what is wanted.

A column is an MPI. `C`, `f` (`mpif.h`), `u` (`use mpi`), `8` (`mpi_f08`): a test program called the function in that binding,
under pmio, and it arrived. `-`: this MPI has no such function. The wheels of MPICH 5.0 and Open MPI 5.0 have no Fortran, Intel's
no `mpi_f08` for gfortran, and the MPI ABI none at all; other builds of these have it. *called by*: the programs of
`programs.bindings`, `smoke` and `handles`; the random programs of `differential` and those of `programs.mpich_io` and
`programs.mpi4py_io` call most of them too.

"""


def label(tag):
    """MPICH 4.0 for mpich-4.0.2: what a patch release does not change."""
    name, _, version = tag.partition("-")
    parts = version.split(".")
    return f"{NAMES[name]} {'.'.join(parts[:2] if name in ('mpich', 'openmpi') else parts[:1])}"


def in_order(mpis):
    return sorted(mpis, key=lambda mpi: (list(NAMES).index(mpi.tag.partition("-")[0]), mpi.tag))


def exported(runtime):
    lines = subprocess.run(["nm", "-D", "--defined-only", runtime], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" (?:T|W) MPI_(\w+)$", lines, re.MULTILINE))


def columns(build):
    """{label: {function: cell}} and {function: the programs that call it}, of the records that are there."""
    cells, callers = {}, {f.name: set() for f in call_counter.FUNCTIONS}
    for mpi in in_order(harness.load_mpis(build)):
        record = build / "tests" / "coverage" / f"{mpi.tag}.json"
        if not record.exists():
            continue
        called, present = json.loads(record.read_text()), exported(mpi.runtime)
        column = cells.setdefault(label(mpi.tag), {})
        for f in call_counter.FUNCTIONS:
            by_binding = {b: [p for p, names in programs.items() if f.name in names] for b, programs in called.items()}
            callers[f.name].update(program for programs in by_binding.values() for program in programs)
            letters = " ".join(letter for binding, letter in LETTERS.items() if by_binding.get(binding))
            column[f.name] = letters if f.name in present else "-"
    return cells, callers


def row(words):
    return "| " + " | ".join(words) + " |\n"


def page(build):
    cells, callers = columns(build)
    text = HEAD + row([*FIRST_COLUMNS, *cells]) + row(["---"] * (len(FIRST_COLUMNS) + len(cells)))
    for f in call_counter.FUNCTIONS:
        first = [f"`MPI_{f.name}`", OUTCOMES[f.kind], ", ".join(sorted(callers[f.name]))]
        text += row([*first, *(column[f.name] for column in cells.values())])
    return text


def table_of(text):
    """{function: {column: cell}}"""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    return {cells[0]: dict(zip(lines[0], cells)) for cells in lines[2:]} if lines else {}


def complaints(build):
    """Where the page on file differs from one made now; columns without a record here are not judged."""
    now = table_of(page(build))
    filed = table_of(PAGE.read_text()) if PAGE.exists() else {}
    if list(now) != list(filed):
        yield "the functions of the page are not those of src/mpi/functions.py"
        return
    for function, cells in now.items():
        for column, cell in cells.items():
            known = filed[function].get(column)
            if column == "called by" and known is not None and set(cell.split(", ")) <= set(known.split(", ")):
                continue
            if cell != known:
                yield f"{function}, {column}: the page has {known}, the records {cell}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("write", "check"))
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    options = parser.parse_args()
    if not columns(options.build)[0]:
        harness.skip("bindings.py has left no records in the build directory")
    if options.action == "write":
        PAGE.write_text(page(options.build))
        return 0
    found = list(complaints(options.build))
    for complaint in found:
        print(complaint)
    if found:
        print("write it again: tests/programs/coverage.py write", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
