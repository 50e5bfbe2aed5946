"""Processes of a script: none of them outlives it, whatever a launcher does and however the script is ended.

Importing this module makes SIGTERM end the script by SystemExit, so that what it started is ended too.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

# What the MPI libraries share memory through. Open MPI names the semaphore of a shared file pointer by the last component of
# the file's name alone: a killed job leaves it locked, and it stops the next job.
SEGMENT_PREFIXES = ("mpich_sh", "sm_segment.", "vader_segment.", "sem.OMPIO_")
_running: dict[int, subprocess.Popen] = {}  # by process id; the script may end while they run


class Ended(NamedTuple):
    """How a process ended."""

    code: int | None  # None: it did not end in time, and was killed
    output: str

    @property
    def how(self) -> str:
        return "timed out" if self.code is None else f"exit {self.code}"


def _end_all(*_: object) -> None:
    for pid in list(_running):
        kill(reversed(descendants(pid)))


def _end_on_signal(number: int, _: object) -> None:
    raise SystemExit(128 + number)


atexit.register(_end_all)
signal.signal(signal.SIGTERM, _end_on_signal)


def descendants(root: int) -> list[int]:
    """The process `root` and all below it, the deepest last."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def kill(pids: Iterable[int]) -> None:
    """Sends SIGKILL; a process that has ended is no error."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def is_alive(pid: int) -> bool:
    """A zombie is alive as long as other threads of it are: until then it holds locks and mappings."""
    try:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            return True
        return len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except OSError:
        return False


def wait_gone(pids: Iterable[int], seconds: float = 20) -> list[int]:
    """The pids that are still alive after at most that many seconds."""
    pids, deadline = list(pids), time.monotonic() + seconds
    while (left := [pid for pid in pids if is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.005)
    return left


def stacks(pid: int) -> str:
    """Where its threads are: in the kernel and, if there is gdb and it can stop them, in their programs."""
    text = f"process {pid}\n"
    for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
        try:
            text += f"thread {task.name}, in the kernel:\n{(task / 'stack').read_text()}"
        except OSError:
            pass  # it has ended
    command = ["gdb", "--batch", "-p", str(pid), "-ex", "thread apply all backtrace"]
    try:
        return text + subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False).stdout
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        return text + f"{error}\n"


def start(
    command: Iterable[object],
    env: Mapping[str, str],
    output: int | IO[str] = subprocess.PIPE,
    directory: Path | str | None = None,
) -> subprocess.Popen:
    """Starts the command in a session of its own: a signal to the script does not reach it half-way. End it by finish()."""
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


def shared_segments(pids: Iterable[int]) -> set[Path]:
    """The MPI libraries' shared memory that these processes map; a killed job leaves it behind."""
    found: set[Path] = set()
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        except OSError:
            continue
        paths = {Path(line.split(maxsplit=5)[5]) for line in lines if "/dev/shm/" in line}
        found |= {path for path in paths if path.name.startswith(SEGMENT_PREFIXES)}
    return found


def with_environment(settings: Mapping[str, object], preload: Sequence[object]) -> list[str]:
    """The words that put an environment on what follows them: on the ranks only, not on the launcher."""
    words = ["env", *(f"{key}={value}" for key, value in settings.items())]
    return words + ["LD_PRELOAD=" + ":".join(map(str, preload))]
