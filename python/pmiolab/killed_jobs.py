"""Rounds in which a job of crash_writer is killed at a random moment and recovered, and its file is checked.

A round's randomness comes from its seed alone: the same seed gives the same job, and the same moment as far
as timing allows.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from . import command_line, mpi_jobs, mpi_libraries, places, process_table, processes
from .crash_writer import CALLS_PER_OPEN, Progress
from .mpi_libraries import Mpi


class Failure(Exception):
    """What is wrong in a round."""


class Round:
    """One round: write_and_kill(), recoveries, check()."""

    mode = "write"  # of the program
    may_fail = False  # the job may end by itself with an error, if its file system was made to fail

    def __init__(self, options: argparse.Namespace, mpi: Mpi, number: int, scratch: Path) -> None:
        """The options are those of parse_options; scratch is a directory for this round alone."""
        self.options, self.mpi, self.scratch = options, mpi, scratch
        self.seed = options.seed + number
        self.random = random.Random(self.seed)
        self.program = places.test_program(options.build, "crash_writer", mpi)
        # An Open MPI job shares a semaphore with any other job whose file has the same last component. A
        # killed job leaves it locked, and what another test opens at that moment hangs.
        self.file, self.progress_file = scratch / f"target-{scratch.name}", scratch / "progress"
        self.progress = Progress(self.progress_file, options.ranks)
        self.logs = Path(tempfile.mkdtemp(prefix="pmio-crash-", dir=options.logs))
        self.log_size = self.random.choice(["1M", "2M", "4M", "16M"])
        self.background = self.random.choice(["on", "on", "off"])
        self.direct_from = self.random.choice(["auto", "256", "600"])  # of cells of 256 bytes
        self.close = self.random.choice(["complete", "background"])
        self.gather = self.random.choice(["auto", "on"])
        self.said = ""  # by the job, on standard output and error

    def settings(self) -> dict[str, object]:
        """The environment of the ranks."""
        directories = {"PMIO_DIR": self.logs, "PMIO_REGISTRY": self.scratch}
        sizes = {"PMIO_LOG_SIZE": self.log_size, "PMIO_DIRECT_FROM": self.direct_from}
        ways = {"PMIO_BACKGROUND": self.background, "PMIO_CLOSE": self.close, "PMIO_GATHER": self.gather}
        settings = {**directories, **sizes, **ways}
        return settings | self.buffering() if self.options.buffering else settings

    def buffering(self) -> dict[str, str]:
        """So that aggregators have in their logs what other ranks have written."""
        stripes = self.random.choice(["65536", "1M"])
        return {
            "PMIO_MODE": "twophase",
            "PMIO_CB_BUFFERING": "on",
            "PMIO_CB_MEMORY": "pmem",
            "PMIO_CB_ALIGN": self.random.choice("012"),
            "MPICH_MPIIO_HINTS": f"*:romio_cb_write=enable:cb_config_list=*:*:striping_unit={stripes}",
        }

    def preload(self) -> list[Path]:
        """The libraries that the ranks have preloaded."""
        runtime = [] if self.options.plain else [self.mpi.runtime]
        return [*runtime, places.yielding(self.options.build)]

    def arguments(self) -> list[object]:
        """The arguments of the program."""
        return [self.mode, self.progress_file, self.file, self.seed, self.options.calls]

    def start(self) -> subprocess.Popen:
        """Starts the job; its output goes to a file."""
        program = [self.program, *self.arguments()]
        words = mpi_jobs.command(
            self.mpi, self.options.ranks, program, settings=self.settings(), preload=self.preload()
        )
        self.output = (self.scratch / "output").open("w+")
        return mpi_jobs.start(self.mpi, words, self.output)

    def wait_for_moment(self, job: subprocess.Popen) -> None:
        """Waits for a random call, or one around which the file is closed; then a little longer."""
        target = self.random.randrange(self.options.calls)
        if self.random.random() < 0.3:
            target = max(1, round(target / CALLS_PER_OPEN)) * CALLS_PER_OPEN
        deadline = time.monotonic() + self.options.timeout
        while self.progress.started() < target and job.poll() is None:
            if time.monotonic() > deadline:
                raise Failure(f"the job hangs after call {self.progress.started()}")
            time.sleep(0.0005)
        time.sleep(self.random.random() ** 3 * 0.02)

    def kill_job(self, job: subprocess.Popen) -> None:
        """Kills all ranks first, at once, so that no launcher has time to tell them anything."""
        tree = process_table.descendants(job.pid)
        ranks = [pid for pid in self.progress.pids() if pid in tree]
        segments = process_table.shared_segments(ranks)
        process_table.kill(ranks)
        process_table.kill(reversed(tree))
        processes.finish(job, timeout=None)
        if left := process_table.wait_gone(tree):
            raise Failure(f"processes outlive SIGKILL: {left}")
        for segment in segments:
            segment.unlink(missing_ok=True)

    def write_and_kill(self) -> None:
        """Runs the job until it is killed. Failure if it ended by itself with an error."""
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

    def recover(self, kill_after: float | None = None) -> None:
        """Runs `pmio recover`; kills it after kill_after seconds, if they are given and it is not done by then."""
        command = [places.pmio(self.options.build), "recover", "--dir", self.logs]
        ended = processes.run(command, mpi_libraries.environment(self.mpi), kill_after or self.options.timeout)
        if ended.code is None and kill_after is None:
            raise Failure(f"pmio recover hangs: {ended.output}")
        if ended.code not in (0, None):
            raise Failure(f"pmio recover: {ended.how}: {ended.output}")

    def check(self) -> str:
        """What the program says of a file that is right. Failure if it is not."""
        command = [self.program, "check", self.progress_file, self.file, self.seed, self.options.ranks]
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)
        if run.returncode != 0:
            raise Failure(run.stdout + run.stderr)
        return run.stdout.strip()

    def fingerprint(self) -> tuple[str, int] | None:
        """Of the file's content and time of modification; None without a file."""
        if not self.file.exists():
            return None
        return hashlib.sha256(self.file.read_bytes()).hexdigest(), self.file.stat().st_mtime_ns

    def run(self) -> str:
        """The whole round. What the program says of the file; Failure if anything is wrong."""
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

    def describe(self) -> str:
        """What it takes to see the round again."""
        return f"seed {self.seed}, log {self.log_size}, background {self.background}, close {self.close}"


def run_round(options: argparse.Namespace, mpi: Mpi, number: int, kind: type[Round] = Round) -> bool:
    """Whether all was right. The files and logs of a round in which something was not are kept."""
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


def parse_options(description: str | None) -> argparse.Namespace:
    """The command line of a script that runs rounds."""
    parser = command_line.parser(description)
    command_line.add_ranks(parser)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--calls", type=int, default=2400, help="write calls per rank, if nobody kills the job")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that a job or a recovery may take")
    parser.add_argument("--logs", type=Path, default=Path("/dev/shm"), help="where log directories are made")
    parser.add_argument("--work", type=Path, help="where target files are made; default: the temporary directory")
    parser.add_argument("--abort", action="store_true", help="by MPI_Abort, not by SIGKILL")
    parser.add_argument("--buffering", action="store_true", help="by pmio_cb_buffering, in the aggregators' logs")
    parser.add_argument("--plain", action="store_true", help="no pmio, no recovery: tests the test")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def run_rounds(options: argparse.Namespace, kind: type[Round]) -> int:
    """Runs as many rounds as there shall be kills. The exit code of the script."""
    mpi = mpi_libraries.choose(options.build, options.mpi)
    good = sum(run_round(options, mpi, number, kind) for number in range(options.kills))
    print(f"{mpi.tag}, {options.ranks} ranks: {options.kills} kills, {good} right")
    return 0 if good == options.kills else 1
