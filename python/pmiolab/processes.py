"""Processes of a script: none of them outlives it, whatever a launcher does and however the script is ended.

Importing this module makes SIGTERM end the script by SystemExit, so that what it started is ended too.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from .process_table import descendants, kill

_running: dict[int, subprocess.Popen] = {}  # by process id; the script may end while they run


class Ended(NamedTuple):
    """How a process ended."""

    code: int | None  # None: it did not end in time, and was killed
    output: str

    @property
    def how(self) -> str:
        """As a complaint says it."""
        return "timed out" if self.code is None else f"exit {self.code}"


def _end_all(*_: object) -> None:
    for pid in list(_running):
        kill(reversed(descendants(pid)))


def _end_on_signal(number: int, _: object) -> None:
    raise SystemExit(128 + number)


atexit.register(_end_all)
signal.signal(signal.SIGTERM, _end_on_signal)


def start(
    command: Iterable[object],
    env: Mapping[str, str],
    output: int | IO[str] = subprocess.PIPE,
    directory: Path | str | None = None,
) -> subprocess.Popen:
    """Starts the command in a session of its own: a signal to the script does not reach it half-way. End
    it by finish().
    """
    words = [str(word) for word in command]
    process = subprocess.Popen(words, cwd=directory, env=env, text=True, errors="replace", start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)  # fmt: skip
    _running[process.pid] = process
    return process


def finish(process: subprocess.Popen, timeout: float | None, gentle_seconds: float = 0) -> Ended:
    """Waits for the end. After `timeout` seconds the process and all below it are killed.

    With gentle_seconds a launcher first gets SIGTERM and that long to end its ranks itself.
    """
    try:
        output, _ = process.communicate(timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        output, code = _end(process, gentle_seconds), None
    del _running[process.pid]
    return Ended(code, output)


def _end(process: subprocess.Popen, gentle_seconds: float) -> str:
    """What it has printed by its end."""
    if gentle_seconds > 0:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            return process.communicate(timeout=gentle_seconds)[0]
        except subprocess.TimeoutExpired:
            pass
    kill(reversed(descendants(process.pid)))
    with contextlib.suppress(ProcessLookupError):  # of a launcher that has ended, its session may be left
        os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[0]


def run(command: Iterable[object], env: Mapping[str, str], timeout: float | None) -> Ended:
    """Runs a command, for at most `timeout` seconds."""
    return finish(start(command, env), timeout)


def with_environment(settings: Mapping[str, object], preload: Sequence[object]) -> list[str]:
    """The words that put an environment on what follows them: on the ranks only, not on the launcher."""
    words = ["env", *(f"{key}={value}" for key, value in settings.items())]
    return words + ["LD_PRELOAD=" + ":".join(map(str, preload))]
