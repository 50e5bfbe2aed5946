#!/usr/bin/env python3
"""The grid: where does a site that preloads pmio for everybody make anybody worse off?

Each cell is a pattern of a known program, to write or read, on a file system, with a log in memory or on disk, as the
first file of a job (cold) or its second (warm), with computing between the calls or none. In each cell pmio's
default takes turns with each fixed way of pmio and each plain way. Compared is what the program waits: for the open,
the writes and the close, without its computing; or for the reads. A ratio is the median of those of one repetition.
A run that others have disturbed is made again (pmiolab/quiet.py). Every run checks every byte.

A run that fails or takes too long is listed, and the cell goes on without that way; also without one that took
five times as long as the best of its kind, plain or pmio's, in an earlier repetition. --json is written after each
repetition of a cell; --resume goes on from there. Exit 1: pmio is below 0.9 of the best plain way in a cell, or fails.

  bench/grid.py --mpi mpich-5.0.2 --json grid.json --figure grid.svg
  bench/grid.py --mpi mpich-5.0.2 --json grid.json --resume --seconds 60     a part of it, an hour later
  bench/grid.py --patterns s3d,wrf --file-systems ext4,xfs --log tmpfs,disk --states cold --operations write,read
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from pmiolab import command_line, comparison, contestants, grid_results, mpi_libraries, places, quiet, tables
from pmiolab.grid_patterns import PATTERNS
from pmiolab.places import MIB

XFS_BYTES = 4 << 30  # of the file that is the loop device; a sparse one
MODES = ["pmio log", "pmio twophase", "pmio independent", "pmio gather on", "pmio gather off"]


def plain_ways(family):
    named = contestants.CONTESTANTS[family] | contestants.GRID_PLAIN.get(family, {})
    return [name for name in named if name != grid_results.AUTO]


@contextlib.contextmanager
def xfs(work):
    """The directory of an XFS on a loop device. SystemExit says why there is none."""
    if os.geteuid() != 0 or not shutil.which("mkfs.xfs"):
        raise SystemExit("XFS on a loop device needs root, and mkfs.xfs of xfsprogs")
    with places.temporary("xfs", work) as scratch:
        image, mounted = scratch / "image", scratch / "mounted"
        mounted.mkdir()
        with image.open("wb") as file:
            file.truncate(XFS_BYTES)
        for words in (["mkfs.xfs", "-q", image], ["mount", "-o", "loop", image, mounted]):
            done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{words[0]}: {done.stderr.strip()}")
        try:
            yield mounted
        finally:
            subprocess.run(["umount", str(mounted)], check=True)


def directory_on(kind, work, stack):
    """Where files on such a file system are written. SystemExit says why nowhere."""
    if kind == "tmpfs":
        return Path(places.memory() or "/dev/shm")
    if kind == places.file_system(work):
        return work
    if kind == "xfs":
        return stack.enter_context(xfs(work))
    raise SystemExit(f"{work} is on {places.file_system(work)}, not on {kind}: give a --work that is")


def cells_of(options):
    return [
        dict(zip(grid_results.KEYS, (pattern, operation, kind, log, state, compute)))
        for kind in options.file_systems
        for log in options.log
        for pattern in options.patterns
        for operation in options.operations
        for state in options.states
        for compute in (options.compute if operation == "write" else [0.0])
    ]  # fmt: skip


class Grid:
    def __init__(self, options, mpi):
        self.options, self.mpi = options, mpi
        self.plain = plain_ways(mpi.family)
        known = [grid_results.AUTO, *MODES, *self.plain]
        if wrong := set(options.ways or []) - set(known):
            raise SystemExit(f"--ways: {', '.join(sorted(wrong))}: there are {', '.join(known)}")
        self.ways = [way for way in known if not options.ways or way in (grid_results.AUTO, *options.ways)]
        self.what = {"mpi": mpi.tag, "ranks": contestants.RANKS, "bytes": options.bytes, "ways": self.ways,
                     "plain": self.plain, "busy": options.busy}  # fmt: skip
        self.rows = self.begun()
        self.directories = {}

    def begun(self):
        """The rows of a grid that was stopped."""
        path = self.options.json
        if not path or not path.exists():
            return []
        if not self.options.resume:
            raise SystemExit(f"{path} is there: --resume goes on with it, or remove it")
        document = json.loads(path.read_text())
        for key, value in self.what.items():
            if document.get(key) != value:
                there = document.get(key)
                raise SystemExit(f"{path} is of {key} {there}, not {value}: give the same, or another --json")
        return [row for row in document["grid"] if row["seconds"]]  # what could not be measured at all is tried again

    def save(self):
        if path := self.options.json:
            unfinished = path.with_name(path.name + ".part")
            summary = grid_results.summarise(self.rows, self.plain)
            tables.write_json(unfinished, {**self.what, "summary": summary, "grid": self.rows})
            unfinished.replace(path)

    def has(self, cell, repetition):
        return any(row["cell"] == cell and row["repetition"] == repetition for row in self.rows)

    def failed_before(self, cell):
        return {way: why for row in self.rows if row["cell"] == cell for way, why in row["failed"].items()}

    def seconds_of(self, cell, way):
        """By phase. SystemExit, with words: the run has failed."""
        options, pattern = self.options, PATTERNS[cell["pattern"]]
        amount = pattern.amount(options.bytes)
        arguments = [*pattern.arguments(contestants.RANKS, amount), "--compute", cell["compute"], "--spread"]
        arguments += ["--busy"] if options.busy else []
        arguments += ["--read"] if cell["operation"] == "read" else []
        log = self.options.log_dir if cell["log"] == "tmpfs" else options.work
        times = contestants.run(options.build, self.mpi, way, arguments, amount, self.directories[cell["file_system"]],
                                log, warm=cell["state"] == "warm", settings={}, timeout=options.timeout,
                                name=grid_results.name_of(cell))  # fmt: skip
        writing = {"log": times["write_s"], "file": times["write_s"] + times["close_s"]}
        writing["end"] = writing["file"] + times["open_s"]
        return {"read": times["read_s"]} if cell["operation"] == "read" else writing

    def measure(self, cell, repetition):
        """One row: each way once."""
        failed, seconds = self.failed_before(cell), {}
        hopeless = grid_results.hopeless([row for row in self.rows if row["cell"] == cell], self.plain)
        for way in comparison.in_turn(self.ways, len(self.rows)):
            if way in failed or way in hopeless:
                continue
            try:
                seconds[way] = self.seconds_of(cell, way)
            except SystemExit as failure:
                if not isinstance(failure.code, str):
                    raise  # a signal
                failed[way] = failure.code
        self.rows.append({"cell": cell, "repetition": repetition, "seconds": seconds, "failed": failed})
        self.save()

    def prepare(self, stack):
        """Directories by file system; those that cannot be are rows that failed."""
        for kind in self.options.file_systems:
            try:
                self.directories[kind] = directory_on(kind, self.options.work, stack)
            except SystemExit as failure:
                print(f"{kind}: {failure.code}", flush=True)
                for cell in cells_of(self.options):
                    if cell["file_system"] == kind and not self.has(cell, 0):
                        failed = dict.fromkeys(self.ways, failure.code)
                        self.rows.append({"cell": cell, "repetition": 0, "seconds": {}, "failed": failed})
                self.save()

    def run(self):
        """All that is not there yet, within --seconds. Returns how many rows are left."""
        with contextlib.ExitStack() as stack:
            self.prepare(stack)
            left = [(cell, repetition) for repetition in range(self.options.repetitions)
                    for cell in cells_of(self.options)
                    if cell["file_system"] in self.directories and not self.has(cell, repetition)]  # fmt: skip
            start = time.monotonic()
            for number, (cell, repetition) in enumerate(left):
                spent = time.monotonic() - start
                if self.options.seconds and spent > self.options.seconds:
                    return len(left) - number
                self.measure(cell, repetition)
                self.tell(cell, number + 1, len(left), time.monotonic() - start)
        return 0

    def tell(self, cell, done, count, spent):
        [entry] = grid_results.summarise([row for row in self.rows if row["cell"] == cell], self.plain)
        ratio = grid_results.ratio(entry, "plain")
        text = f"{ratio:.2f} of the best plain way" if ratio else "no ratio"
        trouble = f", failed: {', '.join(entry['failed'])}" if entry["failed"] else ""
        minutes = spent / done * (count - done) / 60
        print(f"[{done}/{count}, {minutes:.1f} min left] {grid_results.name_of(cell)}: {text}{trouble}", flush=True)


def words(known):
    """The type of a list with commas; known: the words that may be in it, if they are known."""

    def parse(text):
        chosen = [word for word in text.split(",") if word]
        if wrong := [word for word in chosen if known and word not in known]:
            raise command_line.argparse.ArgumentTypeError(f"{wrong[0]}: there are {', '.join(known)}")
        return chosen

    return parse


def seconds_list(text):
    return [float(word) for word in text.split(",")]


def parse_options():
    parser = command_line.benchmark_parser(__doc__, repetitions=3, timeout=60)
    command_line.add_log_directory(parser)
    command_line.add_work(parser)
    parser.add_argument("--patterns", type=words(PATTERNS), default=list(PATTERNS), help=f"of {', '.join(PATTERNS)}")
    parser.add_argument("--ways", type=words(()), help="only these, and pmio's default")
    parser.add_argument("--operations", type=words(("write", "read")), default=["write"], help="write, read")
    parser.add_argument("--file-systems", type=words(()), default=["ext4", "tmpfs"],
                        help="tmpfs, that of --work, and xfs, which root makes on a loop device")  # fmt: skip
    parser.add_argument("--log", type=words(("tmpfs", "disk")), default=["tmpfs"],
                        help="tmpfs: --log-dir; disk: --work")  # fmt: skip
    parser.add_argument("--states", type=words(("cold", "warm")), default=["cold", "warm"])
    parser.add_argument("--compute", type=seconds_list, default=[0.0], help="seconds, spread between the calls")
    parser.add_argument("--busy", action="store_true", help="computing keeps the processors busy; else it sleeps")
    parser.add_argument("--bytes", type=int, default=32 * MIB, help="of a rank, at least one call")
    parser.add_argument("--resume", action="store_true", help="go on with what --json has")
    parser.add_argument("--seconds", type=float, help="stop after so long, to be resumed")
    parser.add_argument("--noisy", action="store_true", help="disturbed runs are not made again")
    command_line.add_figure(parser)
    options = parser.parse_args()
    command_line.check_figure(parser, options)
    return options


def main():
    options = parse_options()
    if options.noisy:
        quiet.MOST_TRIES = 1
    mpi = mpi_libraries.choose(options.build, options.mpi)
    grid = Grid(options, mpi)
    left = grid.run()
    print(f"\n{mpi.tag}, {contestants.RANKS} ranks, {options.bytes / MIB:g} MiB of each, {options.repetitions} "
          f"repetitions: pmio's default over the best plain way, and over the best of pmio's fixed ones")  # fmt: skip
    summary = grid_results.summarise(grid.rows, grid.plain)
    grid_results.print_summary(summary)
    if left:
        print(f"stopped: {left} repetitions of cells are left; --resume goes on")
    print(f"{quiet.repeated()} runs were disturbed and made again")
    if options.figure:
        figure = [places.SYSTEM_PYTHON, places.ROOT / "bench" / "figure.py", options.json, options.figure]
        subprocess.run(figure, check=True)
    return 1 if grid_results.is_bad(summary) else 0


if __name__ == "__main__":
    sys.exit(main())
