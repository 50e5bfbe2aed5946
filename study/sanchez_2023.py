"""Sanchez et al., "High-Performance PMEM-Aware Collective I/Os" (2023): the poster that pmio follows.

How much faster than two-phase I/O is a log in memory, and is it the shuffling? Figure 2's benchmarks by ROMIO, by
two-phase I/O with its buffers in the log's medium (Naive-PM), and by pmio; then where the time of two-phase I/O goes.
"""

import itertools
import json
import shutil
import subprocess
from dataclasses import dataclass
from statistics import median

import claims
import compare
import two_phase
from pmiolab import contestants, figures, mpi_jobs, mpi_libraries, places, quiet
from pmiolab.grid_patterns import PATTERNS as KNOWN
from pmiolab.places import KIB, MIB

RANKS = 2
MPI = "mpich-5.0.2"
NEAR = 2  # a factor of the paper is met by half of it
ALIKE = 1.25
COLLECTIVE = ("--hint", "romio_cb_write=enable", "--hint", "romio_cb_read=enable")


@dataclass(frozen=True)
class Pattern:
    arguments: tuple  # of the benchmark
    call_bytes: int  # of a rank
    rank_bytes: int  # at scale 1
    program: str = "mpiio"


def known(name, rank_bytes):
    """One of the grid's, whose arguments do not depend on the amount."""
    return Pattern(tuple(KNOWN[name].arguments(RANKS, rank_bytes)), KNOWN[name].call_bytes, rank_bytes)


# Two-phase I/O takes 40 times as long for columns of 8 bytes as for the others, so there are fewer.
NONCONTIG, TILES, CONTIGUOUS = "noncontig", "tile-io", "contiguous"
HDF5_TILES, HDF5_REGIONS = "HDF5 tiles", "HDF5 regions"
PATTERNS = {
    NONCONTIG: known(NONCONTIG, 8 * MIB),
    TILES: known(TILES, 64 * MIB),
    HDF5_TILES: Pattern(("--block", 2 * KIB, "--blocks-per-call", 512), MIB, 64 * MIB, "hdf5"),
    HDF5_REGIONS: Pattern(("--block", 8 * MIB), 8 * MIB, 64 * MIB, "hdf5"),  # as a variable of VPIC-IO
    CONTIGUOUS: Pattern(("--block", MIB, "--segmented"), MIB, 64 * MIB),  # not the paper's
}
OF_THE_PAPER = (NONCONTIG, TILES, HDF5_TILES, HDF5_REGIONS)
LARGE_TILES = Pattern(("--tile", "512x512", "--element", 32), 8 * MIB, 64 * MIB)
IRREGULAR = Pattern(tuple(KNOWN["e3sm-f"].arguments(RANKS, 0)), KNOWN["e3sm-f"].call_bytes, 4 * MIB)

ROMIO, INDEPENDENT, TWOPHASE, NAIVE, LOG, PMIO = "ROMIO", "independent", "two-phase", "Naive-PM", "pmio log", "pmio"
# By name: arguments, and pmio's settings; None: not preloaded. "pmio log" is the paper's design, "pmio" the default.
WAYS = {
    ROMIO: (COLLECTIVE, None),
    INDEPENDENT: (("--independent",), None),
    TWOPHASE: (COLLECTIVE, {"PMIO_MODE": "twophase"}),
    NAIVE: (COLLECTIVE, {"PMIO_MODE": "twophase", "PMIO_CB_MEMORY": "pmem"}),
    LOG: ((), {"PMIO_MODE": "log", "PMIO_DIRECT_FROM": "off"}),
    PMIO: ((), {}),
}
# pmio runs on if it cannot do what it was told; such a run is no result.
NOT_AS_TOLD = ("runs on without the log", "buffers are in memory, and not in", "has no effect")
TRACE = "exec strace -f --seccomp-bpf -c -w -e trace=pwrite64,pwritev,pwritev2 -o \"$0.$$\" \"$@\""

BUFFERS = {ROMIO: (64 * KIB, MIB, 16 * MIB), NAIVE: (64 * KIB, MIB, 16 * MIB), LOG: (MIB, 16 * MIB, 128 * MIB)}
STEP_BYTES = (1312, 64 * KIB, MIB)  # of a rank in a call
STEP_CALLS, STEP_AMOUNT = 200, 64 * MIB
PAUSES = (0.0, 0.5)  # seconds before the close
INDEX_MEMORY = ("256M", "64K")


def written_seconds(text):
    """In calls that write, by the table of strace -c -w."""
    rows = [line.split() for line in text.splitlines()]
    return sum(float(row[1]) for row in rows if row and row[-1].startswith("pwrite"))


def listed(numbers, form):
    return ", ".join(f"{name} {form.format(number)}" for name, number in numbers.items())


class Study:
    title = "Sanchez et al. 2023: a log in persistent memory against two-phase I/O"

    def __init__(self, options):
        self.options = options
        self.mpi = mpi_libraries.choose(options.build, MPI)
        self.patterns = [name for name, pattern in PATTERNS.items()
                         if places.benchmark(options.build, pattern.program, self.mpi).exists()]  # fmt: skip
        self.of_paper = [name for name in OF_THE_PAPER if name in self.patterns]

    def cells(self):
        """Each is measured once in a repetition."""
        grid = [{"pattern": name, "by": way} for name, way in itertools.product(self.patterns, WAYS)]
        buffers = [{"buffer": size, "by": way} for way, sizes in BUFFERS.items() for size in sizes]
        shares = [{kind: name} for kind, name in itertools.product(("traced", "engine", "source"), self.of_paper)]
        others = [{key: value} for key, values in (("steps", STEP_BYTES), ("pause", PAUSES), ("index", INDEX_MEMORY))
                  for value in values]  # fmt: skip
        return grid + buffers + shares + others

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

    # --- what it shows ---

    def values(self, rows, key, **cell):
        """LookupError: there are none."""
        found = rows.values(key, **cell)
        if not found:
            raise LookupError(f"no result for {', '.join(map(str, cell.values()))}")
        return found

    def median(self, rows, key, **cell):
        return median(self.values(rows, key, **cell))

    def factors(self, rows, slow, fast, key):
        """By the paper's patterns: the first way's time over the second one's."""
        return {name: self.median(rows, key, pattern=name, by=slow) / self.median(rows, key, pattern=name, by=fast)
                for name in self.of_paper}  # fmt: skip

    def outside(self, rows):
        """By pattern: ROMIO's seconds in its write calls, less those in system calls that write."""
        return {name: self.median(rows, "write_s", traced=name) - self.median(rows, "file_s", traced=name)
                for name in self.of_paper}  # fmt: skip

    def traced_shares(self, rows):
        """Of ROMIO's time, outside of system calls that write."""
        outside = self.outside(rows)
        return {name: seconds / self.median(rows, "write_s", traced=name) for name, seconds in outside.items()}

    def engine_shares(self, rows):
        """Likewise of pmio's two-phase engine. One rank writes while the others wait."""
        return {name: 1 - RANKS * self.median(rows, "file_s", engine=name) / self.median(rows, "all_s", engine=name)
                for name in self.of_paper}  # fmt: skip

    def step_shares(self, rows):
        """Of the five steps, the first four: messages only."""
        shares = {}
        for size in STEP_BYTES:
            times = {step: self.median(rows, step, steps=size) for step in two_phase.NAMES}
            shares[f"{size:,} B"] = 1 - times["write"] / sum(times.values())
        return shares

    def claims(self, rows):
        """A claim whose runs have failed is not tested."""
        found = [claims.judged(section, quote, lambda judge=judge: judge(rows)) for section, quote, judge in self.judged()]
        return [*found, *self.beyond()]

    def judged(self):
        return [
            ("1", "the communication time of data shuffling accounts for up to 91% of the execution time of the "
             "collective I/Os in the MPICH library", self.share_of_shuffling),
            ("1", "the communication overhead dominates the performance of collective I/O", self.shuffling_dominates),
            ("1", "leading to an excessive amount of data shuffling when the buffer size is significantly smaller than "
             "the size of file domains to be accessed", self.small_buffers),
            ("2", "to eliminate random accesses and explore the high bandwidth of persistent memory", self.sequential),
            ("2", "we can safely increase the size of the collective I/O buffer to exploit higher I/O efficiency",
             self.large_logs),
            ("2", "All log merging is executed asynchronously in the background", self.in_background),
            ("2", "if the requested data are available in the L0+L1 buffers, they are returned immediately. Otherwise, "
             "they are served from parallel file systems", self.reads_of_log),
            ("2", "The index can be dynamically partitioned and placed in DRAM or persistent memory according to the "
             "memory demand of applications", self.index),
            ("3", "we assume the emulated PM has the same performance as DRAM", self.medium),
            ("3", "the write throughput of PMIO is 121X and 117X higher than ROMIO and Naive-PM, respectively",
             lambda rows: self.throughput(rows, "log_s", {ROMIO: 121, NAIVE: 117})),
            ("3", "This is because PMIO avoids data shuffling among processes on compute servers and removes the "
             "communication overhead", self.because_of_shuffling),
            ("3", "the read throughput of PMIO is 100X and 151X higher than ROMIO and Naive-PM, respectively",
             lambda rows: self.throughput(rows, "read_s", {ROMIO: 100, NAIVE: 151})),
            ("3", "PMIO works for representative benchmarks and I/O kernels using HDF5", self.works),
            ("4", "Compared to ROMIO collective I/Os using DRAM and PMEM as the collective buffers, PMIO improves the "
             "I/O throughput by up to 122X", self.complete_file),
        ]  # fmt: skip

    def beyond(self):
        return [
            claims.untested("2", "It can recover the data by replaying log items in the metadata logs",
                            "a study of times kills no job; this project's tests of recovery do"),
            claims.untested("2", "On the I/O servers, the data from different compute servers are merged by operating "
                            "systems again before writing to disks", "one node and one local file system are here"),
        ]  # fmt: skip

    def share_of_shuffling(self, rows):
        traced, steps, engine = self.traced_shares(rows), self.step_shares(rows), self.engine_shares(rows)
        holds = max(traced.values()) >= 0.91 and max(*steps.values(), *engine.values()) > 0.5
        return holds, (
            f"ROMIO, outside of writing to the file: {listed(traced, '{:.0%}')}; this has its lists of pieces in it, "
            f"so it is an upper bound. Messages only, by the steps of two-phase I/O: {listed(steps, '{:.0%}')}. "
            f"pmio's two-phase engine, outside of the file: {listed(engine, '{:.0%}')}")  # fmt: skip

    def shuffling_dominates(self, rows):
        shares = self.traced_shares(rows)
        return median(shares.values()) > 0.5, (
            f"of ROMIO's time, outside of writing to the file: {listed(shares, '{:.0%}')}; more than half "
            "in the median would do")  # fmt: skip

    def small_buffers(self, rows):
        holds, words = True, []
        for way in (ROMIO, NAIVE):
            small, *_, large = (self.values(rows, "log_s", buffer=size, by=way) for size in BUFFERS[way])
            holds = holds and compare.is_less(large, small)
            words.append(f"{way} {median(small) / median(large):.1f}")
        return holds, "64 KiB over 16 MiB of buffers, in calls of 16 MiB, times as long: " + ", ".join(words)

    def rate(self, rows, key, **cell):
        """MB/s of all ranks."""
        return self.median(rows, "bytes", **cell) / self.median(rows, key, **cell) / 1e6

    def sequential(self, rows):
        lost = {}
        for way in (LOG, ROMIO, INDEPENDENT):
            fast, slow = (self.rate(rows, "log_s", pattern=name, by=way) for name in (CONTIGUOUS, NONCONTIG))
            lost[way] = fast / slow
        return lost[LOG] < NEAR and lost[LOG] < lost[ROMIO], (
            f"pieces of 8 bytes are written slower than 1 MiB at once by a factor of: {listed(lost, '{:.1f}')}; "
            f"up to {NEAR} counts as none")

    def large_logs(self, rows):
        small, *_, large = (self.values(rows, "log_s", buffer=size, by=LOG) for size in BUFFERS[LOG])
        complete = [self.median(rows, "file_s", buffer=size, by=LOG) for size in (BUFFERS[LOG][0], BUFFERS[LOG][-1])]
        return compare.is_less(large, small), (f"a log of 128 MiB for each rank over one of 1 MiB: to the log "
                                      f"{median(small) / median(large):.1f} times as fast, to the complete file "
                                      f"{complete[0] / complete[1]:.1f} times")  # fmt: skip

    def in_background(self, rows):
        at_once, later = (self.values(rows, "close_s", pause=pause) for pause in PAUSES)
        return compare.is_less(later, at_once), (f"the close takes {median(at_once) * 1e3:.1f} ms behind the last write, and "
                                        f"{median(later) * 1e3:.1f} ms after {PAUSES[1]} s of computing")  # fmt: skip

    def reads_of_log(self, rows):
        gains = {}
        for name in self.of_paper:
            log, file = (self.median(rows, key, pattern=name, by=LOG) for key in ("read_s", "read_again_s"))
            gains[name] = file / log
        shares = {}
        for name in self.of_paper:
            log, file = (self.median(rows, key, source=name) for key in ("log_bytes", "file_bytes"))
            shares[name] = log / (log + file)
        return min(shares.values()) > 0.5, (
            f"of what is read before the close, from the logs: {listed(shares, '{:.0%}')}; pmio drains meanwhile. "
            f"Reads of the file after the close take, over those: {listed(gains, '{:.2f}')}. "
            "The page cache serves them here")  # fmt: skip

    def index(self, rows):
        dram, log = (self.values(rows, "read_s", index=size) for size in INDEX_MEMORY)
        ratio = median(log) / median(dram)
        return ratio < NEAR, (
            "irregular pieces of 8 bytes: with 64 KiB of DRAM for the index, and the rest of it in the log's medium, "
            f"reads take {ratio:.2f} of the time; less than {NEAR} would do")  # fmt: skip

    def medium(self, rows):
        differ, ratios = [], {}
        for name, key in itertools.product(self.of_paper, ("log_s", "read_s")):
            dram, pmem = (self.values(rows, key, pattern=name, by=way) for way in (TWOPHASE, NAIVE))
            ratios[f"{name} {'read' if key == 'read_s' else 'write'}"] = median(pmem) / median(dram)
            if compare.mann_whitney(dram, pmem).p < compare.LEVEL:
                differ.append(name)
        alike = 1 / ALIKE < median(ratios.values()) < ALIKE
        return alike and len(differ) <= 1, (
            "pmio's two-phase engine with buffers in the log's medium, over those in DRAM: "
            f"{listed(ratios, '{:.2f}')}; {len(differ)} of {len(ratios)} differ (Mann-Whitney), where one may by "
            "chance. The medium is tmpfs, as in the paper")  # fmt: skip

    def throughput(self, rows, key, wanted):
        """Of the log, over these ways: the paper's factors, as an order of magnitude."""
        found = {way: self.factors(rows, way, LOG, key) for way in wanted}
        best = {way: max(factors.values()) for way, factors in found.items()}
        default = {way: max(self.factors(rows, way, PMIO, key).values()) for way in wanted}
        plain = max(self.factors(rows, INDEPENDENT, LOG, key).values())
        return all(best[way] >= wanted[way] / NEAR for way in wanted), (
            "; ".join(f"over {way}: {listed(factors, '{:.1f}')}" for way, factors in found.items())
            + f". At most, with pmio's default: {listed(default, '{:.1f}')}; over independent calls: {plain:.1f}. "
            f"Half of the paper's factor would do. {RANKS} ranks on one node shuffle by shared memory"
        )

    def because_of_shuffling(self, rows):
        outside, parts = self.outside(rows), {}
        for name in self.of_paper:
            romio, log = (self.median(rows, "log_s", pattern=name, by=way) for way in (ROMIO, LOG))
            if log < romio:
                parts[name] = min(1, outside[name] / (romio - log))
        explained = sum(part > 0.5 for part in parts.values())
        return explained > len(self.of_paper) / 2, (
            f"the log is faster in {len(parts)} of {len(self.of_paper)} patterns; of ROMIO's delay there, so much is "
            f"outside of writing to the file: {listed(parts, '{:.0%}')}")

    def works(self, rows):
        failed = [row for row in rows.failed() if row["cell"].get("pattern") in self.of_paper
                  and row["cell"].get("by") in (LOG, PMIO)]  # fmt: skip
        hdf5 = [name for name in self.of_paper if PATTERNS[name].program == "hdf5"]
        if not hdf5:
            raise LookupError("this build has no HDF5")
        if failed:
            names = sorted({f"{row['cell']['pattern']} by {row['cell']['by']}" for row in failed})
            return False, f"{len(failed)} runs of pmio have failed: {', '.join(names)}"
        ratios = {name: factor for name, factor in self.factors(rows, ROMIO, LOG, "log_s").items() if name in hdf5}
        return True, (
            "no run of pmio has failed, and the benchmark checks every byte; ROMIO takes, "
            f"over pmio's log: {listed(ratios, '{:.1f}')}. The text names no kernels; these are like them")

    def complete_file(self, rows):
        found = {way: self.factors(rows, way, LOG, "file_s") for way in (ROMIO, NAIVE)}
        default = self.factors(rows, ROMIO, PMIO, "file_s")
        best = max(factor for factors in found.values() for factor in factors.values())
        words = "; ".join(f"over {way} {listed(factors, '{:.1f}')}" for way, factors in found.items())
        return best >= 122 / NEAR, (
            f"until the file is complete: {words}"
            f"; pmio's default over {ROMIO}: {listed(default, '{:.1f}')}. The paper's figure may be of the log alone")

    def table(self, rows):
        """Markdown: MB/s of all ranks, medians."""
        lines = ["MB/s of all ranks, medians; each run has a new file and a new log. *To the log* is the time in write "
                 "calls, of ways without a log too. *Complete file* adds the open and the close, and *file read* is "
                 "after the close. Nothing is synced to the disk.", ""]  # fmt: skip
        lines += ["| pattern | by | to the log | complete file | read | file read |", "|---|---|---|---|---|---|"]
        for name, way in itertools.product(self.patterns, WAYS):
            if rows.values("bytes", pattern=name, by=way):
                keys = ("log_s", "file_s", "read_s", "read_again_s")
                rates = [self.rate(rows, key, pattern=name, by=way) for key in keys]
                lines.append(f"| {name} | {way} | " + " | ".join(f"{rate:,.0f}" for rate in rates) + " |")
        lines += ["", "| buffer or log of a rank, MB/s | " + " | ".join(BUFFERS) + " |",
                  "|---|" + "---|" * len(BUFFERS)]  # fmt: skip
        for size in sorted({size for sizes in BUFFERS.values() for size in sizes}):
            there = {way for way in BUFFERS if rows.values("log_s", buffer=size, by=way)}
            rates = [f"{self.rate(rows, 'log_s', buffer=size, by=way):,.0f}" if way in there else "–"
                     for way in BUFFERS]  # fmt: skip
            lines.append(f"| {size // KIB:,} KiB | " + " | ".join(rates) + " |")
        return lines

    def draw(self, rows, pyplot):
        figure, panels = pyplot.subplots(2, 2, figsize=(11, 8), layout="constrained")
        self.draw_rates(rows, pyplot, panels[0, 0], "write", "log_s", "file_s")
        self.draw_rates(rows, pyplot, panels[0, 1], "read", "read_s", "read_again_s")
        self.draw_shares(rows, pyplot, panels[1, 0])
        self.draw_buffers(rows, pyplot, panels[1, 1])
        for axes in panels.flat:
            axes.grid(axis="y", color="#dddddd", linewidth=0.5)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=4, fontsize=8, frameon=False, loc="outside upper center")
        return figure

    def draw_rates(self, rows, pyplot, axes, title, key, after_close):
        """Bars, and black marks for what includes the close."""
        width = 0.8 / len(WAYS)
        for number, way in enumerate(WAYS):
            names = [name for name in self.patterns if rows.values(key, pattern=name, by=way)]
            at = [self.patterns.index(name) + (number - len(WAYS) / 2 + 0.5) * width for name in names]
            axes.bar(at, [self.rate(rows, key, pattern=name, by=way) for name in names], width,
                     color=pyplot.cm.tab10(number), label=way)  # fmt: skip
            axes.plot(at, [self.rate(rows, after_close, pattern=name, by=way) for name in names], "k_", markersize=8,
                      label="complete file; read after the close" if number == len(WAYS) - 1 else None)  # fmt: skip
        figures.log_scale(axes)
        axes.set_xticks(range(len(self.patterns)), self.patterns, fontsize=9)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_ylabel("MB/s, all ranks")

    def draw_shares(self, rows, pyplot, axes):
        sources = {"ROMIO, not in the file": self.traced_shares, "pmio two-phase, not in the file": self.engine_shares,
                   "steps of two-phase I/O: messages": self.step_shares}  # fmt: skip
        place, ticks = 0, []
        for number, (label, shares) in enumerate(sources.items()):
            try:
                found = shares(rows)
            except LookupError:
                continue
            at = range(place, place + len(found))
            axes.bar(at, [100 * share for share in found.values()], 0.7, color=pyplot.cm.Set2(number), label=label)
            ticks += zip(at, found)
            place += len(found) + 1
        axes.axhline(91, color="k", linewidth=0.8, linestyle=":", label="the paper: up to 91 %")
        axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks], rotation=30, ha="right", fontsize=8)
        axes.set_ylim(0, 135)
        axes.set_yticks(range(0, 101, 20))
        axes.set_title("share of the time of collective writes", loc="left", fontsize=10)
        axes.set_ylabel("%")
        axes.legend(fontsize=8, frameon=False, loc="upper left", ncols=2)

    def draw_buffers(self, rows, pyplot, axes):
        for way, sizes in BUFFERS.items():
            color = pyplot.cm.tab10(list(WAYS).index(way))
            there = [size for size in sizes if rows.values("log_s", buffer=size, by=way)]
            for key, style in (("log_s", "o-"), ("file_s", "x:")):
                axes.plot([size / MIB for size in there], [self.rate(rows, key, buffer=size, by=way) for size in there],
                          style, color=color, label=way if key == "log_s" else None)  # fmt: skip
        sizes = sorted({size for sizes in BUFFERS.values() for size in sizes})
        axes.set_xscale("log", base=2)
        axes.set_xticks([size / MIB for size in sizes], [f"{size / MIB:g}" for size in sizes])
        figures.log_scale(axes)
        axes.set_ylim(top=axes.get_ylim()[1] * 2)  # for the legend
        axes.set_xlabel("buffer of an aggregator, or log of a rank, MiB")
        axes.set_title("write, tiles in calls of 16 MiB; dotted: complete file", loc="left", fontsize=10)
        axes.set_ylabel("MB/s, all ranks")
        axes.legend(fontsize=8, frameon=False, loc="upper left", ncols=3)
