#!/usr/bin/env python3
"""What collective buffering makes of Cray's benchmarks 1 and 2, scaled down: which system writes reach the file.

Four ranks, all of them aggregators, write records of 1,000,000 or 10,000 bytes one behind the other, one of each
rank in a call, to 16 stripes of 1 MiB. Counted are the system writes that pmio tells of (PMIO_STATS=2), with each
alignment, and with buffering over calls: how many, how long, what share of the bytes in writes of whole stripes
alone, and how many stripes more than one rank has written, in one call and in all of them. Nothing is timed. Every
byte is checked.

ROMIO's metadata are computed from its source (adio/common/ad_write_coll.c): each rank tells all others the range of
its call, each aggregator the number of its pieces there, and the offset and length of each piece.

  bench/aggregators.py --mpi mpich-5.0.2 --json results.json
  bench/aggregators.py --check           ends with 1 if a count is not as it must be
"""

import itertools
import re
import statistics
from collections import defaultdict

from pmiolab import command_line, mpi_jobs, mpi_libraries, places, tables

RANKS = 4
STRIPE, STRIPES = 1 << 20, 16
BENCHMARKS = {"1": (1_000_000, 64), "2": (10_000, 1600)}  # bytes of a record, calls
QUICK = [("1", "off"), ("2", "off"), ("2", "on")]  # alignment and buffering
LEAST_WHOLE = 0.95  # of the bytes, with buffering
WRITE = re.compile(r"PE=(\d+)\s+W_rec=\d+\s+off=(\d+)\s+len=(\d+)")


def writes_of(options, mpi, record, calls, alignment, buffering):
    """The system writes of a run: (rank, offset, length)."""
    with places.temporary("aggregators", options.work) as scratch, places.temporary("logs", places.memory()) as logs:
        hints = f"*:romio_cb_write=enable:cb_nodes={RANKS}:striping_unit={STRIPE}:striping_factor={STRIPES}"
        settings = {
            "PMIO_DIR": logs,
            "PMIO_LOG_SIZE": "256M",
            "PMIO_MODE": "twophase",
            "PMIO_STATS": "2",
            "PMIO_CB_ALIGN": alignment,
            "PMIO_CB_BUFFERING": buffering,
            "MPICH_MPIIO_HINTS": hints,
        }
        words = [places.benchmark(options.build, "mpiio", mpi), "--file", scratch / "target"]
        words += ["--block", record, "--bytes", record * calls]
        ended = mpi_jobs.run(mpi, RANKS, words, settings=settings, preload=[mpi.runtime], timeout=options.timeout)
    if ended.code != 0:
        raise SystemExit(f"alignment {alignment}, buffering {buffering}: {ended.how}\n{ended.output}")
    return [tuple(int(number) for number in found) for found in WRITE.findall(ended.output)]


def shared_stripes(writes):
    """How many stripes more than one rank has written."""
    ranks = defaultdict(set)
    for rank, offset, length in writes:
        for stripe in range(offset // STRIPE, (offset + length - 1) // STRIPE + 1):
            ranks[stripe].add(rank)
    return sum(len(those) > 1 for those in ranks.values())


def romio_metadata_bytes(record):
    """That a rank sends for a call, whose bytes are in one piece: what the ranges of aggregators divide of it."""
    pieces = max(1, record // STRIPE + 1)
    return 2 * 8 * (RANKS - 1) + 4 * (RANKS - 1) + 16 * pieces


def result_of(options, mpi, benchmark, alignment, buffering):
    record, calls = BENCHMARKS[benchmark]
    calls //= options.divide
    all_calls = writes_of(options, mpi, record, calls, alignment, buffering)
    one_call = writes_of(options, mpi, record, 1, alignment, buffering)
    lengths = [length for _, _, length in all_calls]
    whole = sum(length for _, offset, length in all_calls if offset % STRIPE == 0 and length % STRIPE == 0)
    return {
        "benchmark": benchmark,
        "record_bytes": record,
        "calls": calls,
        "alignment": alignment,
        "buffering": buffering,
        "bytes": sum(lengths),
        "writes": len(lengths),
        "median_bytes": statistics.median(lengths),
        "longest_bytes": max(lengths),
        "whole_share": whole / sum(lengths),
        "shared_in_a_call": shared_stripes(one_call),
        "shared_in_all_calls": shared_stripes(all_calls),
        "romio_metadata_bytes": romio_metadata_bytes(record),
    }


def complaints_about(result):
    """What is not as it must be."""
    name = f"benchmark {result['benchmark']}, alignment {result['alignment']}, buffering {result['buffering']}"
    expected = {
        "each byte is written once": result["bytes"] == result["record_bytes"] * result["calls"] * RANKS,
        "no stripe is shared in a call": result["alignment"] == "0" or result["shared_in_a_call"] == 0,
        "no stripe is shared in any calls": result["alignment"] != "2" or result["shared_in_all_calls"] == 0,
        "whole stripes": result["buffering"] == "off" or result["whole_share"] >= LEAST_WHOLE,
    }
    return [f"{name}: not so: {what}" for what, holds in expected.items() if not holds]


def show(results):
    heads = ("benchmark", "alignment", "buffering", "writes", "median bytes", "whole stripes", "shared: a call", "all")
    rows = [
        (
            result["benchmark"],
            result["alignment"],
            result["buffering"],
            result["writes"],
            f"{result['median_bytes']:,.0f}",
            f"{100 * result['whole_share']:.1f} %",
            result["shared_in_a_call"],
            result["shared_in_all_calls"],
        )
        for result in results
    ]
    tables.print_table(heads, rows)


def main():
    parser = command_line.benchmark_parser(__doc__, repetitions=1, timeout=120)
    parser.add_argument("--check", action="store_true", help="fail if a count is not as it must be")
    parser.add_argument("--quick", action="store_true", help="without those ways for which nothing is demanded")
    parser.add_argument("--divide", type=int, default=1, help="the number of calls by this")
    parser.add_argument("--benchmark", action="append", choices=sorted(BENCHMARKS), help="only this one")
    parser.add_argument("--work", help="where the file and the logs are; default: the temporary directory")
    options = parser.parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    ways = QUICK if options.quick else itertools.product("012", ("off", "on"))
    chosen = [(benchmark, *way) for way in ways for benchmark in options.benchmark or BENCHMARKS]
    results = [result_of(options, mpi, *one) for one in chosen]
    show(results)
    tables.write_json(options.json, {"mpi": mpi.tag, "ranks": RANKS, "results": results})
    wrong = [complaint for result in results for complaint in complaints_about(result)]
    print("\n".join(wrong))
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
