"""One run of each cell, and what it tells."""

import json
import shutil
import subprocess

import two_phase
from pmiolab import contestants, mpi_jobs, places, quiet
from pmiolab.places import MIB

from .workload import (
    IRREGULAR,
    LARGE_TILES,
    LOG,
    PATTERNS,
    RANKS,
    ROMIO,
    STEP_AMOUNT,
    STEP_CALLS,
    TILES,
    TWOPHASE,
    WAYS,
)

# pmio runs on if it cannot do what it was told; such a run is no result.
NOT_AS_TOLD = ("runs on without the log", "buffers are in memory, and not in", "has no effect")
TRACE = "exec strace -f --seccomp-bpf -c -w -e trace=pwrite64,pwritev,pwritev2 -o \"$0.$$\" \"$@\""


def written_seconds(text):
    """In calls that write, by the table of strace -c -w."""
    rows = [line.split() for line in text.splitlines()]
    return sum(float(row[1]) for row in rows if row and row[-1].startswith("pwrite"))


class Measuring:
    """By the method of the cell's kind."""

    def __init__(self, options, mpi):
        self.options, self.mpi = options, mpi

    def measure(self, cell):
        [kind] = cell.keys() - {"by"}
        return getattr(self, f"measure_{kind}")(**cell)

    def measure_pattern(self, pattern, by):
        return self.times(PATTERNS[pattern], by, ("--read", "--read-again"))

    def measure_buffer(self, buffer, by):
        if by == LOG:
            return self.times(LARGE_TILES, by, (), {"PMIO_LOG_SIZE": buffer})
        return self.times(LARGE_TILES, by, ("--hint", f"cb_buffer_size={buffer}"))

    def measure_pause(self, pause):
        return self.times(PATTERNS[TILES], LOG, ("--compute", pause))

    def measure_index(self, index):
        return self.times(IRREGULAR, LOG, ("--read",), {"PMIO_INDEX_MEMORY": index})

    def times(self, pattern, way, arguments=(), settings=None):
        result = quiet.measured(lambda: self.once(pattern, way, arguments, settings or {}))
        return {"log_s": result["write_s"], "file_s": result["open_s"] + result["write_s"] + result["close_s"],
                **{key: result[key] for key in ("open_s", "close_s", "read_s", "read_again_s", "bytes")}}  # fmt: skip

    def once(self, pattern, way, arguments, settings, after=lambda scratch, logs: {}, wrapper=lambda scratch: ()):
        """A job with a new file and a new log. after: what it left, before that is removed."""
        amount = max(pattern.call_bytes, round(pattern.rank_bytes * self.options.scale) // pattern.call_bytes
                     * pattern.call_bytes)  # fmt: skip
        contestants.touch_memory(contestants.COPIES * RANKS * amount + 64 * MIB)
        with places.temporary("study", self.options.work) as scratch, places.temporary("study", "/dev/shm") as logs:
            hints, own = WAYS[way]
            more = {}
            if own is not None:
                more = {"settings": {"PMIO_DIR": logs, **own, **settings}, "preload": [self.mpi.runtime]}
            words = [places.benchmark(self.options.build, pattern.program, self.mpi), "--file", scratch / "target"]
            words += ["--bytes", amount, *pattern.arguments, *hints, *arguments]
            ended = mpi_jobs.run(self.mpi, RANKS, words, timeout=self.options.timeout, wrapper=wrapper(scratch), **more)
            if any(complaint in ended.output for complaint in NOT_AS_TOLD):
                raise SystemExit(f"{way} was not done:\n{ended.output}")
            [result] = mpi_jobs.results(ended, name=way)
            return result | after(scratch, logs)

    def measure_traced(self, traced):
        """ROMIO's time in system calls that write, beside all its time."""
        if not shutil.which("strace"):
            raise SystemExit("there is no strace")

        def seconds(scratch, _logs):
            return {"file_s": max(written_seconds(path.read_text()) for path in scratch.glob("calls.*"))}

        def strace(scratch):
            return "sh", "-c", TRACE, scratch / "calls"

        result = quiet.measured(lambda: self.once(PATTERNS[traced], ROMIO, (), {}, after=seconds, wrapper=strace))
        return {"write_s": result["write_s"], "file_s": result["file_s"]}

    def statistics(self, _scratch, logs):
        """What `pmio stats` tells of a run with PMIO_STATS=1, which leaves it in the log directory."""
        words = [places.pmio(self.options.build), "stats", "--dir", logs, "--json"]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"pmio stats: exit {done.returncode}\n{done.stderr}")
        return {"statistics": json.loads(done.stdout)}

    def measure_engine(self, engine):
        """pmio's two-phase engine, as its statistics tell it: seconds of all ranks together."""
        wanted = {"PMIO_STATS": 1}
        told = quiet.measured(lambda: self.once(PATTERNS[engine], TWOPHASE, (), wanted, after=self.statistics))
        [file] = told["statistics"]["files"]
        return {"all_s": file["total"]["write_ns"] / 1e9, "file_s": file["total"]["file_ns"] / 1e9}

    def measure_source(self, source):
        """Bytes that reads before the close take from the logs and from the file."""
        told = self.once(PATTERNS[source], LOG, ("--read",), {"PMIO_STATS": 1}, after=self.statistics)
        total = told["statistics"]["total"]
        return {"log_bytes": total["read_log_bytes"], "file_bytes": total["read_file_bytes"]}

    def measure_steps(self, steps):
        calls = max(20, round(min(STEP_CALLS, STEP_AMOUNT // steps) * self.options.scale))
        return two_phase.medians(quiet.measured(lambda: self.steps_once(calls, steps)))

    def steps_once(self, calls, block):
        with places.temporary("study", self.options.work) as scratch:
            words = two_phase.words(self.options.build, self.mpi, scratch / "file", calls, block)
            return two_phase.results(mpi_jobs.run(self.mpi, RANKS, words, timeout=self.options.timeout))
