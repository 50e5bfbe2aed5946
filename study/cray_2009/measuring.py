"""One run of each cell, and what it tells."""

import itertools
import re
import shutil

import posix_io
from pmiolab import contestants, mpi_jobs, mpi_libraries, places, quiet

from . import counting
from .workload import BENCHMARKS, MPI, RANKS, WAYS

# What strace(1) and pmio (PMIO_STATS=2) tell of system writes, and pmio's tables of a rank's milliseconds.
TRACED = re.compile(r"^pwrite64\(\d+<.*/target>, .*, (\d+), (\d+)\) = \d+$", re.M)
TOLD = re.compile(r"PE=(\d+)\s+W_rec=\d+\s+off=(\d+)\s+len=(\d+)")
FILE_MS = re.compile(r"^pmio:\s+\d+ \|[\s\d]+\|[\s\d]+\|\s+([\d.]+)$", re.M)
EXCHANGE_MS = re.compile(r"^pmio:\s+\d+ \|\s+([\d.]+)\s+([\d.]+) \|\s+\d+\s+\d+ \|", re.M)


class Measuring:
    def __init__(self, options):
        self.options, self.mpi = options, mpi_libraries.choose(options.build, MPI)
        self.counts = {}  # they do not change from repetition to repetition

    def measure(self, cell):
        benchmark = BENCHMARKS[cell["benchmark"]]
        calls = max(3, round(benchmark.calls * self.options.scale))
        contestants.touch_memory(contestants.COPIES * benchmark.writers * benchmark.record * calls)
        if cell["way"] in ("posix", "files"):
            return quiet.measured(lambda: self.posix(benchmark, calls, cell["way"] == "files"))
        told = quiet.measured(lambda: self.timed(benchmark, calls, WAYS[cell["way"]]))
        key = tuple(cell.values())
        if key not in self.counts:
            self.counts[key] = self.counted(benchmark, WAYS[cell["way"]])
        return told | self.counts[key]

    def posix(self, benchmark, calls, separate):
        """By processes that are no MPI job."""
        with places.temporary("study", self.options.work) as scratch:
            paths = [scratch / f"target{rank if separate else ''}" for rank in range(benchmark.ranks)]
            told = posix_io.measure(paths, benchmark.record, calls, self.options.timeout, dealt=True)
        return {"s": told["write_s"] + told["close_s"], "open_s": told["open_s"], "bytes": told["bytes"]}

    def run(self, benchmark, calls, way, scratch, logs, *, wrapper=(), **more):
        words = [places.benchmark(self.options.build, benchmark.program, self.mpi), "--file", scratch / "target"]
        words += ["--block", benchmark.record, "--bytes", benchmark.record * calls, *benchmark.arguments]
        words += ["--independent"] if way.independent else []
        words += itertools.chain.from_iterable(("--hint", hint) for hint in way.hints)
        # Of more ranks than processors those that wait must not poll.
        preload = [places.yielding(self.options.build)] if benchmark.ranks > RANKS else []
        settings = {}
        if way.pmio is not None:
            settings, preload = {"PMIO_DIR": logs, **way.pmio, **more}, [self.mpi.runtime, *preload]
        return mpi_jobs.run(self.mpi, benchmark.ranks, words, settings=settings, preload=preload, wrapper=wrapper,
                            timeout=self.options.timeout)  # fmt: skip

    def timed(self, benchmark, calls, way):
        with places.temporary("study", self.options.work) as scratch, places.temporary("study", "/dev/shm") as logs:
            ended = self.run(benchmark, calls, way, scratch, logs, PMIO_STATS="1")
        [told] = mpi_jobs.results(ended, name=f"{benchmark.title}, {way.label}")
        exchange = sum(float(number) for found in EXCHANGE_MS.findall(ended.output) for number in found)
        return {"s": told["write_s"] + told["close_s"], "open_s": told["open_s"], "bytes": told["bytes"],
                "exchange_ms": exchange, "file_ms": sum(map(float, FILE_MS.findall(ended.output)))}  # fmt: skip

    def counted(self, benchmark, way):
        """System writes of a run of its own, whose time does not count."""
        if not shutil.which("strace"):
            raise SystemExit("strace is missing")
        with places.temporary("study", self.options.work) as scratch, places.temporary("study", "/dev/shm") as logs:
            if way.pmio is None:
                words = ["strace", "-ff", "-y", "-s", "0", "-e", "trace=pwrite64", "-o", scratch / "trace"]
                ended = self.run(benchmark, benchmark.counted, way, scratch, logs, wrapper=words)
                writes = [(number, int(offset), int(length)) for number, file in enumerate(scratch.glob("trace.*"))
                          for length, offset in TRACED.findall(file.read_text())]  # fmt: skip
            else:
                ended = self.run(benchmark, benchmark.counted, way, scratch, logs, PMIO_STATS="2")
                writes = [tuple(map(int, found)) for found in TOLD.findall(ended.output)]
        mpi_jobs.results(ended, name=f"{benchmark.title}, {way.label}, counted")
        if not writes:
            raise SystemExit(f"{benchmark.title}, {way.label}: no system write was seen\n{ended.output}")
        return counting.count(writes, benchmark.call_bytes)._asdict()
