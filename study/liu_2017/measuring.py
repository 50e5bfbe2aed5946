"""One run of each cell, in a memory group on an emulated device, and what it tells."""

import contextlib
import math
import os
import sys
import threading
import time
from pathlib import Path
from statistics import linear_regression, median

import devices
import posix_io
import two_phase
from pmiolab import contestants, memory_groups, mpi_jobs, mpi_libraries, places
from pmiolab.places import MIB

from .workload import BLOCK, COLLECTIVE_HINTS, INDIVIDUAL, INTERLEAVED, MPI, POSIX, RANKS, STEP_CALLS

POSIX_IO = Path(posix_io.__file__).resolve()
LOOK_S = 0.3  # between two looks at a file that is being written


def is_written(path, amount, seconds):
    """Waits until the whole file is there and nothing has changed it for a moment; False: not within that time."""
    end, before = time.monotonic() + seconds, None
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            facts = path.stat()
            now = facts.st_size, facts.st_mtime_ns
            if now == before and facts.st_size >= amount:
                return True
            before = now
        time.sleep(LOOK_S)
    return False


class Forgetting(threading.Thread):
    """Takes a file that a job has just written out of the page cache, while the job computes for `pause` seconds."""

    def __init__(self, path, amount, pause, timeout):
        super().__init__(daemon=True)
        self.path, self.amount, self.pause, self.timeout, self.in_time = path, amount, pause, timeout, False

    def run(self):
        if not is_written(self.path, self.amount, self.timeout):
            return
        start = time.monotonic()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.in_time = time.monotonic() - start < self.pause - 2 * LOOK_S


def times(cell, told):
    """The seconds that count."""
    if cell.get("application") == "S3aSim":
        return {"seconds": told["read_again_s"]}
    write = told["open_s"] + told["write_s"] + told["close_s"]
    if cell.get("application") == "MADBench2":
        return {"seconds": write + told["read_s"]}
    return {"seconds": write, "read_s": told["read_s"]}


def most_memory(group):
    """Bytes that a group had at most."""
    found = [group.path / name for name in ("memory.max_usage_in_bytes", "memory.peak")]
    return int(next((path.read_text() for path in found if path.exists()), 64 * MIB))


class Measuring:
    def __init__(self, options, sizes):
        self.options, self.sizes, self.mpi, self.memory = options, sizes, mpi_libraries.choose(options.build, MPI), {}

    def measure(self, cell):
        """Not by quiet.measured, which would count the kernel's threads, and they are the device here."""
        if "messages" in cell:
            return self.messages()
        amount, cache = self.sizes.of(cell)
        limit = self.memory_of(cell) + cache
        contestants.touch_memory(contestants.COPIES * amount)
        profile = devices.PROFILES[cell["device"]]
        with devices.mounted(profile, math.ceil(amount * 1.2 / MIB) + 64, self.options.work) as directory:
            told, _ = self.job(cell, directory / "target", amount, limit)
        return told

    def memory_of(self, cell):
        """Bytes that a cell's job needs without page cache: by a small one, and the data that it has more."""
        ranks, steps = cell.get("ranks", RANKS), "steps" in cell
        if steps:  # a record, and those of all ranks in an aggregator's buffer; pmio's engine has one like that
            like = {"way": INDIVIDUAL, "device": cell["device"], "ranks": RANKS, "pattern": "large", "pmio": True}
            return self.memory_of(like) - self.sizes.of(like)[0] + 3 * self.sizes.transfer
        key = tuple(value for name, value in cell.items() if name not in ("device", "cache"))
        if key not in self.memory:
            small = ranks * self.block(cell)[0]
            with places.temporary("study", "/dev/shm") as scratch:
                _, most = self.job(cell, scratch / "target", small, None)
            self.memory[key] = max(0, most - 2 * small)  # its data, and its file in memory
        return self.memory[key] + self.sizes.of(cell)[0]

    def block(self, cell):
        """Bytes of a call, and further words for mpiio_bench."""
        independent, apart = "--independent", "--segmented"
        if "application" in cell:
            words = {"HACC-IO": ["--random-order"], "MADBench2": ["--read"], "S3aSim": ["--read-again"]}
            return BLOCK, [independent, apart, *words[cell["application"]]]
        if cell.get("bandwidth") == "sequential":
            return self.sizes.transfer, [independent, "--writers", 1]
        if cell.get("bandwidth") == "random":
            return self.sizes.transfer, [independent, apart, "--random-order"]
        hints = COLLECTIVE_HINTS | {"cb_buffer_size": self.sizes.transfer}
        told = [word for key, value in hints.items() for word in ("--hint", f"{key}={value}")]
        how = [independent] if cell["way"] == INDIVIDUAL else told
        return (
            (INTERLEAVED, [*how, "--read"])
            if cell["pattern"] == "interleaved"
            else (self.sizes.transfer, [*how, apart, "--read"])
        )

    def words(self, cell, file, amount):
        """Processes that the launcher starts, and their words."""
        if "steps" in cell:
            block = self.sizes.transfer // RANKS
            return RANKS, two_phase.words(self.options.build, self.mpi, file, STEP_CALLS, block)
        ranks, (block, more) = cell.get("ranks", RANKS), self.block(cell)
        if cell.get("way") == POSIX:
            return 1, [sys.executable, POSIX_IO, file, ranks, block, amount // ranks // block]
        bytes_of = amount if cell.get("bandwidth") == "sequential" else amount // ranks
        words = [places.benchmark(self.options.build, "mpiio", self.mpi), "--file", file, "--block", block]
        return ranks, [*words, "--bytes", bytes_of, *more]

    def job(self, cell, file, amount, limit):
        """What it tells, and the most memory that it had; limit: of its memory and page cache, or None."""
        parent = memory_groups.own_group()
        if parent is None:
            raise SystemExit("no memory cgroup can be made here")
        ranks, words = self.words(cell, file, amount)
        pause, forgetting = 0, None
        if cell.get("application") == "S3aSim" and limit is not None:
            pause = 4 * LOOK_S + 2 * amount / devices.PROFILES[cell["device"]].write_mbps / 1e6
            words += ["--compute", f"{pause:.3f}"]
            forgetting = Forgetting(file, amount, pause, self.options.timeout)
        with places.temporary("study", "/dev/shm") as logs, contextlib.ExitStack() as stack:
            group = memory_groups.Group(parent, logs.name)
            stack.callback(group.remove)
            if limit is not None:
                group.set("memory.max", limit)
            more = {"wrapper": ["sh", "-c", f'echo $$ >{group.path}/cgroup.procs && exec "$@"', "sh"]}
            if cell.get("pmio") or "steps" in cell:
                hints = {"PMIO_HINTS": f"*:cb_buffer_size={self.sizes.transfer}"} if "steps" in cell else {}
                more |= {"settings": {"PMIO_DIR": logs, **hints}, "preload": [self.mpi.runtime]}
            if forgetting:
                forgetting.start()
            ended = mpi_jobs.run(self.mpi, ranks, words, timeout=self.options.timeout, **more)
            if forgetting:
                forgetting.join()
                if ended.code == 0 and not forgetting.in_time:
                    raise SystemExit("the device was too slow: the file was read while its pages were dropped")
            if group.kills():
                raise SystemExit(
                    f"{Path(words[0]).name}: killed, since {limit / MIB:.0f} MiB were too little\n{ended.output}"
                )
            most = most_memory(group)
        if "steps" in cell:
            return self.steps(ended), most
        [told] = mpi_jobs.results(ended, name=Path(words[0]).name)
        return {"bytes": told["bytes"], **times(cell, told)}, most

    def steps(self, ended):
        """Microseconds of a call: shuffled, and written; of ROMIO's steps, and of pmio's engine."""
        told = two_phase.results(ended)
        parts = {
            "plain": ("steps", two_phase.NAMES[:-1]),
            "pmio": ("pmio", ("ranges_and_counts", "copies", "messages", "waiting")),
        }
        found = {}
        for who, (part, shuffled) in parts.items():
            if part in told:
                found[f"{who}_shuffle_us"] = sum(told[part][step]["median_us"] for step in shuffled)
                found[f"{who}_write_us"] = told[part]["write"]["median_us"]
        return found

    def messages(self):
        """Of ping-pong between ranks: seconds whatever the size, and seconds per byte."""
        words = [self.options.build / "lib" / f"pmio-messages-{self.mpi.tag}", "--rounds", 3, "--seconds", 1]
        [told] = mpi_jobs.measure(self.mpi, RANKS, words, name="messages", timeout=self.options.timeout)
        line = linear_regression(told["bytes"], [median(column) for column in zip(*told["within"])])
        return {"T_s": max(0.0, line.intercept), "T_w": line.slope}
