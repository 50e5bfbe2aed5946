#!/usr/bin/env python3
"""What it costs that pmio decides by itself where bytes go, in a call and at an open: by default, and with what it
decides made beforehand so that the bytes go the same way. One rank, writes of 1,312 bytes in turn through a view; a
job's first file, and one behind it in a warm log.

  bench/decisions.py --mpi mpich-5.0.2 --repetitions 21 --json results.json
"""

import statistics
from pathlib import Path

from pmiolab import command_line, mpi_jobs, mpi_libraries, places, tables

BLOCK, CALLS = 1312, 20_000
MADE = {"PMIO_MODE": "log", "PMIO_DIRECT_FROM": "off", "PMIO_GATHER": "off"}
CONTESTANTS = {"made": MADE, "decides": {}}
STATES = {"cold": [], "warm": ["--warm"]}


def run(options, state, settings, scratch):
    """Microseconds of the open and the view, nanoseconds of a call."""
    words = [places.benchmark(options.build, "mpiio", options.mpi), "--file", Path(scratch, "file"), "--block", BLOCK,
             "--bytes", BLOCK * CALLS, "--independent", *STATES[state]]  # fmt: skip
    settings = {"PMIO_DIR": options.log_dir, "PMIO_LOG_SIZE": "256M", **settings}
    [times] = mpi_jobs.measure(options.mpi, 1, words, name="pmio", settings=settings, preload=[options.mpi.runtime],
                               timeout=options.timeout)  # fmt: skip
    return {"open_us": 1e6 * times["open_s"], "call_ns": 1e9 * times["write_s"] / CALLS}


def compare(state, what, runs):
    medians = {name: statistics.median(one[what] for one in runs[name]) for name in CONTESTANTS}
    added = statistics.median(own[what] - made[what] for own, made in zip(runs["decides"], runs["made"]))
    return {"state": state, "what": what, **medians, "added": added}


def main():
    parser = command_line.benchmark_parser(__doc__, repetitions=21, timeout=120)
    command_line.add_work(parser)
    command_line.add_log_directory(parser)
    options = parser.parse_args()
    options.mpi = mpi_libraries.choose(options.build, options.mpi)
    runs = {state: {name: [] for name in CONTESTANTS} for state in STATES}
    with places.temporary("bench-decisions", options.work) as scratch:
        for _ in range(options.repetitions):
            for state in STATES:
                for name, settings in CONTESTANTS.items():
                    runs[state][name].append(run(options, state, settings, scratch))
    results = [compare(state, what, runs[state]) for state in STATES for what in ("open_us", "call_ns")]
    numbers = (*CONTESTANTS, "added")
    rows = [[each["state"], each["what"], *(f"{each[name]:.0f}" for name in numbers)] for each in results]
    tables.print_table(["log", "medians", *CONTESTANTS, "added, by pairs"], rows)
    tables.write_json(options.json, {"mpi": options.mpi.tag, "results": results, "runs": runs})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
