#!/usr/bin/env python3
"""Carries out what `pmio advise` says: is the gain what it has told?

Programs run under pmio, each in a way that could be better, and leave their statistics. Each change that pmio advise
tells is carried out, and the program runs again. Compared is the time that it waited for its I/O, by the statistics of
both, with the bounds that the advice gave: medians of the repetitions. Two ranks on one node; the model's figures are
those of a profile that is measured first. As root also a log of huge pages is tried, in a mount of its own.

  bench/advice.py --mpi mpich-5.0.2 --repetitions 5 --json advice.json
"""

import contextlib
import dataclasses
import json
import os
import statistics
import subprocess

from pmiolab import command_line, contestants, mpi_jobs, mpi_libraries, places, quiet, tables
from pmiolab.places import MIB

# Settings that a file has, and which are given by its name; all others are the job's.
OF_A_FILE = ("pmio_mode", "pmio_direct_from", "pmio_close")


@dataclasses.dataclass
class Program:
    """A run: the benchmark, its arguments, pmio's settings, and where the log is."""

    arguments: list
    rank_bytes: int
    settings: dict = dataclasses.field(default_factory=dict)
    benchmark: str = "mpiio"
    medium: str = "memory"  # "disk", "huge"
    combined: list | None = None  # the arguments if many calls become one

    def changed(self, change):
        """As the change says; None if this program cannot be changed so."""
        key, _, value = change["setting"].partition("=")
        if "huge=" in change["setting"]:
            return dataclasses.replace(self, medium="huge") if os.getuid() == 0 else None
        if change["what"] == "a log in memory":
            return dataclasses.replace(self, medium="memory")
        if change["what"] == "one call for many":
            return self.combined and dataclasses.replace(self, arguments=self.combined)
        return dataclasses.replace(self, settings=self.settings | {key: value})

    def environment(self):
        of_file = [f"{key}={value}" for key, value in self.settings.items() if key in OF_A_FILE]
        of_job = {key.upper(): value for key, value in self.settings.items() if key not in OF_A_FILE}
        return of_job | ({"PMIO_HINTS": ":".join(["*", *of_file])} if of_file else {})


def spread(seconds):
    return ["--compute", seconds, "--spread"]


RECORDS = ["--block", 1312]
PROGRAMS = {
    "a small log, computing between the calls": Program(
        ["--block", 4096, *spread(1.5)], 96 * MIB, {"pmio_log_size": "4M"}),
    "a small log, not computing": Program(["--block", 4096], 64 * MIB, {"pmio_log_size": "8M"}),
    "64 B a call": Program(
        ["--block", 64, "--independent"], 8 * MIB, {"pmio_mode": "log"},
        combined=["--block", 64, "--blocks-per-call", 16384, "--independent"]),
    "1,312 B without the log": Program(RECORDS, 32 * MIB, {"pmio_mode": "off"}),
    "512 B independently, without the log": Program(
        ["--block", 512, "--independent"], 16 * MIB, {"pmio_mode": "off"}),
    "1,312 B straight to the file": Program(RECORDS, 32 * MIB, {"pmio_mode": "independent"}),
    "256 B by two-phase I/O": Program(["--block", 256], 8 * MIB, {"pmio_mode": "twophase"}),
    "checkpoints": Program(
        [*RECORDS, "--count", 4, "--compute", 0.5], 32 * MIB, {"pmio_mode": "log"}, benchmark="checkpoint"),
    "a log on disk": Program(
        RECORDS, 32 * MIB, {"pmio_mode": "log", "pmio_durability": "sync"}, medium="disk"),
    "each write flushed": Program(
        ["--block", 4096], 2 * MIB, {"pmio_mode": "log", "pmio_durability": "always"}, medium="disk"),
    "no drain beside the program": Program(
        [*RECORDS, *spread(1)], 32 * MIB, {"pmio_mode": "log", "pmio_background": "off"}),
    "1 MiB through the log": Program(
        ["--block", MIB], 64 * MIB, {"pmio_mode": "log", "pmio_direct_from": "off"}),
    "64 KiB through the log": Program(
        ["--block", 65536], 64 * MIB, {"pmio_mode": "log", "pmio_direct_from": "off"}),
    "a small log, large bursts": Program(["--block", 8192, *spread(2)], 128 * MIB, {"pmio_log_size": "6M"}),
    "104 B a call": Program(
        ["--block", 104], 8 * MIB, {"pmio_mode": "log"}, combined=["--block", 104, "--blocks-per-call", 10082]),
    "1,312 B by two-phase I/O": Program(RECORDS, 24 * MIB, {"pmio_mode": "twophase"}),
    "many checkpoints": Program(
        ["--block", 4096, "--count", 6, "--compute", 0.6], 16 * MIB, {"pmio_mode": "log"}, benchmark="checkpoint"),
    "4 KiB, a log on disk": Program(
        ["--block", 4096], 48 * MIB, {"pmio_mode": "log", "pmio_durability": "sync"}, medium="disk"),
    "16 KiB, no drain beside the program": Program(
        ["--block", 16384, *spread(1)], 48 * MIB,
        {"pmio_mode": "log", "pmio_direct_from": "off", "pmio_background": "off"}),
}  # fmt: skip


@contextlib.contextmanager
def log_directory(program, options):
    where = options.work if program.medium == "disk" else options.log_dir
    with places.temporary("advice", where) as directory:
        if program.medium != "huge":
            yield directory
            return
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4G,mode=700,huge=advise", "pmio", directory], check=True)
        try:
            yield directory
        finally:
            subprocess.run(["umount", directory], check=True)


class Session:
    def __init__(self, options, mpi, scratch):
        self.options, self.mpi, self.scratch = options, mpi, scratch
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(scratch)}
        self.pmio = places.pmio(options.build)

    def calibrate(self):
        subprocess.run([self.pmio, "calibrate", "--dir", self.scratch], env=self.environment, check=True)

    def run_once(self, name, program):
        contestants.touch_memory(contestants.COPIES * contestants.RANKS * program.rank_bytes + 64 * MIB)
        with log_directory(program, self.options) as logs, places.temporary("advice", self.scratch) as files:
            words = [places.benchmark(self.options.build, program.benchmark, self.mpi), "--file", files / "target",
                     "--bytes", program.rank_bytes, *program.arguments]  # fmt: skip
            settings = {"PMIO_DIR": logs, "PMIO_STATS": 1, **program.environment()}
            mpi_jobs.measure(self.mpi, contestants.RANKS, words, name=name, settings=settings,
                             preload=[self.mpi.runtime], timeout=self.options.timeout)  # fmt: skip
            advised = subprocess.run([self.pmio, "advise", "--json", "--dir", logs, "--target", self.scratch],
                                     env=self.environment, check=True, capture_output=True, text=True)  # fmt: skip
        return json.loads(advised.stdout)

    def run(self, name, program):
        """What is advised after the run whose time is the median, and all times."""
        runs = [quiet.measured(lambda: self.run_once(name, program)) for _ in range(self.options.repetitions)]
        runs.sort(key=lambda run: run["io_s"])
        return runs[len(runs) // 2], [run["io_s"] for run in runs]

    def carry_out(self, name, program):
        advice, before = self.run(name, program)
        outcomes = []
        for change in advice["changes"]:
            changed = program.changed(change)
            if changed is None:
                continue
            _, after = self.run(f"{name}, {change['what']}", changed)
            to, median = change["to"], statistics.median(after)
            outcomes.append({"change": change, "after_s": after, "inside": to["low_s"] <= median <= to["high_s"]})
        return {"program": name, "before_s": before, "advice": advice, "outcomes": outcomes}


def rows(results):
    def ms(seconds):
        return f"{seconds * 1e3:.0f}"

    for result in results:
        before = ms(statistics.median(result["before_s"]))
        if not result["outcomes"]:
            yield result["program"], before, "nothing", "", "", ""
        for outcome in result["outcomes"]:
            to = outcome["change"]["to"]
            yield (result["program"], before, outcome["change"]["what"],
                   f"{ms(to['likely_s'])} [{ms(to['low_s'])}-{ms(to['high_s'])}]",
                   ms(statistics.median(outcome["after_s"])), "yes" if outcome["inside"] else "NO")  # fmt: skip


def main():
    parser = command_line.benchmark_parser(__doc__, repetitions=3, timeout=300)
    command_line.add_log_directory(parser)
    command_line.add_work(parser)
    parser.add_argument("--only", help="programs whose names contain this")
    options = parser.parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    results = []
    with places.temporary("advice", options.work) as scratch:
        session = Session(options, mpi, scratch)
        session.calibrate()
        for name, program in PROGRAMS.items():
            if not options.only or options.only in name:
                print(f"{name} ...", flush=True)
                results.append(session.carry_out(name, program))
    tables.print_table(("program", "ms", "advice", "ms advised", "ms measured", "inside"), rows(results))
    outcomes = [outcome for result in results for outcome in result["outcomes"]]
    print(f"{sum(outcome['inside'] for outcome in outcomes)} of {len(outcomes)} inside the bounds")
    tables.write_json(options.json, results)


if __name__ == "__main__":
    main()
