"""Fortran calls of every read and write in src/mpi/functions.py: what fortran/transfers.F90 includes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "mpi"))
from functions import FUNCTIONS


def call(function, step):
    """One call by this rank at its place of the step, and what it gave."""
    t, name = function.traits, f"MPI_{function.name}"
    lines = []
    if t["pointer"] == "individual":
        lines.append(f"call MPI_File_seek(file, own_place({step}), MPI_SEEK_SET, ierror)")
    offset = f"own_place({step}), " if t["pointer"] == "explicit_offset" else ""
    last = {"blocking": "status, ", "nonblocking": "request, ", "split_begin": ""}[t["completion"]]
    lines += [f"call {name}(file, {offset}values, n, MPI_INTEGER, {last}ierror)", f"call say_error('{name}', ierror)"]
    if t["completion"] == "nonblocking":
        lines.append("call MPI_Wait(request, status, ierror)")
    if t["completion"] == "split_begin":
        name = name.replace("_begin", "_end")
        lines += [f"call {name}(file, values, status, ierror)", f"call say_error('{name}', ierror)"]
    return [*lines, f"call say_count('{name}', status)"]


def in_turn(function, lines):
    """Calls with the shared pointer that are not collective: rank after rank, so that each has its place."""
    if function.traits["pointer"] != "shared" or function.traits["collective"]:
        return lines
    turns = ["do turn = 0, ranks - 1", "  if (turn == rank) then", *(f"    {line}" for line in lines), "  end if"]
    return [*turns, "  call MPI_Barrier(MPI_COMM_WORLD, ierror)", "end do"]


def everywhere(function, step):
    lines = ["call MPI_Barrier(MPI_COMM_WORLD, ierror)"]
    if function.traits["pointer"] == "shared":
        lines.append(f"call MPI_File_seek_shared(file, shared_place({step}), MPI_SEEK_SET, ierror)")
    return lines + in_turn(function, call(function, step))


def transfer_calls():
    """The text of transfer_calls.inc."""
    by_name = {f.name: f for f in FUNCTIONS}
    writes = [f for f in FUNCTIONS if f.traits.get("direction") == "write" and f.kind == "transfer" and not f.large_count]
    text = []
    for step, write in enumerate(writes):
        read = by_name[write.name.replace("write", "read")]
        body = [f"call fill(values, {step})", *everywhere(write, step), "values = -1", *everywhere(read, step)]
        body.append(f"call compare(values, {step}, 'MPI_{read.name}')")
        text += [f"subroutine run_{step}(file)", "  FILE_HANDLE, intent(in) :: file"]
        text += ["  STATUS_OBJECT :: status", "  REQUEST_HANDLE :: request"]
        # What nonblocking and split calls use must not be kept in registers.
        text += ["  integer, asynchronous :: values(n)", "  integer :: ierror, turn"]
        text += [*(f"  {line}" for line in body), "end subroutine", ""]
    text += ["subroutine run_all(file)", "  FILE_HANDLE, intent(in) :: file"]
    text += [*(f"  call run_{step}(file)" for step in range(len(writes))), "end subroutine"]
    return "".join(f"  {line}".rstrip() + "\n" for line in text)
