"""Calls of every read and write in src/mpi/functions.py; each write is read back by the read of the same kind.

bindings/transfers.c and bindings/transfers.F90 of tests/programs include them."""

from __future__ import annotations

from typing import Any

from .mpi_functions import FUNCTIONS


class Fortran:
    """Statements in Fortran, in whichever binding."""

    barrier = "call MPI_Barrier(MPI_COMM_WORLD, ierror)"
    turns = "do turn = 0, ranks - 1\nif (turn == rank) then", f"end if\n{barrier}\nend do"
    forget = "values = -1"
    last = {"blocking": ", status", "nonblocking": ", request", "split_begin": ""}
    wait = "call MPI_Wait(request, status, ierror)"

    def seek(self, which: str, place: str) -> str:
        return f"call MPI_File_seek{which}(file, {place}, MPI_SEEK_SET, ierror)"

    def call(self, name: str, arguments: str, last: str) -> str:
        return f"call {name}(file{arguments}{last}, ierror)\ncall say_error('{name}', ierror)"

    def done(self, name: str) -> str:
        return f"call say_count('{name}', status)"

    def statement(self, name: str, *arguments: str) -> str:
        return f"call {name}({', '.join(arguments)})"

    def text(self, name: str) -> str:
        return f"'{name}'"

    def routine(self, name: str, body: list[str], local: bool) -> str:
        declared = (
            "  STATUS_OBJECT :: status\n  REQUEST_HANDLE :: request\n"
            "  integer, asynchronous :: values(n)\n"  # nonblocking calls change it: no register may hold it
            "  integer :: ierror, turn\n"
        )
        head = f"subroutine {name}(file)\n  FILE_HANDLE, intent(in) :: file\n{declared if local else ''}"
        return head + "\n".join(body) + "\nend subroutine\n"


class C:
    """The same statements in C."""

    barrier = "MPI_Barrier(MPI_COMM_WORLD);"
    turns = "for (int turn = 0; turn < ranks; ++turn) {\nif (turn == rank) {", f"}}\n{barrier}\n}}"
    forget = "memset(values, -1, sizeof values);"
    last = {"blocking": ", &status", "nonblocking": ", &request", "split_begin": ""}
    wait = "MPI_Wait(&request, &status);"

    def seek(self, which: str, place: str) -> str:
        return f"MPI_File_seek{which}(file, {place}, MPI_SEEK_SET);"

    def call(self, name: str, arguments: str, last: str) -> str:
        return f"code = {name}(file{arguments.replace('n, MPI_INTEGER', 'N, MPI_INT')}{last});"

    def done(self, name: str) -> str:
        return f'say_result("{name}", code, &status);'

    def statement(self, name: str, *arguments: str) -> str:
        return f"{name}({', '.join(arguments)});"

    def text(self, name: str) -> str:
        return f'"{name}"'

    def routine(self, name: str, body: list[str], local: bool) -> str:
        declared = "int values[N], code;\nMPI_Status status;\nMPI_Request request;\n(void)request;\n"
        return f"static void {name}(MPI_File file) {{\n{declared if local else ''}" + "\n".join(body) + "\n}\n"


Language = C | Fortran


def _call(language: Language, function: Any, step: int) -> list[str]:
    """One call by this rank at its place of the step, and what it gave."""
    t, name = function.traits, f"MPI_{function.name}"
    lines = []
    if t["pointer"] == "individual":
        lines.append(language.seek("", f"own_place({step})"))
    offset = f", own_place({step})" if t["pointer"] == "explicit_offset" else ""
    lines.append(language.call(name, f"{offset}, values, n, MPI_INTEGER", language.last[t["completion"]]))
    if t["completion"] == "nonblocking":
        lines.append(language.wait)
    if t["completion"] == "split_begin":
        name = name.removesuffix("_c").replace("_begin", "_end")
        lines.append(language.call(name, ", values", language.last["blocking"]))
    return [*lines, language.done(name)]


def _everywhere(language: Language, function: Any, step: int) -> list[str]:
    """A call by all ranks.

    If it uses the shared pointer and is not collective, the ranks take turns: each has its place.
    """
    t, lines = function.traits, _call(language, function, step)
    if t["pointer"] != "shared":
        return [language.barrier, *lines]
    if not t["collective"]:
        lines = [language.turns[0], *lines, language.turns[1]]
    return [language.barrier, language.seek("_shared", f"shared_place({step})"), language.barrier, *lines]


def _routines(language: Language, large_count: bool, first: int) -> tuple[list[str], str]:
    """(names, text) of one routine per write, its steps numbered from first."""
    by_name, names, text = {f.name: f for f in FUNCTIONS}, [], ""
    transfers = [f for f in FUNCTIONS if f.kind == "transfer" and f.large_count == large_count]
    for step, write in enumerate((f for f in transfers if f.traits["direction"] == "write"), first):
        read = by_name[write.name.replace("write", "read")]
        body = [language.statement("fill", "values", str(step)), *_everywhere(language, write, step), language.forget]
        body += _everywhere(language, read, step)
        body.append(language.statement("compare", "values", str(step), language.text(f"MPI_{read.name}")))
        names.append(f"run_{step}")
        text += language.routine(names[-1], body, True)
    return names, text


def _calls(language: Language, names: list[str]) -> list[str]:
    return [language.statement(name, "file") for name in names]


def fortran() -> str:
    """The text of transfer_calls.inc."""
    names, text = _routines(Fortran(), False, 0)
    return text + Fortran().routine("run_all", _calls(Fortran(), names), False)


def c() -> str:
    """The text of transfer_calls.h."""
    names, text = _routines(C(), False, 0)
    large_names, large_text = _routines(C(), True, len(names))
    text += f"#if MPI_VERSION >= 4\n{large_text}#endif\n"
    calls = [*_calls(C(), names), "#if MPI_VERSION >= 4", *_calls(C(), large_names), "#endif"]
    return text + C().routine("run_all", calls, False)
