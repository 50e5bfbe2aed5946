#!/usr/bin/env python3
"""Many small files: open, a write of 100 bytes by each rank, close, in turn; shared by all ranks, by each rank
alone, and shared but none closed before all are written (held); and shared ones of 64 records of 1,312 bytes of each
rank, through a view (strided).

Plain and under pmio take turns, and in being first, in directories that are removed at the end only. ext4 passes over
inodes that were deleted in the last five minutes, one by one: compare on one that has not lost many. Compared are
medians of the seconds of the slowest rank, and of the processor time of all. With strace, system calls per file are
counted, without those by which ranks wait for each other, and those that a thread does now and then. --check looks at
them, and at nothing else.

  bench/files.py --mpi mpich-5.0.2 --repetitions 11 --json results.json
"""

import shutil
import statistics
import sys

from pmiolab import checks, command_line, mpi_jobs, mpi_libraries, places, tables

MOST = {"wall_s": 1.2, "processor_s": 1.2}  # times plain
# More than plain, per file. Of those held open the first 32 are logged and then one of 32, which is drained meanwhile.
# Strided ones are no small files to pmio: each has a control block and a mark of its own.
MOST_CALLS = {"shared": 20, "alone": 20, "held": 40, "strided": 30}
CONTESTANTS = ("plain", "pmio")
WAITING = {"sched_yield", "poll", "ppoll", "epoll_wait", "epoll_pwait", "futex", "nanosleep", "clock_nanosleep",
           "select", "restart_syscall"}  # fmt: skip
# A call that only waits does not stop the process. Files are shown by their names.
STRACE = ("strace", "--seccomp-bpf", "-f", "-ff", "-y", "-e", "trace=!" + ",".join(sorted(WAITING)))
# What pmio's thread looks at from time to time, however long a file takes: the limits of memory, whether a processor is
# idle, whether the log is still there.
BY_THE_CLOCK = ("/proc/", "/sys/fs/cgroup/", "/alive>", "statfs(", "prlimit64(")


class Session:
    def __init__(self, options, mpi, scratch):
        self.options, self.mpi, self.scratch, self.runs = options, mpi, scratch, 0

    def run(self, kind, contestant, files, wrapper=()):
        """What the program says of itself: seconds."""
        directory = self.scratch / f"{self.runs}"
        directory.mkdir()
        self.runs += 1
        words = [places.benchmark(self.options.build, "files", self.mpi), directory, files, kind]
        with places.temporary("bench", places.memory()) as logs:
            settings, preload = ({"PMIO_DIR": logs}, [self.mpi.runtime]) if contestant == "pmio" else ({}, [])
            if self.mpi.family == "openmpi":
                settings["OMPI_MCA_mpi_yield_when_idle"] = 1
            [times] = mpi_jobs.measure(
                self.mpi,
                self.options.ranks,
                words,
                name=f"{contestant}, {kind}",
                settings=settings,
                preload=preload,
                wrapper=wrapper,
                timeout=self.options.timeout,
            )
        return times

    def measure(self, kind):
        """The times of all runs by contestant."""
        times = {contestant: [] for contestant in CONTESTANTS}
        for repetition in range(self.options.repetitions):
            for contestant in CONTESTANTS if repetition % 2 == 0 else reversed(CONTESTANTS):
                times[contestant].append(self.run(kind, contestant, self.options.files))
        return times

    def calls(self, kind, contestant):
        """System calls per file, of a rank; None if nothing can be traced."""
        counted = []
        for files in (self.options.traced, 2 * self.options.traced):
            trace = self.scratch / "trace"
            try:
                self.run(kind, contestant, files, (*STRACE, "-o", trace))
            except SystemExit as failure:
                if "ptrace" in str(failure):
                    return None
                raise
            traces = list(self.scratch.glob("trace.*"))
            counted.append(sum(calls_in(one.read_text(errors="replace")) for one in traces))
            for one in traces:
                one.unlink()
        return (counted[1] - counted[0]) / self.options.traced / self.options.ranks


def calls_in(trace):
    """Of one thread, without what a thread that the program has started does by the clock."""
    calls = [line for line in trace.splitlines() if line.partition("(")[0].isidentifier()]
    if calls and calls[0].startswith("execve("):
        return len(calls)
    return sum(not any(part in call for part in BY_THE_CLOCK) for call in calls)


def medians_of(times):
    return {
        contestant: {key: statistics.median(run[key] for run in runs) for key in MOST}
        for contestant, runs in times.items()
    }


def rows_of(result):
    """The lines of the table about one kind of files; the last cell is empty if all is well."""
    kind, medians, calls = result["files"], result["medians"], result["calls"]
    for key, most in MOST.items() if medians else ():
        ratio = medians["pmio"][key] / medians["plain"][key]
        yield (
            kind,
            key,
            *(f"{medians[c][key]:.3f}" for c in medians),
            f"{ratio:.2f}",
            "" if ratio <= most else "MISSED",
        )
    if None not in calls.values():
        more = calls["pmio"] - calls["plain"]
        yield (
            kind,
            "calls per file",
            *(f"{calls[c]:.1f}" for c in calls),
            f"{more:+.1f}",
            "" if more <= MOST_CALLS[kind] else "TOO MANY",
        )


def look_at(session, kind):
    """The result for one kind of files; skips the script if it shall check what cannot be traced."""
    checking, tracing = session.options.check, shutil.which("strace")
    times = {} if checking else session.measure(kind)
    calls = {contestant: session.calls(kind, contestant) if tracing else None for contestant in CONTESTANTS}
    if checking and None in calls.values():
        checks.skip("strace may not trace" if tracing else "no strace")
    return {"files": kind, "medians": medians_of(times), "calls": calls, "all": times}


def parse_options():
    parser = command_line.benchmark_parser(__doc__, repetitions=11, timeout=120)
    command_line.add_ranks(parser)
    command_line.add_work(parser)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--traced", type=int, default=64, help="files of a run whose system calls are counted")
    parser.add_argument("--check", action="store_true", help="system calls only; fails if they are too many")
    return parser.parse_args()


def main():
    options = parse_options()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    with places.temporary("bench", options.work) as scratch:
        session = Session(options, mpi, scratch)
        results = [look_at(session, kind) for kind in MOST_CALLS]
    rows = [row for result in results for row in rows_of(result)]
    timed = f"{options.files} files, medians of {options.repetitions} in turn; "
    print(f"{mpi.tag}, {options.ranks} ranks, {'' if options.check else timed}{options.traced} files traced")
    tables.print_table(("files", "", "plain", "pmio", "pmio over plain", ""), rows)
    tables.write_json(options.json, {"mpi": mpi.tag, "ranks": options.ranks, "results": results})
    return 1 if options.check and any(row[-1] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
