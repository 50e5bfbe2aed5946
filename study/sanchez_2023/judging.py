"""The paper's claims, and whether they hold."""

import itertools
from statistics import median

import claims
import compare
from shown import listed

from .workload import (
    BUFFERS,
    CONTIGUOUS,
    INDEPENDENT,
    INDEX_MEMORY,
    LOG,
    NAIVE,
    NONCONTIG,
    PATTERNS,
    PAUSES,
    PMIO,
    RANKS,
    ROMIO,
    TWOPHASE,
)

NEAR = 2  # a factor of the paper is met by half of it
ALIKE = 1.25


def claims_of(results):
    """A claim whose runs have failed is not tested."""
    found = [claims.judged(section, quote, lambda judge=judge: judge(results)) for section, quote, judge in judged()]
    return [*found, *beyond()]


def judged():
    return [
        ("1", "the communication time of data shuffling accounts for up to 91% of the execution time of the "
         "collective I/Os in the MPICH library", share_of_shuffling),
        ("1", "the communication overhead dominates the performance of collective I/O", shuffling_dominates),
        ("1", "leading to an excessive amount of data shuffling when the buffer size is significantly smaller than "
         "the size of file domains to be accessed", small_buffers),
        ("2", "to eliminate random accesses and explore the high bandwidth of persistent memory", sequential),
        ("2", "we can safely increase the size of the collective I/O buffer to exploit higher I/O efficiency",
         large_logs),
        ("2", "All log merging is executed asynchronously in the background", in_background),
        ("2", "if the requested data are available in the L0+L1 buffers, they are returned immediately. Otherwise, "
         "they are served from parallel file systems", reads_of_log),
        ("2", "The index can be dynamically partitioned and placed in DRAM or persistent memory according to the "
         "memory demand of applications", index),
        ("3", "we assume the emulated PM has the same performance as DRAM", medium),
        ("3", "the write throughput of PMIO is 121X and 117X higher than ROMIO and Naive-PM, respectively",
         lambda results: throughput(results, "log_s", {ROMIO: 121, NAIVE: 117})),
        ("3", "This is because PMIO avoids data shuffling among processes on compute servers and removes the "
         "communication overhead", because_of_shuffling),
        ("3", "the read throughput of PMIO is 100X and 151X higher than ROMIO and Naive-PM, respectively",
         lambda results: throughput(results, "read_s", {ROMIO: 100, NAIVE: 151})),
        ("3", "PMIO works for representative benchmarks and I/O kernels using HDF5", works),
        ("4", "Compared to ROMIO collective I/Os using DRAM and PMEM as the collective buffers, PMIO improves the "
         "I/O throughput by up to 122X", complete_file),
    ]  # fmt: skip


def beyond():
    return [
        claims.untested("2", "It can recover the data by replaying log items in the metadata logs",
                        "a study of times kills no job; this project's tests of recovery do"),
        claims.untested("2", "On the I/O servers, the data from different compute servers are merged by operating "
                        "systems again before writing to disks", "one node and one local file system are here"),
    ]  # fmt: skip


def share_of_shuffling(results):
    traced, steps, engine = results.traced_shares(), results.step_shares(), results.engine_shares()
    holds = max(traced.values()) >= 0.91 and max(*steps.values(), *engine.values()) > 0.5
    return holds, (
        f"ROMIO, outside of writing to the file: {listed(traced, '{:.0%}')}; this has its lists of pieces in it, "
        f"so it is an upper bound. Messages only, by the steps of two-phase I/O: {listed(steps, '{:.0%}')}. "
        f"pmio's two-phase engine, outside of the file: {listed(engine, '{:.0%}')}")  # fmt: skip


def shuffling_dominates(results):
    shares = results.traced_shares()
    return median(shares.values()) > 0.5, (
        f"of ROMIO's time, outside of writing to the file: {listed(shares, '{:.0%}')}; more than half "
        "in the median would do")  # fmt: skip


def small_buffers(results):
    holds, words = True, []
    for way in (ROMIO, NAIVE):
        small, *_, large = (results.values("log_s", buffer=size, by=way) for size in BUFFERS[way])
        holds = holds and compare.is_less(large, small)
        words.append(f"{way} {median(small) / median(large):.1f}")
    return holds, "64 KiB over 16 MiB of buffers, in calls of 16 MiB, times as long: " + ", ".join(words)


def sequential(results):
    lost = {}
    for way in (LOG, ROMIO, INDEPENDENT):
        fast, slow = (results.rate("log_s", pattern=name, by=way) for name in (CONTIGUOUS, NONCONTIG))
        lost[way] = fast / slow
    return lost[LOG] < NEAR and lost[LOG] < lost[ROMIO], (
        f"pieces of 8 bytes are written slower than 1 MiB at once by a factor of: {listed(lost, '{:.1f}')}; "
        f"up to {NEAR} counts as none")


def large_logs(results):
    small, *_, large = (results.values("log_s", buffer=size, by=LOG) for size in BUFFERS[LOG])
    complete = [results.median("file_s", buffer=size, by=LOG) for size in (BUFFERS[LOG][0], BUFFERS[LOG][-1])]
    return compare.is_less(large, small), (
        f"a log of 128 MiB for each rank over one of 1 MiB: to the log {median(small) / median(large):.1f} times as "
        f"fast, to the complete file {complete[0] / complete[1]:.1f} times")  # fmt: skip


def in_background(results):
    at_once, later = (results.values("close_s", pause=pause) for pause in PAUSES)
    return compare.is_less(later, at_once), (
        f"the close takes {median(at_once) * 1e3:.1f} ms behind the last write, and "
        f"{median(later) * 1e3:.1f} ms after {PAUSES[1]} s of computing")  # fmt: skip


def reads_of_log(results):
    gains = {}
    for name in results.of_paper:
        log, file = (results.median(key, pattern=name, by=LOG) for key in ("read_s", "read_again_s"))
        gains[name] = file / log
    shares = {}
    for name in results.of_paper:
        log, file = (results.median(key, source=name) for key in ("log_bytes", "file_bytes"))
        shares[name] = log / (log + file)
    return min(shares.values()) > 0.5, (
        f"of what is read before the close, from the logs: {listed(shares, '{:.0%}')}; pmio drains meanwhile. "
        f"Reads of the file after the close take, over those: {listed(gains, '{:.2f}')}. "
        "The page cache serves them here")  # fmt: skip


def index(results):
    dram, log = (results.values("read_s", index=size) for size in INDEX_MEMORY)
    ratio = median(log) / median(dram)
    return ratio < NEAR, (
        "irregular pieces of 8 bytes: with 64 KiB of DRAM for the index, and the rest of it in the log's medium, "
        f"reads take {ratio:.2f} of the time; less than {NEAR} would do")  # fmt: skip


def medium(results):
    differ, ratios = [], {}
    for name, key in itertools.product(results.of_paper, ("log_s", "read_s")):
        dram, pmem = (results.values(key, pattern=name, by=way) for way in (TWOPHASE, NAIVE))
        ratios[f"{name} {'read' if key == 'read_s' else 'write'}"] = median(pmem) / median(dram)
        if compare.mann_whitney(dram, pmem).p < compare.LEVEL:
            differ.append(name)
    alike = 1 / ALIKE < median(ratios.values()) < ALIKE
    return alike and len(differ) <= 1, (
        "pmio's two-phase engine with buffers in the log's medium, over those in DRAM: "
        f"{listed(ratios, '{:.2f}')}; {len(differ)} of {len(ratios)} differ (Mann-Whitney), where one may by "
        "chance. The medium is tmpfs, as in the paper")  # fmt: skip


def throughput(results, key, wanted):
    """Of the log, over these ways: the paper's factors, as an order of magnitude."""
    found = {way: results.factors(way, LOG, key) for way in wanted}
    best = {way: max(factors.values()) for way, factors in found.items()}
    default = {way: max(results.factors(way, PMIO, key).values()) for way in wanted}
    plain = max(results.factors(INDEPENDENT, LOG, key).values())
    return all(best[way] >= wanted[way] / NEAR for way in wanted), (
        "; ".join(f"over {way}: {listed(factors, '{:.1f}')}" for way, factors in found.items())
        + f". At most, with pmio's default: {listed(default, '{:.1f}')}; over independent calls: {plain:.1f}. "
        f"Half of the paper's factor would do. {RANKS} ranks on one node shuffle by shared memory"
    )


def because_of_shuffling(results):
    outside, parts = results.outside(), {}
    for name in results.of_paper:
        romio, log = (results.median("log_s", pattern=name, by=way) for way in (ROMIO, LOG))
        if log < romio:
            parts[name] = min(1, outside[name] / (romio - log))
    explained = sum(part > 0.5 for part in parts.values())
    return explained > len(results.of_paper) / 2, (
        f"the log is faster in {len(parts)} of {len(results.of_paper)} patterns; of ROMIO's delay there, so much is "
        f"outside of writing to the file: {listed(parts, '{:.0%}')}")


def works(results):
    failed = [row for row in results.rows.failed() if row["cell"].get("pattern") in results.of_paper
              and row["cell"].get("by") in (LOG, PMIO)]  # fmt: skip
    hdf5 = [name for name in results.of_paper if PATTERNS[name].program == "hdf5"]
    if not hdf5:
        raise LookupError("this build has no HDF5")
    if failed:
        names = sorted({f"{row['cell']['pattern']} by {row['cell']['by']}" for row in failed})
        return False, f"{len(failed)} runs of pmio have failed: {', '.join(names)}"
    ratios = {name: factor for name, factor in results.factors(ROMIO, LOG, "log_s").items() if name in hdf5}
    return True, (
        "no run of pmio has failed, and the benchmark checks every byte; ROMIO takes, "
        f"over pmio's log: {listed(ratios, '{:.1f}')}. The text names no kernels; these are like them")


def complete_file(results):
    found = {way: results.factors(way, LOG, "file_s") for way in (ROMIO, NAIVE)}
    default = results.factors(ROMIO, PMIO, "file_s")
    best = max(factor for factors in found.values() for factor in factors.values())
    words = "; ".join(f"over {way} {listed(factors, '{:.1f}')}" for way, factors in found.items())
    return best >= 122 / NEAR, (
        f"until the file is complete: {words}"
        f"; pmio's default over {ROMIO}: {listed(default, '{:.1f}')}. The paper's figure may be of the log alone")
