#!/usr/bin/env python3
"""What pmio adds to calls that it does not speed up: to those that it hands on, and to reads of files that nobody wrote.

Plain and under pmio take turns, one process each; what is compared are the medians of their nanoseconds per call,
each itself a median of batches of 100 calls, so that other work on the machine counts for little.

  bench/calls.py --mpi mpich-5.0.2 --repetitions 11 --json results.json
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "programs")]
import harness
import mpi_processes

LIMIT_NS = 1000


def run(options, mpi, pmio, scratch):
    settings = {"PMIO_DIR": Path(scratch) / "logs", "PMIO_LOG_SIZE": "64M"} if pmio else {}
    command = [mpi.mpiexec, "-n", 1, *mpi_processes.with_environment(settings, [mpi.runtime] if pmio else [])]
    command += [options.build / "bin" / f"calls_bench-{mpi.tag}", Path(scratch) / "file", "--calls", options.calls]
    code, output = mpi_processes.run([str(word) for word in command], harness.environment(mpi), options.timeout)
    if code != 0:
        raise SystemExit(f"{'pmio' if pmio else 'plain'}: {'timed out' if code is None else f'exit {code}'}\n{output}")
    return json.loads(output.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    parser.add_argument("--mpi", help="tag of the MPI; default: the first")
    parser.add_argument("--repetitions", type=int, default=11)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--work", default="/dev/shm", type=Path, help="where the files are: in memory, to see the calls alone")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.build = options.build.resolve()
    mpi = harness.choose_mpi(options.build, options.mpi)
    times = {"plain": [], "pmio": []}
    with tempfile.TemporaryDirectory(prefix="pmio-bench-", dir=options.work) as scratch:
        for _ in range(options.repetitions):
            for contestant in times:
                times[contestant].append(run(options, mpi, contestant == "pmio", scratch))
    results = []
    for call in times["plain"][0]:
        plain, pmio = (statistics.median(one[call] for one in times[contestant]) for contestant in ("plain", "pmio"))
        results.append({"call": call, "plain_ns": plain, "pmio_ns": pmio, "added_ns": pmio - plain})
    print(f"{mpi.tag}, 1 process, medians of {options.repetitions} in turn, ns per call")
    rows = [(r["call"], f"{r['plain_ns']:.0f}", f"{r['pmio_ns']:.0f}", f"{r['added_ns']:+.0f}",
             "" if r["added_ns"] < LIMIT_NS else "TOO MUCH") for r in results]  # fmt: skip
    harness.print_table(("call", "plain", "pmio", "added", ""), rows)
    if options.json:
        options.json.write_text(json.dumps({"mpi": mpi.tag, "results": results, "all_ns": times}, indent=1) + "\n")
    return 0 if all(r["added_ns"] < LIMIT_NS for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
