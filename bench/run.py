#!/usr/bin/env python3
"""Compares pmio with plain MPI-IO: the contestants take turns in one session.

A ratio is the median of those of the runs of one repetition, with its quartiles. A run that others have disturbed is
made again (pmiolab/quiet.py).

Time-to-log is the time in the write calls, time-to-file that plus the close. Cold is the first file of a job:
a fresh process, a fresh log directory, nothing was written before. Warm is the second. Reads are collective,
before the close, of what another rank wrote, and warm. memcpy copies the same bytes, call by call, to memory of
the log's medium and back: this is the best that the machine can do, and the reason if a target lies beyond it.
Cold it maps a new file and populates its pages ahead of the copy, 2 MiB at once. "checked copy" also reads the
clock and takes a CRC-32C per call, as any log must that orders its records and detects torn ones. A contestant
that is too slow for the whole amount writes less; the table says so, and rates are compared. Every run checks
every byte. Before each run as much memory as it needs is touched and freed, until that is fast.
pmio also takes part without a log, by pmio_mode=twophase, with pmio_cb_memory=dram and pmem, and independent.

  bench/run.py --mpi mpich-5.0.2 --repetitions 5 --json results.json
"""

from pmiolab import command_line, comparison, contestants, mpi_libraries, places, quiet, tables
from pmiolab.comparison import Pattern
from pmiolab.contestants import CONTESTANTS, LIMITS, MODES
from pmiolab.places import MIB

COLD = {("log", "memcpy"): 0.9, ("file", "best"): 0.95}
PATTERNS = [
    Pattern("strided 1312 B", ("--block", 1312), 64 * MIB, {"ompio": 32 * MIB},
            {("log", "enable"): 80, ("log", "default"): 35, ("file", "best"): 3, ("read", "enable"): 40},
            {**COLD, ("log", "enable"): 20, ("file", "best"): 3}),
    Pattern("segments 1 MiB", ("--block", MIB), 256 * MIB, {}, {}, COLD),
    Pattern("columns 8 B", ("--block", 8, "--blocks-per-call", MIB // 2), 16 * MIB, {"independent": 4 * MIB, "pmio independent": 4 * MIB},
            {("log", "enable"): 500, ("log", "default"): 500, ("file", "best"): 2, ("read", "enable"): 40}, COLD),
    Pattern("irregular 8 B to 1 KiB", ("--irregular", 4096), 64 * MIB, {}, {("file", "best"): 2}, COLD),
    Pattern("strided 64 KiB", ("--block", 65536), 128 * MIB, {}, {}, COLD),
]  # fmt: skip

# Of the contestants that have not all phases. The reads of a checked copy are memcpy's.
PHASES = {"memcpy": ("log", "read"), "checked copy": ("log",)}


class Session:
    def __init__(self, options, mpi):
        self.options, self.mpi = options, mpi
        self.contestants = [*CONTESTANTS[mpi.family], *MODES, *LIMITS]

    def run(self, contestant, pattern, *, warm, reading=False):
        options, rank_bytes = self.options, pattern.bytes_of(contestant, self.options.divide)
        arguments = [*pattern.arguments, *(["--read"] if reading else [])]
        return contestants.run(options.build, self.mpi, contestant, arguments, rank_bytes, options.work,
                               options.log_dir, warm=warm, settings={"PMIO_LOG_SIZE": options.log_size},
                               timeout=options.timeout, name=pattern.name)  # fmt: skip

    def measure(self, pattern):
        """The rates, cold and warm, and how many bytes each contestant wrote."""
        cold, warm = ({name: {} for name in self.contestants} for _ in range(2))
        amounts = {}
        for repetition in range(self.options.repetitions):
            for name in comparison.in_turn(self.contestants, repetition):
                phases = PHASES.get(name, ("log", "file", "read"))
                writing = [phase for phase in phases if phase != "read"]
                comparison.add_rates(cold[name], self.run(name, pattern, warm=False), writing)
                times = self.run(name, pattern, warm=True)
                amounts[name] = times["bytes"]
                comparison.add_rates(warm[name], times, writing)
                if "read" in phases:
                    comparison.add_rates(warm[name], self.run(name, pattern, warm=True, reading=True), ["read"])
        return cold, warm, amounts


def parse_options():
    parser = command_line.benchmark_parser(__doc__, repetitions=3, timeout=600)
    comparison.add_options(parser, log_size="1G")
    command_line.add_log_directory(parser)
    command_line.add_work(parser)
    return parser.parse_args()


def main():
    options = parse_options()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    session, summaries = Session(options, mpi), []
    kind = places.file_system(options.work)
    print(f"{mpi.tag}, 2 ranks, {options.repetitions} repetitions, files on {kind}, cold and warm")
    for pattern in comparison.chosen(PATTERNS, options.pattern):
        cold, warm, amounts = session.measure(pattern)
        has_targets = mpi.family == "mpich" and options.divide == 1
        summary = comparison.summarise(pattern, warm, amounts, pattern.targets if has_targets else {}, LIMITS, MODES)
        targets = pattern.cold_targets if has_targets else {}
        summary["cold"] = comparison.summarise(pattern, cold, amounts, targets, LIMITS, MODES)
        summaries.append(summary)
        comparison.print_summary(summary, "both ranks")
    print(f"\n{quiet.repeated()} runs were disturbed and made again")
    tables.write_json(options.json, {"mpi": mpi.tag, "results": summaries})


if __name__ == "__main__":
    main()
