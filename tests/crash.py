#!/usr/bin/env python3
"""Kills all ranks at random moments, recovers, and checks that every acknowledged write is in the file.

Each round: a job writes versioned cells (tests/mpi/crash_writer.h) through a small log, so that it drains all the time, and
closes and opens its file again and again; at a random call, or around a close, every process of the job gets SIGKILL. `pmio
recover` then runs, in some rounds killed itself at random moments and started again. The file must hold every
acknowledged version or a later one, no foreign byte, and a second recovery must change nothing, not even the time stamp.
With --abort one rank calls MPI_Abort instead, and what the launcher does to the others is its own affair.

  crash.py --kills 200 --mpi mpich-5.0.2 --ranks 2
"""

import hashlib
import mmap
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "programs"))
import checks
import harness
import mpi_processes

ROOT = Path(__file__).resolve().parents[1]
MAX_RANKS = 64  # as in crash_writer.h
CALLS_PER_OPEN = 120
PROGRESS = struct.Struct("QQQQQQ")  # started, acknowledged, pid, finished, closing, failed


class Progress:
    """What the ranks tell through their shared mapping."""

    def __init__(self, path, ranks):
        path.write_bytes(bytes(MAX_RANKS * PROGRESS.size))
        self.ranks = ranks
        with path.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)

    def rows(self):
        return [PROGRESS.unpack_from(self.map, rank * PROGRESS.size) for rank in range(self.ranks)]

    def started(self):
        return max(row[0] for row in self.rows())

    def pids(self):
        return [row[2] for row in self.rows() if row[2]]

    def finished(self):
        return all(row[3] for row in self.rows())

    def closing(self):
        return all(row[4] for row in self.rows())

    def within_a_close(self):
        return [rank for rank, row in enumerate(self.rows()) if row[4]]

    def failed(self, rank):
        """A call has returned an error."""
        return bool(self.rows()[rank][5])

    def within_a_write(self):
        """Ranks that are in a write call now."""
        return [rank for rank, row in enumerate(self.rows()) if row[0] > row[1]]


class Failure(Exception):
    pass


class Round:
    mode = "write"  # of the program
    may_fail = False  # the job may end by itself with an error, since its file system was made to fail

    def __init__(self, options, mpi, number, scratch):
        self.options, self.mpi, self.scratch = options, mpi, scratch
        self.seed = options.seed + number
        self.random = random.Random(self.seed)
        self.program = options.build / "tests" / "mpi" / f"crash_writer-{mpi.tag}"
        # Open MPI's jobs share a semaphore with any other job whose file has the same last component; killed, they leave it
        # locked, and what another test opens at that moment hangs.
        self.file, self.progress_file = scratch / f"target-{scratch.name}", scratch / "progress"
        self.progress = Progress(self.progress_file, options.ranks)
        self.logs = Path(tempfile.mkdtemp(prefix="pmio-crash-", dir=options.logs))
        self.log_size = self.random.choice(["1M", "2M", "4M", "16M"])
        self.background = self.random.choice(["on", "on", "off"])

    def settings(self):
        places = {"PMIO_DIR": self.logs, "PMIO_REGISTRY": self.scratch}
        return {**places, "PMIO_LOG_SIZE": self.log_size, "PMIO_BACKGROUND": self.background}

    def preload(self):
        runtime = [] if self.options.plain else [self.mpi.runtime]
        return [*runtime, self.options.build / "lib" / "libpmio_yield.so"]

    def arguments(self):
        return [self.mode, self.progress_file, self.file, self.seed, self.options.calls]

    def start(self):
        command = [self.mpi.mpiexec, "-n", self.options.ranks]
        command += mpi_processes.with_environment(self.settings(), self.preload())
        command += [self.program, *self.arguments()]
        self.output = (self.scratch / "output").open("w+")
        return mpi_processes.start([str(word) for word in command], harness.environment(self.mpi), self.output)

    def wait_for_moment(self, job):
        """A random call, or one around which the file is closed; then a little while longer."""
        target = self.random.randrange(self.options.calls)
        if self.random.random() < 0.3:
            target = max(1, round(target / CALLS_PER_OPEN)) * CALLS_PER_OPEN
        deadline = time.monotonic() + self.options.timeout
        while self.progress.started() < target and job.poll() is None:
            if time.monotonic() > deadline:
                raise Failure(f"the job hangs after call {self.progress.started()}")
            time.sleep(0.0005)
        time.sleep(self.random.random() ** 3 * 0.02)

    def kill_job(self, job):
        """All ranks first, at once, so that no launcher has time to tell them anything."""
        tree = mpi_processes.descendants(job.pid)
        ranks = [pid for pid in self.progress.pids() if pid in tree]
        segments = mpi_processes.shared_segments(ranks)
        mpi_processes.kill(ranks)
        mpi_processes.kill(reversed(tree))
        mpi_processes.finish(job, timeout=None)
        if left := mpi_processes.wait_gone(tree):
            raise Failure(f"processes outlive SIGKILL: {left}")
        for segment in segments:
            segment.unlink(missing_ok=True)

    def write_and_kill(self):
        job = self.start()
        ended = None
        try:
            self.wait_for_moment(job)
            ended = job.poll()  # before the ranks are killed: a launcher may say anything about that
        finally:
            self.kill_job(job)
        self.output.seek(0)
        self.said = self.output.read().strip()
        self.output.close()
        if ended not in (0, None) and not self.progress.finished() and not self.may_fail:
            raise Failure(f"the job ended by itself with {ended}: {self.said}")

    def recover(self, kill_after=None):
        """kill_after: seconds after which it is killed, if it is not done by then."""
        command = [str(self.options.build / "bin" / "pmio"), "recover", "--dir", str(self.logs)]
        process = mpi_processes.start(command, harness.environment(self.mpi))
        code, output = mpi_processes.finish(process, kill_after or self.options.timeout)
        if code is None and kill_after is None:
            raise Failure(f"pmio recover hangs: {output}")
        if code not in (0, None):
            raise Failure(f"pmio recover: exit {code}: {output}")

    def check(self):
        command = [self.program, "check", self.progress_file, self.file, self.seed, self.options.ranks]
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)
        if run.returncode != 0:
            raise Failure(run.stdout + run.stderr)
        return run.stdout.strip()

    def fingerprint(self):
        if not self.file.exists():
            return None
        return hashlib.sha256(self.file.read_bytes()).hexdigest(), self.file.stat().st_mtime_ns

    def run(self):
        self.write_and_kill()
        if self.options.plain:
            return self.check()
        if self.random.random() < 0.5:
            for _ in range(self.random.randint(1, 3)):
                self.recover(kill_after=0.0005 + self.random.random() ** 2 * 0.06)
        self.recover()
        verdict = self.check()
        before = self.fingerprint()
        self.recover()
        if self.fingerprint() != before:
            raise Failure("a second recovery changed the file")
        return verdict

    def describe(self):
        return f"seed {self.seed}, log {self.log_size}, background {self.background}"


class Abort(Round):
    """The job ends itself, at a random call of one rank."""

    def start(self):
        self.abort_at = self.random.randrange(self.options.calls)
        return super().start()

    def arguments(self):
        return [*super().arguments(), self.abort_at]

    def write_and_kill(self):
        job = self.start()
        segments, deadline = set(), time.monotonic() + self.options.timeout
        try:
            while job.poll() is None and time.monotonic() < deadline:
                segments |= mpi_processes.shared_segments(self.progress.pids())
                time.sleep(0.01)
            ended = job.poll()
            if left := mpi_processes.wait_gone(self.progress.pids()):
                raise Failure(f"processes outlive MPI_Abort: {left}")
        finally:
            if job.poll() is None:
                self.kill_job(job)
            else:
                mpi_processes.finish(job, timeout=None)
            for segment in segments:
                segment.unlink(missing_ok=True)
        self.output.close()
        if ended in (0, None) or self.progress.finished():
            raise Failure(f"MPI_Abort before call {self.abort_at}, and the job ended with {ended}")


def run_round(options, mpi, number, kind=Round):
    with tempfile.TemporaryDirectory(prefix="pmio-crash-", dir=options.work) as scratch:
        this = kind(options, mpi, number, Path(scratch))
        try:
            verdict = this.run()
            if options.verbose:
                print(f"{this.describe()}: {verdict}", flush=True)
            return True
        except Failure as failure:
            kept = Path(tempfile.mkdtemp(prefix="pmio-crash-failed-", dir=options.work))
            shutil.copytree(scratch, kept / "files")
            shutil.copytree(this.logs, kept / "logs")
            print(f"{this.describe()}: {failure}\n  files and logs are kept in {kept}", flush=True)
            return False
        finally:
            shutil.rmtree(this.logs, ignore_errors=True)


def parse_options(description=__doc__):
    parser = checks.parser(description)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--calls", type=int, default=2400, help="write calls per rank, if nobody kills the job")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that a job or a recovery may take")
    parser.add_argument("--logs", type=Path, default=Path("/dev/shm"), help="where log directories are made")
    parser.add_argument("--work", type=Path, help="where target files are made; default: the temporary directory")
    parser.add_argument("--abort", action="store_true", help="by MPI_Abort, not by SIGKILL")
    parser.add_argument("--plain", action="store_true", help="no pmio, no recovery: tests the test")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def run_rounds(options, kind):
    mpi = harness.choose_mpi(options.build, options.mpi)
    good = sum(run_round(options, mpi, number, kind) for number in range(options.kills))
    print(f"{mpi.tag}, {options.ranks} ranks: {options.kills} kills, {good} right")
    return 0 if good == options.kills else 1


if __name__ == "__main__":
    given = parse_options()
    raise SystemExit(run_rounds(given, Abort if given.abort else Round))
