"""Starting and ending MPI jobs for the tests: nothing is left running, whatever the launcher does."""

import atexit
import os
import signal
import subprocess
import time
from pathlib import Path

# What the MPI libraries share memory through. Open MPI names the semaphore of a shared file pointer by the file's last
# component alone: left locked by a killed job, it stops the next one.
SEGMENT_PREFIXES = ("mpich_sh", "sm_segment.", "vader_segment.", "sem.OMPIO_")
running = {}  # by pid, for the end of a test that is ended itself


def end_all(*_):
    for pid in list(running):
        kill(reversed(descendants(pid)))


def end_on_signal(number, _):
    raise SystemExit(128 + number)


atexit.register(end_all)
signal.signal(signal.SIGTERM, end_on_signal)


def descendants(root):
    """The process root and all below it, the deepest last."""
    children = {}
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


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def is_alive(pid):
    """False for a zombie too, once its other threads are gone: only then it holds nothing any more."""
    try:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            return True
        return len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except OSError:
        return False


def wait_gone(pids, seconds=20):
    """The pids that are still alive after at most that long."""
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.005)
    return left


def stacks(pid):
    """Where its threads are: in the kernel and, where there is gdb and they can be stopped, in their programs."""
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


def start(command, env, output=subprocess.PIPE):
    """In a session of its own, so that a signal to this one does not reach it half-way. End it by finish()."""
    process = subprocess.Popen(command, env=env, text=True, errors="replace", start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)  # fmt: skip
    running[process.pid] = process
    return process


def finish(process, timeout):
    """(exit code or None after the time-out, output). After a time-out it and all below it are killed."""
    try:
        output, _ = process.communicate(timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        kill(reversed(descendants(process.pid)))
        output, _ = process.communicate()
        code = None
    del running[process.pid]
    return code, output


def run(command, env, timeout):
    return finish(start(command, env), timeout)


def shared_segments(pids):
    """The MPI libraries' shared memory that these processes map; a killed job leaves it behind."""
    found = set()
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        except OSError:
            continue
        paths = {Path(line.split(maxsplit=5)[5]) for line in lines if "/dev/shm/" in line}
        found |= {path for path in paths if path.name.startswith(SEGMENT_PREFIXES)}
    return found


def with_environment(settings, preload):
    """The words that put an environment on the ranks only, not on the launcher."""
    words = ["env", *(f"{key}={value}" for key, value in settings.items())]
    return words + ["LD_PRELOAD=" + ":".join(map(str, preload))]
