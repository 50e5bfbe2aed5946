#!/usr/bin/env python3
"""What it costs that pmio decides by itself where bytes go, in a call and at an open: by default, and with each decision
made beforehand so that the bytes go the same way. One rank, a warm log, writes of 1,312 bytes in turn through a view.

  bench/decisions.py --mpi mpich-5.0.2 --repetitions 21 --json results.json
"""

import statistics
from pathlib import Path

from pmiolab import command_line, mpi_jobs, mpi_libraries, places, tables

BLOCK, CALLS = 1312, 20_000
MADE = {"PMIO_MODE": "log", "PMIO_DIRECT_FROM": "off", "PMIO_GATHER": "off"}
CONTESTANTS = {"made": MADE, "decides": {}}


def run(options, settings, scratch):
    """(microseconds of the open and the view, nanoseconds of a call)."""
    words = [places.benchmark(options.build, "mpiio", options.mpi), "--file", Path(scratch, "file"), "--block", BLOCK,
             "--bytes", BLOCK * CALLS, "--warm", "--independent"]  # fmt: skip
    settings = {"PMIO_DIR": options.log_dir, "PMIO_LOG_SIZE": "256M", **settings}
    [times] = mpi_jobs.measure(options.mpi, 1, words, name="pmio", settings=settings, preload=[options.mpi.runtime],
                               timeout=options.timeout)  # fmt: skip
    return {"open_us": 1e6 * times["open_s"], "call_ns": 1e9 * times["write_s"] / CALLS}


def main():
    parser = command_line.benchmark_parser(__doc__, repetitions=21, timeout=120)
    command_line.add_work(parser)
    command_line.add_log_directory(parser)
    options = parser.parse_args()
    options.mpi = mpi_libraries.choose(options.build, options.mpi)
    runs = {name: [] for name in CONTESTANTS}
    with places.temporary("bench-decisions", options.work) as scratch:
        for _ in range(options.repetitions):
            for name, settings in CONTESTANTS.items():
                runs[name].append(run(options, settings, scratch))
    results = []
    for what in ("open_us", "call_ns"):
        medians = {name: statistics.median(one[what] for one in runs[name]) for name in CONTESTANTS}
        added = statistics.median(own[what] - made[what] for own, made in zip(runs["decides"], runs["made"]))
        results.append({"what": what, **medians, "added": added})
    rows = [[each["what"], *(f"{each[name]:.0f}" for name in (*CONTESTANTS, "added"))] for each in results]
    tables.print_table(["medians", *CONTESTANTS, "added, by pairs"], rows)
    tables.write_json(options.json, {"mpi": options.mpi.tag, "results": results, "runs": runs})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
