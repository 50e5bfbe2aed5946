"""What the kernel tells of processes, by their ids: who is below whom, alive, or waiting for what; and how
they are killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

# What the MPI libraries share memory through. Open MPI names the semaphore of a shared file pointer by the
# last component of the file's name alone: a killed job leaves it locked, and it stops the next job.
SEGMENT_PREFIXES = ("mpich_sh", "sm_segment.", "vader_segment.", "sem.OMPIO_")


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
        return (
            text
            + subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False).stdout
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        return text + f"{error}\n"


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
