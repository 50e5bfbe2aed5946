"""Runs MPI programs plain and under `pmio run`, for the MPIs that a build directory serves.

A program passes when it exits with 0 in time and leaves no log: each run has a log directory of its own, in
which no job may be left. Plain means that nothing of pmio is preloaded.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import mpi_libraries, places, processes
from .mpi_libraries import Mpi

GENTLE_SECONDS = 5  # that a launcher has for ending its ranks after a time-out


@dataclass
class Run:
    """What became of one run."""

    code: int | None  # None after a time-out
    output: str  # standard output and error of all ranks
    leftovers: list[str]  # names of the jobs that are left in the log directory
    written_bytes: int  # by pmio, through the log or straight to files; 0 unless statistics were asked for

    @property
    def passed(self) -> bool:
        return self.code == 0

    @property
    def verdict(self) -> str:
        """pass, or what is wrong."""
        if self.code is None:
            return "timeout"
        if self.code != 0:
            return f"exit {self.code}"
        return "leftovers" if self.leftovers else "pass"


def run(
    mpi: Mpi,
    ranks: int,
    program: Sequence[object],
    *,
    directory: Path | str,
    pmio: Path | None = None,
    timeout: float = 120,
    statistics: bool = False,
    preload: Iterable[object] = (),
    wrapper: Sequence[object] = (),
    chosen: Mpi | None = None,
    settings: Mapping[str, str] | None = None,
) -> Run:
    """Runs the words of a program on that many ranks in a directory, for at most `timeout` seconds.

    pmio: the command; None for a plain run. preload: libraries that the ranks have beside pmio's. wrapper: words before
    `pmio run`. chosen: what --mpi names. settings: the environment of the launcher, and so of all, which then also has
    PMIO_DIR and PMIO_STATS as the options of `pmio run` would set them.
    """
    libraries = ":".join(map(str, preload))
    # A rank that outlives a time-out may still write there while the directory is removed.
    with tempfile.TemporaryDirectory(
        prefix="pmio-programs-", dir=places.memory(), ignore_cleanup_errors=True
    ) as directory_of_logs:
        logs = Path(directory_of_logs)
        command = [mpi.mpiexec, "-n", ranks, *(["env", f"LD_PRELOAD={libraries}"] if libraries else []), *wrapper]
        if pmio:
            command += [pmio, "run", "--dir", logs, *(["--stats"] if statistics else [])]
            command += [*(["--mpi", chosen.tag] if chosen else []), "--"]
        env = mpi_libraries.environment(mpi)
        if settings is not None:
            env.update(settings, PMIO_DIR=str(logs), PMIO_STATS="1" if statistics else "0")
        process = processes.start([*command, *program], env, directory=directory)
        ended = processes.finish(process, timeout, GENTLE_SECONDS)
        leftovers = sorted(path.name for path in logs.glob("job-*"))
        return Run(ended.code, ended.output, leftovers, _written_bytes(logs))


def run_or_end(
    name: str, mpi: Mpi, ranks: int, program: Sequence[object], *, pmio: Path | None, logs: bool = False, **more: Any
) -> Run:
    """A run with statistics; ends the script, with the name of the program, if it does not pass.

    logs: under pmio something must go through the log. Further arguments are those of run().
    """
    done = run(mpi, ranks, program, pmio=pmio, statistics=True, **more)
    if done.verdict != "pass":
        print(done.output)
        raise SystemExit(f"{name} {'under pmio' if pmio else 'plain'}: {done.verdict} {done.leftovers}")
    if logs and pmio and not done.written_bytes:
        raise SystemExit(f"{name} under pmio: pmio has written nothing")
    return done


def _written_bytes(logs: Path) -> int:
    counters = [json.loads(path.read_text())["counters"] for path in logs.glob("stats-*/rank-*.json")]
    return sum(of["append_bytes"] + of["direct_bytes"] for of in counters)
