#!/usr/bin/env python3
"""Many small files: open, a write of 100 bytes by each rank, close, in turn; shared by all ranks, and by each rank alone.

Plain and under pmio take turns, in directories that are removed at the end only; what is compared are medians of the
seconds of the slowest rank, and of the processor time of all. With strace, system calls per file are counted, without
those by which ranks wait for each other. They are what --check looks at, and nothing else.

  bench/files.py --mpi mpich-5.0.2 --repetitions 11 --json results.json
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "programs")]
import harness
import mpi_processes

MOST = {"wall_s": 1.2, "processor_s": 1.2}  # times plain
MOST_CALLS = 20  # more than plain, per file
WAITING = {"sched_yield", "poll", "ppoll", "epoll_wait", "epoll_pwait", "futex", "nanosleep", "clock_nanosleep", "select", "restart_syscall"}


class Session:
    def __init__(self, options, mpi, scratch):
        self.options, self.mpi, self.scratch, self.runs = options, mpi, Path(scratch), 0

    def run(self, kind, contestant, files, wrapper=()):
        """What the program says of itself."""
        directory = self.scratch / f"{self.runs}"
        directory.mkdir()
        self.runs += 1
        logs = tempfile.mkdtemp(prefix="pmio-bench-", dir=harness.memory())
        try:
            pmio = contestant == "pmio"
            settings = {"PMIO_DIR": logs} if pmio else {}
            if self.mpi.family == "openmpi":
                settings["OMPI_MCA_mpi_yield_when_idle"] = 1
            command = [self.mpi.mpiexec, "-n", self.options.ranks, *wrapper]
            command += mpi_processes.with_environment(settings, [self.mpi.runtime] if pmio else [])
            command += [self.options.build / "bin" / f"files_bench-{self.mpi.tag}", directory, files, kind]
            code, output = mpi_processes.run([str(word) for word in command], harness.environment(self.mpi), self.options.timeout)
        finally:
            shutil.rmtree(logs, ignore_errors=True)
        if code != 0:
            raise SystemExit(f"{contestant}, {kind}: {'timed out' if code is None else f'exit {code}'}\n{output}")
        return json.loads(output[output.index('{"wall_s"') :].splitlines()[0])

    def calls(self, kind, contestant):
        """System calls per file, of a rank; None where nothing can be traced."""
        counted = []
        for files in (self.options.traced, 2 * self.options.traced):
            trace = self.scratch / "trace"
            try:
                self.run(kind, contestant, files, ("strace", "-f", "-ff", "-o", trace))
            except SystemExit as failure:
                if "ptrace" in str(failure):
                    return None
                raise
            traces = list(self.scratch.glob("trace.*"))
            counted.append(sum(counts(line) for one in traces for line in one.read_text(errors="replace").splitlines()))
            for one in traces:
                one.unlink()
        return (counted[1] - counted[0]) / self.options.traced / self.options.ranks


def counts(line):
    name = line.partition("(")[0]
    return name.isidentifier() and name not in WAITING


def measure(session, kind):
    times = {"plain": [], "pmio": []}
    for _ in range(session.options.repetitions):
        for contestant in times:
            times[contestant].append(session.run(kind, contestant, session.options.files))
    return {c: {key: statistics.median(one[key] for one in all_) for key in MOST} for c, all_ in times.items()}, times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    parser.add_argument("--mpi", help="tag of the MPI; default: the first")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=11)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--traced", type=int, default=200, help="files, where system calls are counted")
    parser.add_argument("--work", default=ROOT, type=Path, help="where the files are written: a disk file system")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--check", action="store_true", help="system calls only; fails where they are too many")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.build = options.build.resolve()
    mpi = harness.choose_mpi(options.build, options.mpi)
    if options.check and not shutil.which("strace"):
        harness.skip("no strace")
    results, rows = [], []
    with tempfile.TemporaryDirectory(prefix="pmio-bench-", dir=options.work) as scratch:
        session = Session(options, mpi, scratch)
        for kind in ("shared", "alone"):
            medians, times = ({}, {}) if options.check else measure(session, kind)
            calls = {c: session.calls(kind, c) if shutil.which("strace") else None for c in ("plain", "pmio")}
            if options.check and None in calls.values():
                harness.skip("strace may not trace")
            results.append({"files": kind, "medians": medians, "calls": calls, "all": times})
            for key, of in MOST.items() if medians else ():
                ratio = medians["pmio"][key] / medians["plain"][key]
                rows.append((kind, key, *(f"{medians[c][key]:.3f}" for c in medians), f"{ratio:.2f}", "" if ratio <= of else "MISSED"))
            if None not in calls.values():
                more = calls["pmio"] - calls["plain"]
                rows.append((kind, "calls per file", *(f"{calls[c]:.1f}" for c in calls), f"{more:+.1f}", "" if more <= MOST_CALLS else "TOO MANY"))
    print(f"{mpi.tag}, {options.ranks} ranks, {options.files} files, medians of {options.repetitions} in turn")
    harness.print_table(("files", "", "plain", "pmio", "pmio over plain", ""), rows)
    if options.json:
        options.json.write_text(json.dumps({"mpi": mpi.tag, "ranks": options.ranks, "results": results}, indent=1) + "\n")
    return 1 if options.check and any(row[-1] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
