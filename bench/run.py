#!/usr/bin/env python3
"""Compares pmio with plain MPI-IO: the contestants take turns in one session, and medians are compared.

Time-to-log is the time in the write calls, time-to-file that plus the close. Reads are collective, before the
close, of what another rank wrote. memcpy copies the same bytes, call by call, to warm memory of the log's
medium and back: this is the best that the machine can do, and the reason if a target lies beyond it. "checked
copy" also reads the clock and takes a CRC-32C per call, as any log must that orders its records and detects
torn ones. A contestant that is too slow for the whole amount writes less; the table says so, and rates are
compared. Every run checks every byte.

  bench/run.py --mpi mpich-5.0.2 --repetitions 5 --json results.json
"""

import subprocess

from pmiolab import command_line, comparison, mpi_jobs, mpi_libraries, places, tables
from pmiolab.comparison import Pattern
from pmiolab.places import MIB

PATTERNS = [
    Pattern("strided 1312 B", ("--block", 1312), 64 * MIB, {"ompio": 32 * MIB},
            {("log", "enable"): 80, ("log", "default"): 35, ("file", "best"): 3, ("read", "enable"): 40}),
    Pattern("segments 1 MiB", ("--block", MIB), 256 * MIB, {}, {}),
    Pattern("columns 8 B", ("--block", 8, "--blocks-per-call", MIB // 2), 16 * MIB, {"independent": 4 * MIB},
            {("log", "enable"): 500, ("log", "default"): 500, ("file", "best"): 2, ("read", "enable"): 40}),
    Pattern("strided 64 KiB", ("--block", 65536), 128 * MIB, {}, {}),
]  # fmt: skip

# How each contestant differs from the plain program without hints.
CONTESTANTS = {
    "mpich": {
        "pmio": [],
        "enable": ["--hint", "romio_cb_write=enable", "--hint", "romio_cb_read=enable"],
        "default": [],
        "independent": ["--independent"],
    },
    "openmpi": {"pmio": [], "ompio": [], "independent": ["--independent"]},
}
# What the machine can do at best: no MPI-IO.
LIMITS = {"memcpy": ["--copy"], "checked copy": ["--checked", "--copy"]}
# Of the contestants that have not all phases. The reads of a checked copy are memcpy's.
PHASES = {"memcpy": ("log", "read"), "checked copy": ("log",)}


class Session:
    def __init__(self, options, mpi):
        self.options, self.mpi = options, mpi
        self.program = places.benchmark(options.build, "mpiio", mpi)
        self.contestants = CONTESTANTS[mpi.family] | LIMITS

    def run(self, contestant, pattern, reading, scratch, logs):
        """What mpiio_bench prints: its times in seconds, and the bytes of all ranks."""
        settings, preload = {}, []
        if contestant == "pmio":
            settings, preload = {"PMIO_DIR": logs, "PMIO_LOG_SIZE": self.options.log_size}, [self.mpi.runtime]
        rank_bytes = pattern.bytes_of(contestant, self.options.divide)
        words = [self.program, "--file", scratch / "target", *pattern.arguments, "--bytes", rank_bytes]
        words += ["--warm", *(["--read"] if reading else []), *self.contestants[contestant]]
        words += [logs] if contestant in LIMITS else []
        [times] = mpi_jobs.measure(self.mpi, 2, words, name=f"{contestant}, {pattern.name}", settings=settings,
                                   preload=preload, timeout=self.options.timeout)  # fmt: skip
        return times

    def measure(self, pattern, scratch, logs):
        """The rates, and how many bytes each contestant wrote."""
        rates = {name: {} for name in self.contestants}
        amounts = {}
        for _ in range(self.options.repetitions):
            for name in self.contestants:
                phases = PHASES.get(name, ("log", "file", "read"))
                times = self.run(name, pattern, False, scratch, logs)
                amounts[name] = times["bytes"]
                comparison.add_rates(rates[name], times, [phase for phase in phases if phase != "read"])
                if "read" in phases:
                    comparison.add_rates(rates[name], self.run(name, pattern, True, scratch, logs), ["read"])
        return rates, amounts


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
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(options.work)], capture_output=True, text=True, check=False)
    print(f"{mpi.tag}, 2 ranks, {options.repetitions} repetitions, files on {kind.stdout.strip()}, every run warmed up")
    for pattern in comparison.chosen(PATTERNS, options.pattern):
        with places.temporary("bench", options.work) as scratch, places.temporary("bench", options.log_dir) as logs:
            rates, amounts = session.measure(pattern, scratch, logs)
        targets = pattern.targets if mpi.family == "mpich" and options.divide == 1 else {}
        summaries.append(comparison.summarise(pattern, rates, amounts, targets, LIMITS))
        comparison.print_summary(summaries[-1], "both ranks")
    tables.write_json(options.json, {"mpi": mpi.tag, "results": summaries})


if __name__ == "__main__":
    main()
