"""Knaak and Oswald, "Optimizing MPI-IO for Applications on Cray XT Systems" (Cray Inc., 2009).

How many stripes does more than one process write, by collective buffering with each alignment and without it?
Which of them is faster? Benchmarks 1 to 4, scaled down to one node.

No Lustre is here, and a local file system does not lock stripes. Hints give the stripes, and conflicts are counted.
Rates are those of the page cache. Alignments are those of pmio's collective buffering. MPICH's own is alignment 0,
or with `striping_unit` alignment 1.
"""

import itertools
import re
import shutil
from collections import defaultdict
from statistics import median
from typing import NamedTuple

import claims
import compare
import posix_io
from pmiolab import contestants, figures, mpi_jobs, mpi_libraries, places, quiet

MPI = "mpich-5.0.2"
RANKS, AGGREGATORS = 2, 2
STRIPE, STRIPES = 1 << 20, 16
BLOCK = 64 << 10  # what the paper calls a physical I/O block
DUMP_RANKS, VARIABLE = (2, 4, 8), 2_048_000  # bytes of all ranks: 256,000 of each of 8, as of the paper's 1,000
FIELD = 674_592  # of a writer: 4500 x 3298 reals, HYCOM's global grid of 1/12 degree, by 88 writers
DIFFER = 1.5  # medians that are farther apart differ by more than a reader would call alike

ALIGNED = ("0", "1", "2")
ENGINE = ("none", *ALIGNED)  # of pmio's collective buffering: the paper's four modes
# How each way differs from the plain program. pmio: its settings, if it is preloaded.
BUFFERED = ["romio_cb_write=enable", "romio_ds_write=disable", f"cb_nodes={AGGREGATORS}", "cb_config_list=*:*"]
STRIPED = [f"striping_unit={STRIPE}", f"striping_factor={STRIPES}"]
UNBUFFERED = ["romio_cb_write=disable", "romio_ds_write=disable", *STRIPED]


class Way(NamedTuple):
    label: str
    hints: tuple = ()
    pmio: dict | None = None
    independent: bool = False


def two_phase(label, hints=BUFFERED, **settings):
    return Way(label, (*hints, *STRIPED), {"PMIO_MODE": "twophase", **settings})


WAYS = {
    "posix": Way("POSIX, shared file"),
    "files": Way("POSIX, a file each"),
    "independent": Way("MPICH, independent calls", independent=True),
    "mpich": Way("MPICH, no buffering", tuple(UNBUFFERED)),
    "mpich 0": Way("MPICH, CB", tuple(BUFFERED)),
    "mpich 1": Way("MPICH, CB, striping_unit", (*BUFFERED, *STRIPED)),
    "none": two_phase("pmio, no buffering", UNBUFFERED[:2]),
    **{a: two_phase(f"pmio, CB = {a}", PMIO_CB_ALIGN=a) for a in ALIGNED},
    "over calls": two_phase("pmio, CB = 2, over calls", PMIO_CB_ALIGN="2", PMIO_CB_BUFFERING="on"),
    "log": Way("pmio, its default", tuple(STRIPED), {}),
}
WITH_FILES = tuple(WAYS)
COLLECTIVE = ("mpich", "mpich 0", "mpich 1", *ENGINE, "log")
FEW = ("mpich", "none", "2", "log")


class Benchmark(NamedTuple):
    title: str
    record: int  # bytes of a rank's call
    calls: int
    counted: int  # calls of the run whose system writes are counted
    ways: tuple
    ranks: int = RANKS
    writers: int = RANKS
    arguments: tuple = ()
    program: str = "mpiio"

    @property
    def call_bytes(self):
        """Of all ranks, if those of a call are together in the file; else 0."""
        return 0 if "--segmented" in self.arguments or self.program == "hdf5" else self.record * self.writers


def dump(ranks):
    return Benchmark(f"3: HDF5 dump, {ranks} ranks", VARIABLE // ranks, 12, 6, COLLECTIVE, ranks, ranks,
                     program="hdf5")  # fmt: skip


BENCHMARKS = {
    "1": Benchmark("1: records of 1,000,000 B", 1_000_000, 96, 32, WITH_FILES),
    "2": Benchmark("2: records of 10,000 B", 10_000, 9600, 800, WITH_FILES),
    **{f"3 of {ranks}": dump(ranks) for ranks in DUMP_RANKS},
    "4": Benchmark("4: HYCOM, 4 of 8 ranks write", FIELD, 12, 6, COLLECTIVE, 8, 4, ("--writers", 4)),
    "apart": Benchmark("Records of 10,000 B, far apart", 10_000, 3200, 800, FEW, arguments=("--segmented",)),
    "large": Benchmark("Records of 8 MiB", 8 << 20, 12, 4, FEW),
}
ALL = {"1": ("1",), "2": ("2",), "3": tuple(f"3 of {ranks}" for ranks in DUMP_RANKS), "4": ("4",)}


class Count(NamedTuple):
    """Of a run's system writes: (rank, offset, length)."""

    writes: int
    writers: int  # ranks
    longest: int  # bytes
    whole: float  # share of the bytes in writes of whole stripes alone
    stripes: int
    shared: int  # stripes that more than one rank has written
    shared_blocks: int
    more: int  # ranks of a stripe beyond its first one, of all stripes: so often a lock must go to another, at least
    in_call: int | None  # stripes that more than one rank has written in one call, of all calls; None: not known


def ranks_of(writes, unit):
    """By number, those that have written some of a stripe or block."""
    ranks = defaultdict(set)
    for rank, offset, length in writes:
        for number in range(offset // unit, (offset + length - 1) // unit + 1):
            ranks[number].add(rank)
    return ranks


def shared(writes, unit):
    return sum(len(ranks) > 1 for ranks in ranks_of(writes, unit).values())


def shared_in_calls(writes, call_bytes):
    """None if a write has bytes of several calls."""
    calls = defaultdict(list)
    for rank, offset, length in writes:
        if not call_bytes or offset // call_bytes != (offset + length - 1) // call_bytes:
            return None
        calls[offset // call_bytes].append((rank, offset, length))
    return sum(shared(of_call, STRIPE) for of_call in calls.values())


def count(writes, call_bytes):
    ranks = ranks_of(writes, STRIPE)
    whole = sum(length for _, offset, length in writes if offset % STRIPE == 0 and length % STRIPE == 0)
    return Count(len(writes), len({rank for rank, _, _ in writes}), max(length for *_, length in writes),
                 whole / sum(length for *_, length in writes), len(ranks), shared(writes, STRIPE),
                 shared(writes, BLOCK), sum(len(those) - 1 for those in ranks.values()),
                 shared_in_calls(writes, call_bytes))  # fmt: skip


# What strace(1) and pmio (PMIO_STATS=2) tell of system writes, and pmio's tables of a rank's milliseconds.
TRACED = re.compile(r"^pwrite64\(\d+<.*/target>, .*, (\d+), (\d+)\) = \d+$", re.M)
TOLD = re.compile(r"PE=(\d+)\s+W_rec=\d+\s+off=(\d+)\s+len=(\d+)")
FILE_MS = re.compile(r"^pmio:\s+\d+ \|[\s\d]+\|[\s\d]+\|\s+([\d.]+)$", re.M)
EXCHANGE_MS = re.compile(r"^pmio:\s+\d+ \|\s+([\d.]+)\s+([\d.]+) \|\s+\d+\s+\d+ \|", re.M)


class Study:
    title = "Knaak and Oswald 2009: alignment of collective buffering"

    def __init__(self, options):
        self.options, self.mpi = options, mpi_libraries.choose(options.build, MPI)
        self.counts = {}  # they do not change from repetition to repetition

    def cells(self):
        """Each is measured once in a repetition."""
        return [{"benchmark": name, "way": way} for name, benchmark in BENCHMARKS.items() for way in benchmark.ways]

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
        return count(writes, benchmark.call_bytes)._asdict()

    # --- what it shows ---

    def rates(self, rows, benchmark, way):
        """MiB/s, as in the paper, of all repetitions."""
        cell = {"benchmark": benchmark, "way": way}
        return [amount / s / places.MIB for amount, s in zip(rows.values("bytes", **cell), rows.values("s", **cell))]

    def rate(self, rows, benchmark, way):
        return median(self.rates(rows, benchmark, way))

    def number(self, rows, key, benchmark, way):
        """A count, None if it is not known."""
        found = [value for value in rows.values(key, benchmark=benchmark, way=way) if value is not None]
        return median(found) if found else None

    def factors(self, rows, benchmarks, way, over):
        """Of medians: how many times as fast as another way."""
        return {name: self.rate(rows, name, way) / self.rate(rows, name, over) for name in benchmarks}

    def told(self, rows, benchmark, ways, unit=" MiB/s"):
        return ", ".join(f"{WAYS[way].label} {self.rate(rows, benchmark, way):,.0f}" for way in ways) + unit

    def told_factors(self, rows, factors, one, other):
        return ", ".join(f"{factor:.2f} times the rate with benchmark {name} (p = {self.p(rows, name, one, other):.2f})"
                         for name, factor in factors.items())  # fmt: skip

    def is_faster(self, rows, benchmark, one, other):
        return compare.is_less(self.rates(rows, benchmark, other), self.rates(rows, benchmark, one))

    def p(self, rows, benchmark, one, other):
        return compare.mann_whitney(self.rates(rows, benchmark, one), self.rates(rows, benchmark, other)).p

    def claims(self, rows):
        return [*self.of_posix(rows), *self.of_alignments(rows), *self.of_records(rows), *self.of_dumps(rows),
                *self.of_writers(rows), *self.of_all(rows), *self.of_stripes()]  # fmt: skip

    def of_posix(self, rows):
        alike = self.factors(rows, "12", "independent", "posix")
        apart = self.factors(rows, "12", "files", "posix")
        return [
            claims.held("Read and Write Process Flows",
                        "POSIX I/O and MPI independent I/O usually perform almost identically",
                        all(1 / DIFFER < factor < DIFFER for factor in alike.values()),
                        f"independent calls reach {self.told_factors(rows, alike, 'independent', 'posix')}; "
                        f"alike is up to {DIFFER} times. A Python program stands for POSIX"),
            claims.held("Benchmark 1", "POSIX file-per-process mode is not shown, but it would perform better than "
                        "shared-file mode", all(self.is_faster(rows, name, "files", "posix") for name in apart),
                        f"a file each reaches {self.told_factors(rows, apart, 'files', 'posix')}"),
        ]  # fmt: skip

    def of_alignments(self, rows):
        conflicts = {way: self.number(rows, "in_call", "1", way) for way in ENGINE}
        over = {way: self.number(rows, "shared", "1", way) for way in ENGINE}
        all_over = {way: [self.number(rows, "shared", name, way) for name in BENCHMARKS if way in BENCHMARKS[name].ways]
                    for way in ALIGNED}  # fmt: skip
        in_calls = [self.number(rows, "in_call", name, "1") for name in ("1", "2", "4")]
        stripes, blocks = (self.number(rows, key, "1", "0") for key in ("stripes", "shared_blocks"))
        times = [rows.values("file_ms", benchmark="1", way=way) for way in ("2", "none")]
        file_ms = [median(values) for values in times]
        far = self.factors(rows, ("apart",), "2", "none")["apart"]
        return [
            claims.held("Alignment 0", "It is inefficient when the division of workload results in multiple "
                        "aggregators referencing the same physical I/O block",
                        blocks > 0 and self.is_faster(rows, "1", "none", "0"),
                        f"benchmark 1: {blocks:.0f} blocks of 64 KiB and {over['0']:.0f} of {stripes:.0f} stripes "
                        f"have two writers; {self.told(rows, '1', ('none', '0'))}"),
            claims.held("Alignment 1", "preventing more than one aggregator from making reference to any given stripe "
                        "on a single collective I/O call", not any(in_calls),
                        "stripes with several writers in one call, all calls of benchmarks 1, 2 and 4: "
                        f"{', '.join(f'{n:.0f}' for n in in_calls)}; benchmark 1 by alignment 0: {conflicts['0']:.0f}"),
            claims.held("Alignment 1", "there is no fixed association between file stripe and aggregator from one "
                        "call to the next", over["1"] > 0,
                        f"{over['1']:.0f} of {stripes:.0f} stripes of benchmark 1 have several writers in all calls"),
            claims.held("Alignment 2", "across all I/O calls each aggregator always accesses the same set of stripes "
                        "and no other aggregator accesses those stripes", not any(all_over["2"]),
                        f"{sum(all_over['2']):.0f} stripes of {len(all_over['2'])} patterns have several writers; "
                        f"of those patterns that all alignments have, by alignment 0 {sum(all_over['0']):.0f}, by "
                        f"alignment 1 {sum(all_over['1']):.0f}"),
            claims.held("Alignment 2", "it minimizes the Lustre file system extent lock contention on a single "
                        "collective call and thus reduces system I/O time",
                        conflicts["2"] == min(conflicts.values()) and compare.is_less(*times),
                        "benchmark 1, stripes with several writers in one call: " +
                        ", ".join(f"{WAYS[way].label} {n:.0f}" for way, n in conflicts.items()) +
                        f"; system I/O time of all ranks {file_ms[0]:.0f} ms, without buffering {file_ms[1]:.0f} ms "
                        f"(p = {compare.mann_whitney(*times).p:.2f}). No lock of a stripe is here to wait for"),
            claims.held("Alignment 2", "the overhead associated with this algorithm can in some cases exceed the "
                        "system I/O time saved by using this method. This is the case if each PE is writing small "
                        "(relative to stripe size) segments of data and the offsets for all PEs data are spread far "
                        "apart", self.is_faster(rows, "apart", "none", "2"),
                        f"10,000 bytes in regions far apart: {self.told(rows, 'apart', ('none', '2'))}, {far:.2f} "
                        f"times; p = {self.p(rows, 'apart', 'none', '2'):.2f}"),
        ]  # fmt: skip

    def of_records(self, rows):
        one, large = (self.factors(rows, (name,), "2", "none")[name] for name in ("1", "large"))
        two = {way: self.factors(rows, "2", way, "none")["2"] for way in ALIGNED}
        ways = ("posix", "mpich", *ENGINE)
        smaller = self.of_ways(rows, ways)
        shares = {name: self.exchange_share(rows, name) for name in ("1", "2")}
        return [
            claims.held("Benchmark 1", "greatly benefits from collective buffering that aligns the POSIX I/O with the "
                        "Lustre stripe boundaries", one > DIFFER,
                        f"{self.told(rows, '1', ('mpich', *ENGINE))}; alignment 2 reaches {one:.2f} times the rate "
                        f"(p = {self.p(rows, '1', '2', 'none'):.2f}), the paper's 3.9 times"),
            claims.held("Benchmark 2", "smaller record I/O will perform less well",
                        all(factor < 1 for factor in smaller.values()),
                        "rates of 10,000 over 1,000,000 bytes: " +
                        ", ".join(f"{WAYS[way].label} {factor:.2f}" for way, factor in smaller.items())),
            claims.held("Benchmark 2", "collective buffering with alignment algorithms 1 and 2 help",
                        all(self.is_faster(rows, "2", way, "none") for way in "12"),
                        f"{self.told(rows, '2', ('mpich', *ENGINE))}; alignment 0 {two['0']:.2f}, 1 {two['1']:.2f}, "
                        f"2 {two['2']:.2f} times the rate; the paper's 0.3, 1.6 and 1.9 times"),
            claims.held("Benchmark 2", "The overhead of exchanging the metadata for many small records is what keeps "
                        "the benefit from being greater", shares["2"] > max(0.5, shares["1"]),
                        f"exchanging and waiting take {shares['2']:.0%} of what they and system writes take, with "
                        f"records of 1,000,000 bytes {shares['1']:.0%}. Data are exchanged in that time, too"),
            claims.held("Data Access Patterns", "With contiguous, large (relative to file stripe size) record I/O, "
                        "collective buffering generally does not help that much", large < DIFFER,
                        f"records of 8 MiB: {self.told(rows, 'large', ('none', '2'))}, {large:.2f} times"),
        ]  # fmt: skip

    def of_ways(self, rows, ways):
        """Rates of small records over those of large ones."""
        return {way: self.rate(rows, "2", way) / self.rate(rows, "1", way) for way in ways}

    def exchange_share(self, rows, name):
        exchange, file = (self.number(rows, key, name, "2") for key in ("exchange_ms", "file_ms"))
        return exchange / (exchange + file)

    def of_dumps(self, rows):
        few, many = f"3 of {DUMP_RANKS[0]}", f"3 of {DUMP_RANKS[-1]}"
        falls = {way: self.rate(rows, many, way) / self.rate(rows, few, way) for way in ("mpich", "none")}
        helped = {way: self.factors(rows, ALL["3"], way, "none") for way in ALIGNED}
        all_helped = all(self.is_faster(rows, name, way, "none") for way in ALIGNED for name in ALL["3"])
        locks = [self.number(rows, "more", name, "none") for name in (few, many)]
        return [
            claims.held("Benchmark 3", "Original problem was scaling very poorly",
                        all(factor < 1 / DIFFER for factor in falls.values()),
                        f"without buffering {DUMP_RANKS[-1]} ranks reach {falls['mpich']:.2f} times the rate of "
                        f"{DUMP_RANKS[0]} with MPICH, {falls['none']:.2f} times with pmio; a lock goes to another "
                        f"rank at least {locks[0]:.0f} and {locks[1]:.0f} times. More ranks than processors "
                        "are slower anyway"),
            claims.held("Benchmark 3", "All three CB alignment algorithms helped", all_helped,
                        "rate over that without buffering, " + "; ".join(
                            f"alignment {way}: " + ", ".join(f"{factor:.2f}" for factor in of_way.values())
                            for way, of_way in helped.items()) + f" ({', '.join(map(str, DUMP_RANKS))} ranks)"),
            claims.untested("Benchmark 3", "Note that disabling data sieving was necessary",
                            "a rank's part of a variable is one piece here, and MPICH sieves only pieces with holes"),
        ]  # fmt: skip

    def of_writers(self, rows):
        writers = {way: self.number(rows, "writers", "4", way) for way in ("mpich", *ENGINE)}
        length, record = self.number(rows, "longest", "2", "2"), BENCHMARKS["2"].record
        return [
            claims.held("Benchmark 4", "a subset of the PEs (88) do the writes. With collective buffering, this is "
                        "further reduced to 22 aggregators",
                        all(writers[way] <= AGGREGATORS for way in ALIGNED) and writers["mpich"] > AGGREGATORS,
                        "ranks with system writes: " +
                        ", ".join(f"{WAYS[way].label} {number:.0f}" for way, number in writers.items())),
            claims.held("Data Access Patterns", "If the `len` in the `W_rec` and `R_rec` lines are greater than the "
                        "`len` in the `WCreC` or `RCreC` lines, then collective buffering successfully merged two or "
                        "more segments of data from separate PEs", length > record,
                        f"the longest system write of benchmark 2 has {length:,.0f} bytes, a rank's record {record:,}"),
        ]  # fmt: skip

    def of_all(self, rows):
        """Who is fastest of the four modes in each benchmark."""
        names = [name for of_number in ALL.values() for name in of_number]
        best = {name: max(ENGINE, key=lambda way: self.rate(rows, name, way)) for name in names}
        first = sum(way == "2" for way in best.values())
        over = self.factors(rows, "2", "over calls", "2")["2"]
        whole = [self.number(rows, "whole", "2", way) for way in ("2", "over calls")]
        return [
            claims.held("Conclusions", "Collective buffering alignment algorithm 2 offers the greatest potential for "
                        "improving I/O performance", first > len(names) / 2,
                        f"it is the fastest of pmio's four modes in {first} of {len(names)} cases: " +
                        ", ".join(f"benchmark {name}: {WAYS[way].label}" for name, way in best.items())),
            claims.held("Future Work", "performance would improve if the aggregator can safely hold on to the data "
                        "until either the buffer is full or it must send it to the file system for some other reason",
                        self.is_faster(rows, "2", "over calls", "2"),
                        f"buffered over calls, benchmark 2 reaches {over:.2f} times the rate "
                        f"(p = {self.p(rows, '2', 'over calls', '2'):.2f}); writes of whole stripes have "
                        f"{whole[1]:.0%} of the bytes instead of {whole[0]:.0%}"),
        ]  # fmt: skip

    def of_stripes(self):
        return [
            claims.untested("Collective Buffering Hints", "Generally the greater the number of stripes, the greater "
                            "the performance", "no file system with stripes is here; hints only say who writes what"),
            claims.untested("Collective Buffering Hints", "A stripe size of 1 MiB is generally optimal for Lustre file "
                            "systems on Cray XT systems", "likewise"),
        ]  # fmt: skip

    def table(self, rows):
        """Markdown: rates, and what the system writes are."""
        lines = ["MiB/s of all ranks, medians. Writing and closing count, opening does not; nothing is synced.", "",
                 "| | " + " | ".join(BENCHMARKS[name].title for name in BENCHMARKS) + " |",
                 "|---|" + "---|" * len(BENCHMARKS)]  # fmt: skip
        for way in WAYS:
            rates = [self.rates(rows, name, way) for name in BENCHMARKS]
            cells = " | ".join(f"{median(found):,.0f}" if found else "–" for found in rates)
            lines.append(f"| {WAYS[way].label} | {cells} |")
        lines += ["", f"System writes to stripes of {STRIPE >> 20} MiB, counted in a shorter run. Conflicts: stripes "
                  "that more than one rank has written, in one call (all calls' sum) and in all calls. MPICH's are "
                  "counted by strace, pmio's by its statistics.", "",
                  "| benchmark | way | writes | by ranks | longest, bytes | in whole stripes "
                  "| conflicts in one call | in all |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
        for name, way in itertools.product(BENCHMARKS, WAYS):
            if not self.number(rows, "writes", name, way):
                continue
            writes, writers, longest, whole, stripes, conflicts, in_call = (
                self.number(rows, key, name, way)
                for key in ("writes", "writers", "longest", "whole", "stripes", "shared", "in_call"))  # fmt: skip
            lines.append(f"| {BENCHMARKS[name].title} | {WAYS[way].label} | {writes:,.0f} | {writers:.0f} | "
                         f"{longest:,.0f} | {whole:.0%} | {'–' if in_call is None else f'{in_call:.0f}'} | "
                         f"{conflicts:.0f} of {stripes:.0f} |")  # fmt: skip
        return lines

    def draw(self, rows, pyplot):
        figure, panels = pyplot.subplots(2, 4, figsize=(18, 7.5), layout="constrained")
        for axes, name in zip((*panels[0], panels[1, 0]), ("1", "2", "apart", "large", "4")):
            self.draw_rates(rows, axes, name, pyplot)
        self.draw_dumps(rows, panels[1, 1])
        self.draw_counts(rows, panels[1, 2], "Stripes with several writers, all calls", "% of stripes",
                         lambda *cell: 100 * self.number(rows, "shared", *cell) / self.number(rows, "stripes", *cell))
        self.draw_counts(rows, panels[1, 3], "Bytes in writes of whole stripes", "% of bytes",
                         lambda *cell: 100 * self.number(rows, "whole", *cell))  # fmt: skip
        for axes in panels.flat:
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
        handles, labels = panels[1, 2].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=8, fontsize=8, frameon=False, loc="outside lower right")
        return figure

    def draw_rates(self, rows, axes, name, pyplot):
        ways = [way for way in BENCHMARKS[name].ways if self.rates(rows, name, way)]
        colors = [pyplot.cm.tab10(0 if WAYS[way].pmio is None else 1) for way in ways]
        bars = axes.barh([WAYS[way].label for way in ways], [self.rate(rows, name, way) for way in ways], color=colors)
        axes.bar_label(bars, fmt="{:,.0f}", fontsize=8, padding=2)
        axes.margins(x=0.15)
        axes.invert_yaxis()
        axes.tick_params(axis="y", labelsize=8)
        axes.set_title(("Benchmark " if name.isdigit() else "") + BENCHMARKS[name].title, loc="left", fontsize=10)
        axes.set_xlabel("MiB/s, all ranks")
        axes.grid(axis="x", color="#dddddd", linewidth=0.5)

    def draw_dumps(self, rows, axes):
        for way in COLLECTIVE:
            found = [(ranks, self.rates(rows, f"3 of {ranks}", way)) for ranks in DUMP_RANKS]
            found = [(ranks, median(rates)) for ranks, rates in found if rates]
            if found:
                axes.plot(*zip(*found), "o-" if WAYS[way].pmio is None else "s--", markersize=4, label=WAYS[way].label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(DUMP_RANKS, [str(ranks) for ranks in DUMP_RANKS])
        figures.log_scale(axes)
        axes.set_title("Benchmark 3: HDF5 dump of the same size", loc="left", fontsize=10)
        axes.set_xlabel("ranks")
        axes.set_ylabel("MiB/s, all ranks")
        axes.grid(color="#dddddd", linewidth=0.5)

    def draw_counts(self, rows, axes, title, unit, share):
        names = ("1", "2", f"3 of {DUMP_RANKS[-1]}", "4")
        width = 0.8 / len(COLLECTIVE)
        for number, way in enumerate(COLLECTIVE):
            found = [(at, share(name, way)) for at, name in enumerate(names) if self.number(rows, "writes", name, way)]
            places_of = [at + (number - len(COLLECTIVE) / 2 + 0.5) * width for at, _ in found]
            axes.bar(places_of, [value for _, value in found], width, label=WAYS[way].label)
        axes.set_xticks(range(len(names)), [name.replace(" of ", "\n") + " ranks" * ("of" in name) for name in names])
        axes.set_xlabel("benchmark")
        axes.set_ylim(0, 105)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_ylabel(unit)
        axes.grid(axis="y", color="#dddddd", linewidth=0.5)
