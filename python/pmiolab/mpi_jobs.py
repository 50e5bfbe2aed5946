"""MPI jobs on this machine: their command, their end, and the results that a program prints as JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from . import mpi_libraries, processes
from .mpi_libraries import Mpi
from .processes import Ended


def command(
    mpi: Mpi,
    ranks: int,
    program: Iterable[object],
    *,
    settings: Mapping[str, object] | None = None,
    preload: Sequence[object] = (),
    wrapper: Iterable[object] = (),
) -> list[str]:
    """The words that start a program on that many ranks.

    The ranks, and not the launcher, have the settings in their environment and these libraries preloaded, and
    no other ones. The wrapper stands before all that: it is no MPI program itself, strace for example.
    """
    words = [mpi.mpiexec, "-n", ranks, *wrapper, *processes.with_environment(settings or {}, preload), *program]
    return [str(word) for word in words]


def start(mpi: Mpi, words: Iterable[object], output: int | IO[str] = subprocess.PIPE) -> subprocess.Popen:
    """Starts a command in the environment that the MPI's launcher needs. End it by processes.finish()."""
    return processes.start(words, mpi_libraries.environment(mpi), output)


def run(mpi: Mpi, ranks: int, program: Iterable[object], *, timeout: float, **more: Any) -> Ended:
    """Runs a program for at most `timeout` seconds; further arguments are those of command()."""
    return processes.finish(start(mpi, command(mpi, ranks, program, **more)), timeout)


def json_objects(output: str) -> list[dict]:
    """The objects that ranks have printed, each within a line, perhaps among words of the launcher."""
    found, decoder = [], json.JSONDecoder()
    for line in output.splitlines():
        begin = line.find('{"')
        while begin >= 0:
            try:
                value, end = decoder.raw_decode(line, begin)
                found.append(value)
            except ValueError:
                end = begin + 1  # it is no object
            begin = line.find('{"', end)
    return found


def measure(mpi: Mpi, ranks: int, program: Iterable[object], *, name: str, objects: int = 1, **more: Any) -> list[dict]:
    """Runs a program that prints that many objects; further arguments are those of run(). Otherwise like results()."""
    return results(run(mpi, ranks, program, **more), name=name, objects=objects)


def results(ended: Ended, *, name: str, objects: int = 1) -> list[dict]:
    """The objects that a job has printed.

    Ends the script, with the name of the run, if it failed or their number is another.
    """
    found = json_objects(ended.output)
    if ended.code != 0:
        raise SystemExit(f"{name}: {ended.how}\n{ended.output}")
    if len(found) != objects:
        raise SystemExit(f"{name}: {len(found)} results instead of {objects}\n{ended.output}")
    return found
