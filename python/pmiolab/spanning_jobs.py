"""A job of crash_writer on several hosts of a testbed, its end, and the recovery of what it left."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from . import places, process_table, processes
from .crash_writer import Progress
from .hosts import Bed
from .mpi_libraries import Mpi
from .processes import Ended

HOSTS = ("c1", "c2")
RANKS = 2 * len(HOSTS)
SECONDS = 300  # that a job or a recovery may take
NOT_ALL_NODES = 3  # exit code of a recovery that has brought in all that there is on its node


def launch(build: Path, mpi: Mpi, ranks: int = RANKS, hosts: Sequence[str] = HOSTS) -> list[object]:
    """The words of testbed/testbed that start a job, the ranks evenly on the first hosts."""
    return ["mpiexec", "--build", build, "--mpi", mpi.tag, "-n", ranks, "--ppn", ranks // len(hosts)]


def under_pmio(build: Path, **settings: object) -> list[object]:
    """The words before a program that put it under pmio across nodes, with these settings."""
    words = [f"{key}={value}" for key, value in {"PMIO_ACROSS_NODES": "on", "PMIO_LOG_SIZE": "8M", **settings}.items()]
    return ["env", *words, places.pmio(build), "run", "--"]


def leftovers(bed: Bed, hosts: Sequence[str] = HOSTS) -> list[str]:
    """Names of logs and journals that are still there."""
    found = [bed.must("on", host, "find", "/dev/shm", "/mnt/local", "-name", "job-*").split() for host in hosts]
    return [*sum(found, []), *bed.must("on", hosts[0], "find", "/mnt/pfs", "-name", ".pmio-*").split()]


class Job:
    """Writes a path of the parallel file system. Call end() whatever happens."""

    def __init__(self, bed: Bed, build: Path, mpi: Mpi, scratch: Path, path: str, seed: int) -> None:
        """scratch: a directory for this job alone."""
        self.bed, self.build, self.mpi, self.path, self.seed = bed, build, mpi, path, seed
        self.progress_file, self.output_file = scratch / "progress", scratch / "output"
        self.progress = Progress(self.progress_file, RANKS)
        self.program = places.test_program(build, "crash_writer", mpi)
        self.launcher: subprocess.Popen | None = None
        self.seen: set[int] = set()  # process ids of ranks

    def start(self, calls: int, **settings: object) -> None:
        """Starts it, with that many calls for each rank to make."""
        words = [*launch(self.build, self.mpi), *under_pmio(self.build, **settings)]
        words += [self.program, "write", self.progress_file, self.path, self.seed, calls]
        self.output = self.output_file.open("w")
        self.launcher = self.bed.start(*words, output=self.output)

    def ranks(self) -> list[int]:
        """Its processes, on whatever host, but for those that launch them."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if b"crash_writer" in words[0] and str(self.progress_file).encode() in words:
                    found.append(int(process.name))
        self.seen.update(found)
        return found

    def running(self) -> bool:
        """It was started and not ended."""
        return self.launcher is not None

    def by_rank(self) -> dict[int, int]:
        """The process ids, as this machine numbers them, of the ranks that have not ended."""
        found = {}
        for process in self.ranks():
            with contextlib.suppress(OSError):
                settings = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
                words = [word.split(b"=")[1] for word in settings if word.startswith((b"PMI_RANK=", b"PMIX_RANK="))]
                found.update({int(word): process for word in words})
        return found

    def wait_until(self, reached: Callable[[], bool], seconds: float = SECONDS) -> bool:
        """Whether it was reached before the job ended, and within that many seconds."""
        assert self.launcher is not None
        deadline = time.monotonic() + seconds
        while not reached() and time.monotonic() < deadline:
            if self.launcher.poll() is not None:
                return False
            time.sleep(0.002)
        return reached()

    def wait_gone(self, seconds: float) -> list[int]:
        """The ranks that are still there after at most that long; a rank is there as long as one of its threads is."""
        self.ranks()
        return process_table.wait_gone(self.seen, seconds)

    def end(self, seconds: float = 0) -> int | None:
        """The launcher's exit code if it ends in that time; otherwise None, and it is killed. The ranks are killed."""
        assert self.launcher is not None
        code, _ = processes.finish(self.launcher, seconds)
        self.launcher = None
        process_table.kill(self.ranks())
        self.output.close()
        return code

    def said(self) -> str:
        """What launcher and ranks have printed."""
        return self.output_file.read_text()

    def check(self, host: str, lost: Sequence[int] = ()) -> str:
        """'' if the file, read on that host, holds what was acknowledged; lost: the ranks whose log is lost."""
        words = [self.program, "check", self.progress_file, self.path, self.seed, RANKS]
        words += [lost[0], lost[-1]] if lost else []
        code, output = self.bed.run("on", host, *words)
        return "" if code == 0 else output


def recovery(build: Path, *words: object) -> list[object]:
    """The words of `pmio recover`."""
    return [places.pmio(build), "recover", *words]


class Recoveries:
    """A command on several hosts at once. Call end()."""

    def __init__(self, bed: Bed, command: Iterable[object], where: Iterable[str] = HOSTS) -> None:
        words = list(command)
        self.running = {host: bed.start("on", host, *words) for host in where}

    def end(self, seconds: float = SECONDS) -> dict[str, Ended]:
        """How each ended, by host; after that many seconds it is killed."""
        return {host: processes.finish(process, seconds) for host, process in self.running.items()}


def recover(bed: Bed, build: Path, order: tuple[str, ...] | set[str], *words: object) -> str:
    """What went wrong, or ''. order: hosts, one after the other or, as a set, at once. The last one has everything."""
    command = recovery(build, *words)
    if isinstance(order, tuple):
        results = {host: bed.run("on", host, *command, timeout=SECONDS) for host in order}
        complete = results[order[-1]][0] == 0
    else:
        results = Recoveries(bed, command, order).end()
        complete = any(code == 0 for code, _ in results.values())
    if complete and all(code in (0, NOT_ALL_NODES) for code, _ in results.values()):
        return ""
    return describe(results)


def describe(results: dict[str, Ended]) -> str:
    """How each host's recovery ended."""
    return "".join(f"{host}: {ended.how}\n{ended.output}" for host, ended in results.items())
