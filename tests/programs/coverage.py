#!/usr/bin/env python3
"""docs/coverage.md: which MPI functions reach pmio in which MPI and binding, and what becomes of them.

From src/mpi/functions.py and from what bindings.py counted in a build directory, with every MPI that the page is about:

  coverage.py write [--build DIRECTORY]     writes the page
  coverage.py check [--build DIRECTORY]     fails if the page says something else than the records that are there
"""

import re
import subprocess

from pmiolab import client_records, mpi_libraries, pages, places
from pmiolab.mpi_functions import FUNCTIONS

PAGE = places.ROOT / "docs" / "coverage.md"
LETTERS = {"C": "C", "mpif.h": "f", "use mpi": "u", "mpi_f08": "8"}
FIRST_COLUMNS = ["function", "under pmio", "called by"]
OUTCOMES = {
    "transfer": "logged",
    "split_end": "logged",
    "native": "served",
    "own": "served",
    "engine": "served",
    "whole": "served, and handed on",
    "hand_on": "handed on",
}
HEAD = """\
# Which functions pmio takes over

Which functions of MPI-IO reach pmio, in which MPI and language binding, and what becomes of a
call.

`tests/programs/coverage.py write` writes this page; CTest's `programs.coverage` fails when it is
out of date.

What happens to a call on a file that is logged:

- *logged*: the data goes through the log;
- *served*: pmio gives the answer, or drains first and lets the MPI library do it;
- *served, and handed on*: pmio does its part, and the library its own;
- *handed on*: the library's.

On a file that is not logged ([semantics.md](semantics.md)) everything is handed on, after draining
what it must see.

Conversions of handles (`MPI_File_c2f`, `MPI_File_f2c`) and the functions for error handlers are not
here. pmio's files and requests are the library's own, and the library's functions do what is
wanted. pmio stands before `MPI_File_create_errhandler` alone, so that what a handler calls counts
as the program's. That holds for the first 64 handler functions of a process.

A column is an MPI. `C`, `f` (`mpif.h`), `u` (`use mpi`), `8` (`mpi_f08`): a test program called the
function in that binding, under pmio, and it arrived. `-`: this MPI has no such function. The wheels
of MPICH 5.0 and Open MPI 5.0 have no Fortran, Intel's no `mpi_f08` for gfortran, and the MPI ABI
none at all. Other builds of these have it.

*called by*: the programs of `programs.bindings`, `smoke` and `handles`. The random programs of
`differential` and those of `programs.mpich_io` and `programs.mpi4py_io` call most functions too.

"""


def exported(runtime):
    lines = subprocess.run(["nm", "-D", "--defined-only", runtime], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" (?:T|W) MPI_(\w+)$", lines, re.MULTILINE))


def columns(build):
    """{label: {function: cell}} and {function: the programs that call it}, of the records that are there."""
    cells, callers = {}, {f.name: set() for f in FUNCTIONS}
    for mpi in pages.in_order(mpi_libraries.load(build)):
        called = client_records.read_bindings(build, mpi)
        if not called:
            continue
        present = exported(mpi.runtime)
        column = cells.setdefault(pages.label(mpi.tag), {})
        for f in FUNCTIONS:
            by_binding = {b: [p for p, names in programs.items() if f.name in names] for b, programs in called.items()}
            callers[f.name].update(program for programs in by_binding.values() for program in programs)
            letters = " ".join(letter for binding, letter in LETTERS.items() if by_binding.get(binding))
            column[f.name] = letters if f.name in present else "-"
    return cells, callers


def page(build):
    cells, callers = columns(build)
    if not cells:
        return None
    rows = []
    for f in FUNCTIONS:
        first = [f"`MPI_{f.name}`", OUTCOMES[f.kind], ", ".join(sorted(callers[f.name]))]
        rows.append([*first, *(column[f.name] for column in cells.values())])
    return HEAD + pages.table([*FIRST_COLUMNS, *cells], rows)


def complaints(now, filed):
    """Where the page on file differs from one made now; columns without a record here are not judged."""
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


if __name__ == "__main__":
    raise SystemExit(pages.main(__doc__, PAGE, page, complaints))
