#!/usr/bin/env python3
"""What pmio adds to calls that it does not speed up: to those that it hands on, and to reads of files that
nobody wrote.

Plain and under pmio take turns, one process each. The medians of their nanoseconds per call are compared,
each itself a median of batches of 100 calls, so that other work on the machine counts for little.

  bench/calls.py --mpi mpich-5.0.2 --repetitions 11 --json results.json
"""

import statistics
import sys
from pathlib import Path

from pmiolab import command_line, mpi_jobs, mpi_libraries, places, tables

LIMIT_NS = 1000
CONTESTANTS = ("plain", "pmio")


def run(options, mpi, contestant, scratch):
    """{call: nanoseconds}."""
    pmio = contestant == "pmio"
    settings = {"PMIO_DIR": scratch / "logs", "PMIO_LOG_SIZE": "64M"} if pmio else {}
    words = [places.benchmark(options.build, "calls", mpi), scratch / "file", "--calls", options.calls]
    [times] = mpi_jobs.measure(mpi, 1, words, name=contestant, settings=settings, preload=[mpi.runtime] if pmio else [],
                               timeout=options.timeout)  # fmt: skip
    return times


def compare(times):
    """The medians of both contestants by call, and what pmio adds."""
    results = []
    for call in times["plain"][0]:
        plain, pmio = (statistics.median(one[call] for one in times[contestant]) for contestant in CONTESTANTS)
        results.append({"call": call, "plain_ns": plain, "pmio_ns": pmio, "added_ns": pmio - plain})
    return results


def parse_options():
    parser = command_line.benchmark_parser(__doc__, repetitions=11, timeout=120)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument(
        "--work", default="/dev/shm", type=Path, help="where the files are: in memory, to see the calls alone"
    )
    return parser.parse_args()


def main():
    options = parse_options()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    times = {contestant: [] for contestant in CONTESTANTS}
    with places.temporary("bench", options.work) as scratch:
        for _ in range(options.repetitions):
            for contestant in CONTESTANTS:
                times[contestant].append(run(options, mpi, contestant, scratch))
    results = compare(times)
    print(f"{mpi.tag}, 1 process, medians of {options.repetitions} in turn, ns per call")
    rows = [(r["call"], f"{r['plain_ns']:.0f}", f"{r['pmio_ns']:.0f}", f"{r['added_ns']:+.0f}",
             "" if r["added_ns"] < LIMIT_NS else "TOO MUCH") for r in results]  # fmt: skip
    tables.print_table(("call", "plain", "pmio", "added", ""), rows)
    tables.write_json(options.json, {"mpi": mpi.tag, "results": results, "all_ns": times})
    return 0 if all(r["added_ns"] < LIMIT_NS for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
