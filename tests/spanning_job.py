"""A job of crash_writer on several hosts of a testbed, its end, and the recovery of what it left."""

import contextlib
import os
import time
from pathlib import Path

import hosts  # and where harness is
import crash
import mpi_processes

HOSTS = ("c1", "c2")
RANKS = 2 * len(HOSTS)
SECONDS = 300  # that a job or a recovery may take
NOT_ALL_NODES = 3  # exit code of a recovery that has brought in all that there is on its node


def launch(options, ranks=RANKS, hosts=HOSTS):
    return ["mpiexec", "--build", options.build, "--mpi", options.mpi.tag, "-n", ranks, "--ppn", ranks // len(hosts)]


def under_pmio(options, **settings):
    words = [f"{key}={value}" for key, value in {"PMIO_ACROSS_NODES": "on", "PMIO_LOG_SIZE": "8M", **settings}.items()]
    return ["env", *words, options.build / "bin" / "pmio", "run", "--"]


def leftovers(bed, hosts=HOSTS):
    """Names of logs and journals that are still there."""
    found = [bed.must("on", host, "find", "/dev/shm", "/mnt/local", "-name", "job-*").split() for host in hosts]
    return [*sum(found, []), *bed.must("on", hosts[0], "find", "/mnt/pfs", "-name", ".pmio-*").split()]


class Job:
    """Writes path on the parallel file system. Call end() whatever happens."""

    def __init__(self, bed, options, scratch, path, seed):
        self.bed, self.options, self.path, self.seed = bed, options, path, seed
        self.progress_file, self.output_file = scratch / "progress", scratch / "output"
        self.progress = crash.Progress(self.progress_file, RANKS)
        self.program = options.build / "tests" / "mpi" / f"crash_writer-{options.mpi.tag}"
        self.launcher = None
        self.seen = set()

    def start(self, calls, **settings):
        words = [hosts.COMMAND, "--name", self.bed.name, *launch(self.options), *under_pmio(self.options, **settings)]
        words += [self.program, "write", self.progress_file, self.path, self.seed, calls]
        self.output = self.output_file.open("w")
        self.launcher = mpi_processes.start([str(word) for word in words], dict(os.environ), self.output)

    def ranks(self):
        """Its processes, on whatever host, but for what launches them."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if b"crash_writer" in words[0] and str(self.progress_file).encode() in words:
                    found.append(int(process.name))
        self.seen.update(found)
        return found

    def running(self):
        """It was started and not ended."""
        return self.launcher is not None

    def processes(self):
        """Those of the ranks that have not ended, by rank, as this machine numbers them."""
        found = {}
        for process in self.ranks():
            with contextlib.suppress(OSError):
                settings = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
                words = [word.split(b"=")[1] for word in settings if word.startswith((b"PMI_RANK=", b"PMIX_RANK="))]
                found.update({int(word): process for word in words})
        return found

    def wait_until(self, reached, seconds=SECONDS):
        """Whether it was reached before the job ended, and in time."""
        deadline = time.monotonic() + seconds
        while not reached() and time.monotonic() < deadline:
            if self.launcher.poll() is not None:
                return False
            time.sleep(0.002)
        return reached()

    def wait_gone(self, seconds):
        """The ranks that are still there after at most that long; one whose threads end later than it does is."""
        self.ranks()
        return mpi_processes.wait_gone(self.seen, seconds)

    def end(self, seconds=0):
        """The launcher's exit code if it ended in that time; None if it was killed, with all ranks."""
        code, _ = mpi_processes.finish(self.launcher, seconds)
        self.launcher = None
        mpi_processes.kill(self.ranks())
        self.output.close()
        return code

    def said(self):
        return self.output_file.read_text()

    def check(self, host, lost=()):
        """'' if the file holds what was acknowledged; lost: the ranks whose log is."""
        words = [self.program, "check", self.progress_file, self.path, self.seed, RANKS]
        words += [lost[0], lost[-1]] if lost else []
        code, output = self.bed.run("on", host, *words)
        return "" if code == 0 else output


def recovery(options, *words):
    return [options.build / "bin" / "pmio", "recover", *words]


class Recoveries:
    """Of several hosts at once. Call end()."""

    def __init__(self, bed, command, where=HOSTS):
        words = {host: [hosts.COMMAND, "--name", bed.name, "on", host, *command] for host in where}
        self.running = {host: mpi_processes.start([str(word) for word in line], dict(os.environ)) for host, line in words.items()}

    def end(self, seconds=SECONDS):
        """(exit code, output) by host; the code of one that had to be killed is None."""
        return {host: mpi_processes.finish(process, seconds) for host, process in self.running.items()}


def recover(bed, options, order, *words):
    """What went wrong; order: hosts, one after the other or, as a set, at once. The last one has everything."""
    command = recovery(options, *words)
    if isinstance(order, tuple):
        results = {host: bed.run("on", host, *command, timeout=SECONDS) for host in order}
        complete = results[order[-1]][0] == 0
    else:
        results = Recoveries(bed, command, order).end()
        complete = any(code == 0 for code, _ in results.values())
    if complete and all(code in (0, NOT_ALL_NODES) for code, _ in results.values()):
        return ""
    return describe(results)


def describe(results):
    return "".join(f"{host}: exit {code}\n{output}" for host, (code, output) in results.items())
