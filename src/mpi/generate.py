"""Writes the entry points (MPI_X and PMPI_X) and the table of the functions behind them, from functions.py.

Usage: generate.py DIRECTORY   writes DIRECTORY/mpi/next_functions.h, DIRECTORY/mpi/entry_points.cpp
                               and DIRECTORY/preload/functions.h
"""

import pathlib
import sys

from functions import BY_HAND, FUNCTIONS

NOTICE = "// Written by src/mpi/generate.py from src/mpi/functions.py.\n"


def guarded(function, text):
    return f"#if MPI_VERSION >= 4\n{text}#endif\n" if function.large_count else text


def next_functions():
    lines = [NOTICE, "#pragma once\n\n", '#include "mpi/next.h"\n\n', "namespace pmio {\n\n", "struct NextFunctions {\n"]
    for f in FUNCTIONS:
        lines.append(guarded(f, f'  Next<decltype(MPI_{f.name})> {f.name}{{"PMPI_{f.name}"}};\n'))
    lines += ["};\n", "extern NextFunctions next_functions;\n\n", "}  // namespace pmio\n"]
    return "".join(lines)


def native_name(function):
    return function.name.lower()


def body(function):
    """What a call from the program does; inside the guard."""
    f = function
    onward = f"  return next_functions.{f.name}.next()({f.arguments()});\n"
    if f.kind == "whole":
        return f"  return {native_name(f)}({f.arguments()});\n"
    if f.kind == "hand_on":
        return onward
    others = "".join(f", {p.name}" for p in f.parameters[1:])
    if f.kind in ("native", "own"):
        outcome = f"{native_name(f)}(*handle{others})"
    elif f.kind == "engine":
        outcome = f"handle->engine().{native_name(f).removeprefix('file_')}(*handle{others})"
    elif f.kind == "transfer":
        t = f.traits
        offset = "offset" if t["pointer"] == "explicit_offset" else "0"
        collective = "true" if t["collective"] else "false"
        last = {"blocking": ", status", "nonblocking": ", request", "split_begin": ""}[t["completion"]]
        buffer = "const_cast<void*>(buf)" if t["direction"] == "write" else "buf"
        described = (
            f"Transfer{{Direction::{t['direction']}, Pointer::{t['pointer']}, {collective}, {offset}, "
            f"{buffer}, count, datatype}}"
        )
        outcome = f"{t['completion']}(*handle, {described}{last})"
    elif f.kind == "split_end":
        outcome = "split_end(*handle, status)"
    else:
        raise ValueError(f"unknown class {f.kind} of {f.name}")
    condition = "if (!handle->in_library()) " if f.kind == "own" else ""
    # A request or a begun transfer is under way: its call says nothing but what the library says.
    carries = f.kind != "transfer" or f.traits["completion"] == "blocking"
    told = f"    return after_library_call(*handle, next_functions.{f.name}.next()({f.arguments()}));\n" if carries else ""
    if carries and f.kind == "transfer":
        told = f"    const LibraryTime timed(*handle, Direction::{t['direction']}, {collective});\n{told}"
    return (
        "  if (Handle* handle = find_handle(fh)) {\n"
        f"    {condition}if (const Outcome outcome = {outcome}) return *outcome;\n{told}"
        "  }\n" + onward
    )


def entry_points():
    lines = [
        NOTICE,
        "// Inside the MPI library (depth > 0) a call goes straight on; from the program, to pmio.\n\n",
        '#include "mpi/calls.h"\n',
        '#include "mpi/file_notes.h"\n',
        '#include "mpi/handle.h"\n',
        '#include "mpi/next_functions.h"\n\n',
        "namespace pmio {\n\n",
        "constinit NextFunctions next_functions;\n\n",
        "namespace {\n\n",
    ]
    for f in FUNCTIONS:
        lines.append(guarded(f, f"int enter_{f.name}({f.signature()}) {{\n  const Inside inside;\n{body(f)}}}\n") + "\n")
    lines += ["}  // namespace\n", "}  // namespace pmio\n\n", 'extern "C" {\n']
    for f in FUNCTIONS:
        text = ""
        for prefix, onward in (("MPI_", "next"), ("PMPI_", "profiled")):
            text += (
                f"PMIO_EXPORT int {prefix}{f.name}({f.signature()}) {{\n"
                f"  if (pmio::Inside::depth > 0) return pmio::next_functions.{f.name}.{onward}()({f.arguments()});\n"
                f"  return pmio::enter_{f.name}({f.arguments()});\n"
                "}\n"
            )
        lines.append(guarded(f, text))
    lines.append('}  // extern "C"\n')
    return "".join(lines)


def preloaded_functions():
    """Those that libpmio.so exports: of every MPI, whatever it lacks, and what is written by hand too."""
    lines = [f"PMIO_FORWARD_MPI({name})\n" for name in (*(f.name for f in FUNCTIONS if not f.large_count), *BY_HAND)]
    for f in (f for f in FUNCTIONS if f.large_count):
        register = next(("abcdef"[i] for i, p in enumerate(f.parameters) if p.name == "count"), "0")
        lines.append(f"PMIO_FORWARD_MPI_LARGE({f.name.removesuffix('_c')}, {register})\n")
    return NOTICE + "".join(lines)


def main():
    directory = pathlib.Path(sys.argv[1])
    for name, text in (
        ("mpi/next_functions.h", next_functions()),
        ("mpi/entry_points.cpp", entry_points()),
        ("preload/functions.h", preloaded_functions()),
    ):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


if __name__ == "__main__":
    main()
