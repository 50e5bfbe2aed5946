#!/usr/bin/env python3
"""What pmio adds to the start and the end of a program.

The program is an MPI job that opens no file, one that opens a file, writes 8 bytes per rank and closes it,
and a command that knows no MPI: a site preloads libpmio.so into that, too. Plain and under pmio take turns;
medians are compared. Wall time is the launcher's, from start to end; CPU time and the steps are those of the
slowest rank. A job without files must leave nothing in the place of the log directory, nor the directory
itself.

  bench/start.py --repetitions 41 --json results.json
  bench/start.py --job openmpi-5.0.11:4 --job mpich-5.0.2:1 --commands 0
"""

import os
import shutil
import statistics
import subprocess
import sys
import time

from pmiolab import command_line, mpi_jobs, mpi_libraries, places, processes, tables

RANKS = {"mpich": (1, 2), "openmpi": (1, 2, 4)}  # MPICH spins if there are more ranks than processors
LIMITS_MS = {"no file": 20, "one file": 40}  # of wall time, in all
CONTESTANTS = ("plain", "pmio")
COMMANDS = {"/bin/true": ["/bin/true"], "bash -c :": ["/bin/bash", "-c", ":"]}
COMMAND_LIMIT_MS, COMMAND_LIMIT_KB = 1, 1024
STEPS = ("cpu_ms", "init_ms", "file_ms", "finalize_ms")


def run_job(options, mpi, ranks, with_file, pmio, scratch):
    """{wall_ms, cpu_ms, init_ms, file_ms, finalize_ms} of one run."""
    logs = scratch / "logs"
    preload = [places.preloaded(options.build)] if pmio else []
    program = [places.benchmark(options.build, "start", mpi), *([options.target / "file"] if with_file else [])]
    settings = {"PMIO_DIR": logs, "PMIO_MODE": "log"}  # so small a file of one rank alone would not be logged
    command = mpi_jobs.command(mpi, ranks, program, settings=settings, preload=preload)
    env = mpi_libraries.environment(mpi)
    begin = time.monotonic()
    ended = processes.run(command, env, options.timeout)
    wall_ms = (time.monotonic() - begin) * 1e3
    of_ranks = mpi_jobs.results(ended, name=str(command), objects=ranks)
    if logs.exists() != (pmio and with_file):
        raise SystemExit(f"{command}: {'logs are left' if logs.exists() else 'nothing was logged'}")
    shutil.rmtree(logs, ignore_errors=True)
    return {"wall_ms": wall_ms, **{step: max(rank[step] for rank in of_ranks) for step in STEPS}}


def medians(runs):
    return {key: round(statistics.median(run[key] for run in runs), 3) for key in runs[0]}


def compare(of_contestants):
    """Medians of each contestant, and of what pmio adds in a pair of consecutive runs."""
    plain, pmio = (of_contestants[name] for name in CONTESTANTS)
    added = [{key: b[key] - a[key] for key in a} for a, b in zip(plain, pmio)]
    return {"plain": medians(plain), "pmio": medians(pmio), "added": medians(added)}


def in_turn(repetitions, run):
    """Compares what run(pmio) returns.

    Each contestant is first in half of the turns, since the second one finds caches warm.
    """
    of_contestants = {name: [] for name in CONTESTANTS}
    for turn in range(repetitions):
        for name in CONTESTANTS if turn % 2 == 0 else reversed(CONTESTANTS):
            of_contestants[name].append(run(name == "pmio"))
    return compare(of_contestants)


def measure_jobs(options, mpi, ranks):
    results = []
    for what, limit in LIMITS_MS.items():
        with places.temporary("bench", options.log_dir) as scratch, places.temporary("bench", options.work) as target:
            options.target = target
            run_job(options, mpi, ranks, True, True, scratch)  # reads from the disk what is read once
            times = in_turn(
                options.repetitions, lambda pmio: run_job(options, mpi, ranks, what != "no file", pmio, scratch)
            )
        results.append({"mpi": mpi.tag, "ranks": ranks, "what": what, "limit_ms": limit, **times})
    return results


def run_command(command, env):
    begin = time.monotonic()
    pid = os.posix_spawn(command[0], command, env)
    _, status, used = os.wait4(pid, 0)
    wall_ms = (time.monotonic() - begin) * 1e3
    if status != 0:
        raise SystemExit(f"{command}: {status}")
    return {"wall_ms": wall_ms, "cpu_ms": (used.ru_utime + used.ru_stime) * 1e3}


def memory_kb(env):
    """Of a command that looks at itself: its resident memory, and the part that it shares with nobody."""
    command = ["/bin/cat", "/proc/self/smaps_rollup"]
    lines = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.splitlines()
    of = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
    return {"resident_kb": of["Rss:"], "private_kb": of["Private_Clean:"] + of["Private_Dirty:"]}


def measure_commands(options):
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and not name.startswith("PMIO_")}
    environments = {False: plain, True: {**plain, "LD_PRELOAD": str(places.preloaded(options.build))}}
    results = [{"what": "cat, memory", **in_turn(21, lambda pmio: memory_kb(environments[pmio]))}]
    for what, command in COMMANDS.items():
        times = in_turn(options.commands, lambda pmio: run_command(command, environments[pmio]))
        results.append({"what": what, **times})
    return results


def is_too_much(result):
    added = result["added"]
    if "limit_ms" in result:
        return added["wall_ms"] > result["limit_ms"]
    return added.get("wall_ms", 0) > COMMAND_LIMIT_MS or added.get("resident_kb", 0) > COMMAND_LIMIT_KB


def row_of(result):
    def cells(key):
        return [f"{result[name][key]:.2f}" for name in CONTESTANTS] + [f"{result['added'][key]:+.2f}"]

    first, second = ("wall_ms", "cpu_ms") if "wall_ms" in result["plain"] else ("resident_kb", "private_kb")
    where = f"{result['mpi']}, {result['ranks']}" if "mpi" in result else ""
    return (where, result["what"], *cells(first), *cells(second), "TOO MUCH" if is_too_much(result) else "")


def parse_options():
    parser = command_line.benchmark_parser(__doc__, repetitions=21, timeout=120, mpi=False)
    command_line.add_log_directory(parser)
    command_line.add_work(parser)
    parser.add_argument("--job", action="append", help="TAG:RANKS of a job; default: those of all MPICHs and Open MPIs")
    parser.add_argument("--commands", type=int, default=501, help="how often each command without MPI is run; 0: not")
    return parser.parse_args()


def jobs_of(options):
    if options.job:
        named = (job.rsplit(":", 1) for job in options.job)
        return [(mpi_libraries.choose(options.build, tag), int(ranks)) for tag, ranks in named]
    return [(mpi, ranks) for mpi in mpi_libraries.load(options.build) for ranks in RANKS.get(mpi.family, ())]


def main():
    options = parse_options()
    results = [result for mpi, ranks in jobs_of(options) for result in measure_jobs(options, mpi, ranks)]
    if options.commands > 0:
        results += measure_commands(options)
    print(
        f"medians of {options.repetitions} (commands: {options.commands}) in turn; "
        "wall and CPU time in ms, memory resident and private in KB"
    )
    tables.print_table(("MPI, ranks", "what", "wall plain", "pmio", "added", "CPU plain", "pmio", "added", ""),
                       [row_of(result) for result in results])  # fmt: skip
    tables.write_json(options.json, {"repetitions": options.repetitions, "results": results})
    return 1 if any(is_too_much(result) for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
