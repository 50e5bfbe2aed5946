#!/usr/bin/env python3
"""Checkpoints: a new file each, closed, and then the program computes. Seconds of I/O for each after the first.

Two ranks write blocks in turn, plain and under pmio with pmio_close=complete and background, in turns. What is
computed is a fixed amount of work: a drain that disturbs it shows in its time. A ratio is the median of those of the
runs of one repetition, with its quartiles. A run that others have disturbed is made again (pmiolab/quiet.py).

  bench/checkpoints.py --json results.json
"""

import statistics

from pmiolab import command_line, comparison, contestants, mpi_jobs, mpi_libraries, places, quiet, tables
from pmiolab.places import MIB

PATTERNS = {"1,312 B": (1312, 50 * MIB, 0.2), "1 MiB": (MIB, 100 * MIB, 0.5)}  # block, bytes of a rank, target
WAYS = {
    "independent": (["--independent"], None),
    "collective": ([], None),
    "pmio complete": ([], "complete"),
    "pmio background": ([], "background"),
}


def run(options, mpi, pattern, way):
    return quiet.measured(lambda: run_once(options, mpi, pattern, way))


def run_once(options, mpi, pattern, way):
    block, rank_bytes, _ = PATTERNS[pattern]
    arguments, close = WAYS[way]
    contestants.touch_memory(3 * contestants.RANKS * rank_bytes)
    with places.temporary("bench", options.work) as scratch, places.temporary("bench", options.log_dir) as logs:
        words = [places.benchmark(options.build, "checkpoint", mpi), "--file", scratch / "checkpoint", "--block", block,
                 "--bytes", rank_bytes, "--count", options.count, "--compute", options.compute, *arguments]  # fmt: skip
        settings = {"PMIO_DIR": logs, "PMIO_CLOSE": close} if close else {}
        [times] = mpi_jobs.measure(mpi, contestants.RANKS, words, name=f"{way}, {pattern}", settings=settings,
                                   preload=[mpi.runtime] if close else [], timeout=options.timeout)  # fmt: skip
    return times


def later(times):
    return statistics.median(times[1:])


def compare(options, mpi, pattern):
    """{way: [what each repetition printed]}, and a table of the medians."""
    runs = {way: [] for way in WAYS}
    for repetition in range(options.repetitions):
        for way in comparison.in_turn(list(WAYS), repetition):
            runs[way].append(run(options, mpi, pattern, way))
    each = {way: [later(times["io_s"]) for times in all_times] for way, all_times in runs.items()}
    io = {way: statistics.median(seconds) for way, seconds in each.items()}
    first = {way: statistics.median(times["io_s"][0] for times in all_times) for way, all_times in runs.items()}
    work = {way: statistics.median(later(times["compute_s"]) for times in all_times) for way, all_times in runs.items()}
    best = min((way for way in WAYS if not WAYS[way][1]), key=io.get)
    over = {way: comparison.ratio_of(each[way], each[best]) for way in WAYS}
    print(f"\n{pattern}, target of background: {PATTERNS[pattern][2]} of the best plain way")
    tables.print_table(
        ("way", "first s", "later s", "over the best", "quartiles", "computing s"),
        [(way, f"{first[way]:.3f}", f"{io[way]:.3f}", f"{median:.2f}", f"{lower:.2f}-{upper:.2f}", f"{work[way]:.2f}")
         for way, (lower, median, upper) in over.items()],
    )
    return runs


def main():
    parser = command_line.benchmark_parser(__doc__, repetitions=3, timeout=120)
    command_line.add_log_directory(parser)
    command_line.add_work(parser)
    parser.add_argument("--count", type=int, default=5, help="checkpoints of a run")
    parser.add_argument("--compute", type=float, default=1, help="seconds of computing behind each")
    options = parser.parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    print(f"{mpi.tag}, {contestants.RANKS} ranks, {options.count} checkpoints, {options.repetitions} repetitions")
    results = {pattern: compare(options, mpi, pattern) for pattern in PATTERNS}
    tables.write_json(options.json, {"mpi": mpi.tag, "results": results})


if __name__ == "__main__":
    main()
