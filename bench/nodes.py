#!/usr/bin/env python3
"""Compares pmio with plain MPI-IO on several hosts: a testbed of its own, all contestants in turn, medians of
repetitions.

16 ranks on 4 compute hosts, links of 1 Gbit/s, MooseFS on 2 storage hosts: their links are the bottleneck, as
at most sites. All contestants run with the same settings, and with their MPI libraries' polling turned into
short sleeps (testbed/README.md).

  time-to-log    the time in the write calls
  time-to-file   that plus the close
  read           collective, before the close, of what another rank of the same node wrote
  read again     the same after the close, of the file opened again for reading and writing
  drain          what the close writes; compared with one sequential dd per host, all at once
  overlap        the program computes between writing and closing, as long as its drain took in a run without computing;
                 the time of writing and closing is compared with that of writing alone

The contestants "pmio twophase" and "pmio independent" are pmio without a log: each of their calls is on the storage
when it returns, on all hosts.

Cold is the first file of a job, in a fresh process: nothing was written before. Warm is the second. Reads and
overlap are warm. Slow contestants write less, and rates are compared. Every run checks every byte. A contestant that fails is
left out, and named at the end.

  bench/nodes.py --json docs/figures/nodes.json --figure docs/figures/nodes.svg
  bench/nodes.py --servers 3 --contestant pmio      how fast it drains if the traffic between the nodes is the bottleneck
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass

from pmiolab import command_line, comparison, hosts, mpi_jobs, mpi_libraries, places, tables
from pmiolab.cluster import launch
from pmiolab.cluster.system import TestbedError
from pmiolab.comparison import Pattern
from pmiolab.contestants import MODES
from pmiolab.places import KIB, MIB

PER_HOST, HOSTS = 4, ("c1", "c2", "c3", "c4")
RANKS = PER_HOST * len(HOSTS)
PFS = "/mnt/pfs"
# Bytes of a rank: a file has 12 chunks of MooseFS, which 2, 3 or 4 servers share evenly; so have the four files of dd.
AMOUNT = 48 * MIB
DD = AMOUNT * PER_HOST  # of a host
OVERLAP = 4  # times the bytes of the pattern


@dataclass(frozen=True)
class NodesPattern(Pattern):
    program: str = "mpiio"
    reads: bool = False  # read and overlap are measured too
    overlaps: bool = False


EVERYWHERE = {("file", "best"): 1, ("drain", "dd"): 0.85}
COLD = {("file", "best"): 0.95}
TILES = ("--block", 4 * KIB, "--blocks-per-call", 128, "--grid-columns", 4)
HYPERSLABS = ("--block", 8 * KIB, "--blocks-per-call", 32, "--grid-columns", 4)
TILES_BYTES = {"enable": 8 * MIB, "disable": MIB, "default": 8 * MIB, "ompio": 2 * MIB,
               "pmio twophase": 8 * MIB, "pmio independent": MIB}
PATTERNS = [
    NodesPattern("strided 1312 B", ("--block", 1312), AMOUNT,
                 {"enable": 64 * KIB, "disable": 256 * KIB, "default": 128 * KIB, "ompio": 64 * KIB,
                  "pmio twophase": 64 * KIB, "pmio independent": 32 * KIB},
                 {**EVERYWHERE, ("log", "enable"): 121, ("read", "enable"): 100, ("again", "best"): 1,
                  ("overlap", "own log"): 0.9},
                 {("file", "best"): 3}, reads=True, overlaps=True),
    NodesPattern("strided 64 KiB", ("--block", 64 * KIB), AMOUNT,
                 {"enable": 4 * MIB, "disable": 8 * MIB, "default": 8 * MIB, "ompio": 4 * MIB,
                  "pmio twophase": 4 * MIB, "pmio independent": 4 * MIB}, EVERYWHERE, COLD),
    NodesPattern("segments 1 MiB", ("--block", MIB), AMOUNT,
                 {"ompio": 8 * MIB, "pmio twophase": 8 * MIB, "pmio independent": 16 * MIB}, EVERYWHERE, COLD),
    NodesPattern("2-D tiles", TILES, AMOUNT, TILES_BYTES, EVERYWHERE, COLD),
    NodesPattern("columns 8 B", ("--block", 8, "--blocks-per-call", 8 * KIB), AMOUNT,
                 {"enable": MIB, "default": MIB, "disable": 128 * KIB, "ompio": 64 * KIB,
                  "pmio twophase": MIB, "pmio independent": 64 * KIB}, EVERYWHERE, COLD),
    NodesPattern("irregular 8 B to 1 KiB", ("--irregular", 512), AMOUNT,
                 {"enable": MIB, "default": MIB, "disable": 512 * KIB, "ompio": 512 * KIB,
                  "pmio twophase": MIB, "pmio independent": 512 * KIB}, EVERYWHERE, COLD),
    NodesPattern("HDF5 hyperslabs", HYPERSLABS, AMOUNT, TILES_BYTES, EVERYWHERE, COLD, program="hdf5"),
]  # fmt: skip

ROMIO, OMPIO = "mpich", "openmpi"
# The MPI, and how each contestant differs from the plain program without hints.
CONTESTANTS = {
    "pmio": (ROMIO, []),
    "enable": (ROMIO, ["--hint", "romio_cb_write=enable", "--hint", "romio_cb_read=enable"]),
    "disable": (ROMIO, ["--hint", "romio_cb_write=disable", "--hint", "romio_cb_read=disable"]),
    "default": (ROMIO, []),
    "ompio": (OMPIO, []),
    "pmio twophase": (ROMIO, []),
    "pmio independent": (ROMIO, []),
}
# What pmio is measured against, too: not ways to do I/O.
LIMITS = ("dd", "own log")


class Failure(Exception):
    pass


class Session:
    def __init__(self, options, bed, mpis):
        self.options, self.bed, self.mpis = options, bed, mpis
        self.start, self.failures = time.monotonic(), []

    def say(self, text):
        print(f"[{time.monotonic() - self.start:4.0f} s] {text}", file=sys.stderr, flush=True)

    def run(self, contestant, pattern, *more, warm=True):
        """What mpiio_bench printed."""
        library, words = CONTESTANTS[contestant]
        mpi = self.mpis[library]
        command = ["mpiexec", "--build", self.options.build, "--mpi", mpi.tag, "-n", RANKS, "--ppn", PER_HOST]
        if contestant == "pmio" or contestant in MODES:
            command += ["env", "PMIO_ACROSS_NODES=on", f"PMIO_LOG_SIZE={self.options.log_size}"]
            command += [f"{key}={value}" for key, value in MODES.get(contestant, {}).items()]
            command += [places.pmio(self.options.build), "run", "--"]
        command += [places.benchmark(self.options.build, pattern.program, mpi), "--file", f"{PFS}/target"]
        command += [
            *pattern.arguments,
            "--bytes",
            pattern.bytes_of(contestant, self.options.divide),
            *(["--warm"] if warm else []),
            *words,
            *more,
        ]
        ended = self.bed.run(*command, timeout=self.options.timeout)
        results = mpi_jobs.json_objects(ended.output)
        if ended.code is None and len(results) == 1:  # all was checked before it was printed
            self.say(f"{contestant}, {pattern.name}: the launcher did not end, and was killed; the result counts")
        elif ended.code != 0 or len(results) != 1:
            said = next((line for line in ended.output.splitlines() if line.startswith("mpiio_bench: ")), ended.output)
            raise Failure(f"{contestant}, {pattern.name}: {ended.how}: {said}")
        return results[0]

    def dd(self):
        """Times of one dd per host, all at once, to the storage hosts; in the form that run() has."""

        def seconds(host):
            amount = ["bs=4M", f"count={self.options.dd_mib // 4}", "conv=fsync"]
            command = ["env", "LC_ALL=C", "dd", "if=/dev/zero", f"of={PFS}/dd-{host}", *amount]
            return float(re.search(r"copied, ([0-9.]+) s", self.bed.must("on", host, *command)).group(1))

        with concurrent.futures.ThreadPoolExecutor() as pool:
            slowest = max(pool.map(seconds, HOSTS))
        self.bed.must("on", HOSTS[0], "rm", *(f"{PFS}/dd-{host}" for host in HOSTS))
        return {"bytes": len(HOSTS) * self.options.dd_mib * MIB, "write_s": 0, "close_s": slowest, "read_s": 0}

    def overlap(self, pattern, times, rates):
        """Of a larger amount: the close itself takes time too, even if nothing is left to write."""
        rank_bytes = OVERLAP * times["bytes"] // RANKS
        at_once = self.run("pmio", pattern, "--bytes", rank_bytes)
        overlapped = self.run("pmio", pattern, "--bytes", rank_bytes, "--compute", at_once["close_s"])
        comparison.add_rates(rates["pmio"], overlapped, ["overlap"])
        comparison.add_rates(rates.setdefault("own log", {}), {**overlapped, "close_s": 0}, ["overlap"])

    def measure_once(self, contestant, pattern, cold, rates):
        """One repetition. Its bytes."""
        phases = ["log", "file", *(["drain"] if contestant == "pmio" else [])]
        comparison.add_rates(cold.setdefault(contestant, {}), self.run(contestant, pattern, warm=False), phases)
        times = self.run(contestant, pattern)
        of = rates.setdefault(contestant, {})
        comparison.add_rates(of, times, phases)
        if pattern.reads:
            read = self.run(contestant, pattern, "--read", "--read-again", "--group", PER_HOST)
            comparison.add_rates(of, read, ["read", "again"])
        if pattern.overlaps and contestant == "pmio":
            self.overlap(pattern, times, rates)
        self.say(f"{pattern.name}, {contestant}: {of['log'][-1]:.1f} MB/s to log, {of['file'][-1]:.1f} to file")
        return times["bytes"]

    def measure(self, pattern):
        """The rates, cold and warm, and how many bytes each contestant wrote."""
        contestants = [name for name in self.options.contestants if CONTESTANTS[name][0] in self.mpis]
        cold, rates, amounts = {}, {}, {"dd": len(HOSTS) * self.options.dd_mib * MIB}
        for _ in range(self.options.repetitions):
            cold["dd"] = rates.setdefault("dd", {})
            comparison.add_rates(rates["dd"], self.dd(), ["drain"])
            for name in list(contestants):
                try:
                    amounts[name] = self.measure_once(name, pattern, cold, rates)
                except Failure as failure:
                    if name == "pmio":
                        raise
                    # It is left out: a contestant that takes for ever must not keep the others from being measured.
                    self.say(str(failure))
                    self.failures.append(str(failure))
                    contestants.remove(name)
                    cold.pop(name, None)
                    rates.pop(name, None)
        if "own log" in rates:
            amounts["own log"] = OVERLAP * amounts["pmio"]
        order = [name for name in [*CONTESTANTS, *LIMITS] if name in rates]
        return *({name: of[name] for name in order if name in of} for of in (cold, rates)), amounts


def choose_mpis(options):
    """By family; OMPIO only if it is wanted and there is an Open MPI."""
    mpis = {ROMIO: launch.choose_mpi(options.build, options.mpi)}
    if "ompio" in options.contestants:
        known = [mpi.tag for mpi in mpi_libraries.load(options.build) if mpi.family == OMPIO]
        if tag := options.open_mpi or max(known, default=None):
            mpis[OMPIO] = launch.choose_mpi(options.build, tag)
    for mpi in mpis.values():
        for program in {pattern.program for pattern in options.patterns}:
            if not places.benchmark(options.build, program, mpi).exists():
                raise TestbedError(
                    f"{options.build} has no {program}_bench-{mpi.tag}; build all, with HDF5 (scripts/setup)"
                )
    return mpis


def parse_options():
    parser = command_line.benchmark_parser(__doc__, repetitions=3, timeout=300, mpi=False)
    comparison.add_options(parser, log_size="256M")
    parser.add_argument("--mpi", help="tag of the MPICH; default: the newest")
    parser.add_argument("--open-mpi", help="tag of the Open MPI; default: the newest")
    parser.add_argument("--contestant", action="append", choices=CONTESTANTS, help="only these, and pmio")
    parser.add_argument("--servers", type=int, default=2, help="storage hosts")
    parser.add_argument("--dd-mib", type=int, default=DD // MIB, help="of each host's dd")
    command_line.add_figure(parser)
    options = parser.parse_args()
    options.contestants = [
        name for name in CONTESTANTS if name == "pmio" or name in (options.contestant or CONTESTANTS)
    ]
    options.patterns = comparison.chosen(PATTERNS, options.pattern)
    command_line.check_figure(parser, options)
    return options


def write_results(options, mpis, session, summaries):
    results = {
        "mpis": [mpi.tag for mpi in mpis.values()],
        "ranks": RANKS,
        "hosts": len(HOSTS),
        "servers": options.servers,
        "repetitions": options.repetitions,
        "results": summaries,
        "failures": session.failures,
    }
    tables.write_json(options.json, results)


def run_figure(*arguments):
    if (
        subprocess.run([places.SYSTEM_PYTHON, places.ROOT / "bench" / "figure.py", *arguments], check=False).returncode
        != 0
    ):
        raise SystemExit("nodes: no figure")


def main():
    options = parse_options()
    try:
        mpis = choose_mpis(options)
    except TestbedError as error:
        raise SystemExit(f"nodes: {error}") from None
    tags = " and ".join(mpi.tag for mpi in mpis.values())
    if options.figure:
        run_figure("--check")  # now, not after a quarter of an hour
    summaries = []
    with hosts.testbed(compute=len(HOSTS), servers=options.servers) as bed:
        session = Session(options, bed, mpis)
        session.dd()  # warms up
        print(f"{tags}, {RANKS} ranks on {len(HOSTS)} hosts, {options.servers} storage hosts, 1 Gbit/s, MooseFS, "
              f"{options.repetitions} repetitions, cold and warm; load before: {os.getloadavg()[0]:.1f}")
        for pattern in options.patterns:
            try:
                cold, rates, amounts = session.measure(pattern)
            except Failure as failure:
                raise SystemExit(f"nodes: {failure}") from None
            targets, cold_targets = (pattern.targets, pattern.cold_targets) if options.divide == 1 else ({}, {})
            summary = comparison.summarise(pattern, rates, amounts, targets, LIMITS, MODES)
            summary["cold"] = comparison.summarise(pattern, cold, amounts, cold_targets, LIMITS, MODES)
            summaries.append(summary)
            comparison.print_summary(summary, f"all {RANKS} ranks")
            write_results(options, mpis, session, summaries)
    if options.figure:
        run_figure(options.json, options.figure)
    for failure in session.failures:
        print(f"left out: {failure}")


if __name__ == "__main__":
    main()
