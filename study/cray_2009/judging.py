"""The paper's claims, and whether they hold."""

from statistics import median

import claims
import compare
from shown import listed

from .workload import AGGREGATORS, ALIGNED, ALL, BENCHMARKS, DUMP_RANKS, ENGINE, WAYS

DIFFER = 1.5  # medians that are farther apart differ by more than a reader would call alike


def claims_of(results):
    return [*of_posix(results), *of_alignments(results), *of_records(results), *of_dumps(results),
            *of_writers(results), *of_all(results), *of_stripes()]  # fmt: skip


def by_label(numbers, form):
    """numbers: by way."""
    return listed({WAYS[way].label: number for way, number in numbers.items()}, form)


def told(results, benchmark, ways):
    return by_label({way: results.rate(benchmark, way) for way in ways}, "{:,.0f}") + " MiB/s"


def told_factors(results, factors, one, other):
    return ", ".join(f"{factor:.2f} times the rate with benchmark {name} (p = {results.p(name, one, other):.2f})"
                     for name, factor in factors.items())  # fmt: skip


def of_posix(results):
    alike = results.factors("12", "independent", "posix")
    apart = results.factors("12", "files", "posix")
    return [
        claims.held("Read and Write Process Flows",
                    "POSIX I/O and MPI independent I/O usually perform almost identically",
                    all(1 / DIFFER < factor < DIFFER for factor in alike.values()),
                    f"independent calls reach {told_factors(results, alike, 'independent', 'posix')}; "
                    f"alike is up to {DIFFER} times. A Python program stands for POSIX"),
        claims.held("Benchmark 1", "POSIX file-per-process mode is not shown, but it would perform better than "
                    "shared-file mode", all(results.is_faster(name, "files", "posix") for name in apart),
                    f"a file each reaches {told_factors(results, apart, 'files', 'posix')}"),
    ]  # fmt: skip


def of_alignments(results):
    conflicts = {way: results.count("in_call", "1", way) for way in ENGINE}
    over = {way: results.count("shared", "1", way) for way in ENGINE}
    all_over = {way: [results.count("shared", name, way) for name in BENCHMARKS if way in BENCHMARKS[name].ways]
                for way in ALIGNED}  # fmt: skip
    in_calls = [results.count("in_call", name, "1") for name in ("1", "2", "4")]
    stripes, blocks = (results.count(key, "1", "0") for key in ("stripes", "shared_blocks"))
    times = [results.rows.values("file_ms", benchmark="1", way=way) for way in ("2", "none")]
    file_ms = [median(values) for values in times]
    far = results.factors(("apart",), "2", "none")["apart"]
    return [
        claims.held("Alignment 0", "It is inefficient when the division of workload results in multiple "
                    "aggregators referencing the same physical I/O block",
                    blocks > 0 and results.is_faster("1", "none", "0"),
                    f"benchmark 1: {blocks:.0f} blocks of 64 KiB and {over['0']:.0f} of {stripes:.0f} stripes "
                    f"have two writers; {told(results, '1', ('none', '0'))}"),
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
                    f"benchmark 1, stripes with several writers in one call: {by_label(conflicts, '{:.0f}')}; system "
                    f"I/O time of all ranks {file_ms[0]:.0f} ms, without buffering {file_ms[1]:.0f} ms "
                    f"(p = {compare.mann_whitney(*times).p:.2f}). No lock of a stripe is here to wait for"),
        claims.held("Alignment 2", "the overhead associated with this algorithm can in some cases exceed the "
                    "system I/O time saved by using this method. This is the case if each PE is writing small "
                    "(relative to stripe size) segments of data and the offsets for all PEs data are spread far "
                    "apart", results.is_faster("apart", "none", "2"),
                    f"10,000 bytes in regions far apart: {told(results, 'apart', ('none', '2'))}, {far:.2f} "
                    f"times; p = {results.p('apart', 'none', '2'):.2f}"),
    ]  # fmt: skip


def of_records(results):
    one, large = (results.factors((name,), "2", "none")[name] for name in ("1", "large"))
    two = {way: results.factors("2", way, "none")["2"] for way in ALIGNED}
    ways = ("posix", "mpich", *ENGINE)
    smaller = of_ways(results, ways)
    shares = {name: exchange_share(results, name) for name in ("1", "2")}
    return [
        claims.held("Benchmark 1", "greatly benefits from collective buffering that aligns the POSIX I/O with the "
                    "Lustre stripe boundaries", one > DIFFER,
                    f"{told(results, '1', ('mpich', *ENGINE))}; alignment 2 reaches {one:.2f} times the rate "
                    f"(p = {results.p('1', '2', 'none'):.2f}), the paper's 3.9 times"),
        claims.held("Benchmark 2", "smaller record I/O will perform less well",
                    all(factor < 1 for factor in smaller.values()),
                    f"rates of 10,000 over 1,000,000 bytes: {by_label(smaller, '{:.2f}')}"),
        claims.held("Benchmark 2", "collective buffering with alignment algorithms 1 and 2 help",
                    all(results.is_faster("2", way, "none") for way in "12"),
                    f"{told(results, '2', ('mpich', *ENGINE))}; alignment 0 {two['0']:.2f}, 1 {two['1']:.2f}, "
                    f"2 {two['2']:.2f} times the rate; the paper's 0.3, 1.6 and 1.9 times"),
        claims.held("Benchmark 2", "The overhead of exchanging the metadata for many small records is what keeps "
                    "the benefit from being greater", shares["2"] > max(0.5, shares["1"]),
                    f"exchanging and waiting take {shares['2']:.0%} of what they and system writes take, with "
                    f"records of 1,000,000 bytes {shares['1']:.0%}. Data are exchanged in that time, too"),
        claims.held("Data Access Patterns", "With contiguous, large (relative to file stripe size) record I/O, "
                    "collective buffering generally does not help that much", large < DIFFER,
                    f"records of 8 MiB: {told(results, 'large', ('none', '2'))}, {large:.2f} times"),
    ]  # fmt: skip


def of_ways(results, ways):
    """Rates of small records over those of large ones."""
    return {way: results.rate("2", way) / results.rate("1", way) for way in ways}


def exchange_share(results, name):
    exchange, file = (results.count(key, name, "2") for key in ("exchange_ms", "file_ms"))
    return exchange / (exchange + file)


def of_dumps(results):
    few, many = f"3 of {DUMP_RANKS[0]}", f"3 of {DUMP_RANKS[-1]}"
    falls = {way: results.rate(many, way) / results.rate(few, way) for way in ("mpich", "none")}
    helped = {way: results.factors(ALL["3"], way, "none") for way in ALIGNED}
    all_helped = all(results.is_faster(name, way, "none") for way in ALIGNED for name in ALL["3"])
    locks = [results.count("more", name, "none") for name in (few, many)]
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


def of_writers(results):
    writers = {way: results.count("writers", "4", way) for way in ("mpich", *ENGINE)}
    length, record = results.count("longest", "2", "2"), BENCHMARKS["2"].record
    return [
        claims.held("Benchmark 4", "a subset of the PEs (88) do the writes. With collective buffering, this is "
                    "further reduced to 22 aggregators",
                    all(writers[way] <= AGGREGATORS for way in ALIGNED) and writers["mpich"] > AGGREGATORS,
                    f"ranks with system writes: {by_label(writers, '{:.0f}')}"),
        claims.held("Data Access Patterns", "If the `len` in the `W_rec` and `R_rec` lines are greater than the "
                    "`len` in the `WCreC` or `RCreC` lines, then collective buffering successfully merged two or "
                    "more segments of data from separate PEs", length > record,
                    f"the longest system write of benchmark 2 has {length:,.0f} bytes, a rank's record {record:,}"),
    ]  # fmt: skip


def of_all(results):
    """Who is fastest of the four modes in each benchmark."""
    names = [name for of_number in ALL.values() for name in of_number]
    best = {name: max(ENGINE, key=lambda way: results.rate(name, way)) for name in names}
    first = sum(way == "2" for way in best.values())
    over = results.factors("2", "over calls", "2")["2"]
    whole = [results.count("whole", "2", way) for way in ("2", "over calls")]
    return [
        claims.held("Conclusions", "Collective buffering alignment algorithm 2 offers the greatest potential for "
                    "improving I/O performance", first > len(names) / 2,
                    f"it is the fastest of pmio's four modes in {first} of {len(names)} cases: " +
                    ", ".join(f"benchmark {name}: {WAYS[way].label}" for name, way in best.items())),
        claims.held("Future Work", "performance would improve if the aggregator can safely hold on to the data "
                    "until either the buffer is full or it must send it to the file system for some other reason",
                    results.is_faster("2", "over calls", "2"),
                    f"buffered over calls, benchmark 2 reaches {over:.2f} times the rate "
                    f"(p = {results.p('2', 'over calls', '2'):.2f}); writes of whole stripes have "
                    f"{whole[1]:.0%} of the bytes instead of {whole[0]:.0%}"),
    ]  # fmt: skip


def of_stripes():
    return [
        claims.untested("Collective Buffering Hints", "Generally the greater the number of stripes, the greater "
                        "the performance", "no file system with stripes is here; hints only say who writes what"),
        claims.untested("Collective Buffering Hints", "A stripe size of 1 MiB is generally optimal for Lustre file "
                        "systems on Cray XT systems", "likewise"),
    ]  # fmt: skip
