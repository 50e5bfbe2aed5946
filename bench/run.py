#!/usr/bin/env python3
"""Compares pmio with plain MPI-IO: the contestants take turns in one session, and medians are compared.

Time-to-log is the time in the write calls, time-to-file that plus the close; reads are collective, before the close, of
what another rank wrote. memcpy copies the same bytes, call by call, to warm memory of the log's medium and back: what
the machine can do at best, and the reason where a target lies beyond it. "checked copy" also reads the clock and takes
a CRC-32C per call, as any log must that orders its records and tells torn ones. Where a contestant is too slow for the
whole amount it writes less, and rates are compared; the table says so. Every run checks every byte.

  bench/run.py --mpi mpich-5.0.2 --repetitions 5 --json results.json
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import comparison  # and where harness is
import harness
import mpi_processes
from comparison import MIB, ROOT, Pattern

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
# Of all contestants but: of the latter reads are memcpy's.
PHASES = {"memcpy": ("log", "read"), "checked copy": ("log",)}


class Session:
    def __init__(self, options, mpi):
        self.options, self.mpi = options, mpi
        self.program = options.build / "bin" / f"mpiio_bench-{mpi.tag}"
        self.contestants = CONTESTANTS[mpi.family] | LIMITS

    def run(self, contestant, pattern, reading, scratch, logs):
        settings, preload = {}, []
        if contestant == "pmio":
            settings, preload = {"PMIO_DIR": logs, "PMIO_LOG_SIZE": self.options.log_size}, [self.mpi.runtime]
        command = [self.mpi.mpiexec, "-n", 2, *mpi_processes.with_environment(settings, preload), self.program]
        rank_bytes = pattern.bytes_of(contestant, self.options.divide)
        command += ["--file", Path(scratch) / "target", *pattern.arguments, "--bytes", rank_bytes]
        command += ["--warm", *(["--read"] if reading else []), *self.contestants[contestant]]
        if contestant in LIMITS:
            command += [logs]
        env = harness.environment(self.mpi)
        code, output = mpi_processes.run([str(word) for word in command], env, self.options.timeout)
        if code != 0:
            raise SystemExit(f"{contestant}, {pattern.name}: {'timed out' if code is None else f'exit {code}'}\n{output}")
        return json.loads(output.splitlines()[-1])

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    parser.add_argument("--mpi", help="tag of the MPI; default: the first")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--pattern", action="append", help="only patterns whose name contains this")
    parser.add_argument("--divide", type=int, default=1, help="all amounts by this, for a quick look without targets")
    parser.add_argument("--log-size", default="1G", help="of a rank, in pmio's log")
    parser.add_argument("--log-dir", default="/dev/shm", help="where the log directory is made: a tmpfs")
    parser.add_argument("--work", default=ROOT, type=Path, help="where target files are written: a disk file system")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.build = options.build.resolve()
    return options


def main():
    options = parse_options()
    mpi = harness.choose_mpi(options.build, options.mpi)
    session, summaries = Session(options, mpi), []
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(options.work)], capture_output=True, text=True, check=False)
    print(f"{mpi.tag}, 2 ranks, {options.repetitions} repetitions, files on {kind.stdout.strip()}, every run warmed up")
    for pattern in PATTERNS:
        if options.pattern and not any(part in pattern.name for part in options.pattern):
            continue
        with tempfile.TemporaryDirectory(prefix="pmio-bench-", dir=options.work) as scratch, \
             tempfile.TemporaryDirectory(prefix="pmio-bench-", dir=options.log_dir) as logs:  # fmt: skip
            rates, amounts = session.measure(pattern, scratch, logs)
        targets = pattern.targets if mpi.family == "mpich" and options.divide == 1 else {}
        summaries.append(comparison.summarise(pattern, rates, amounts, targets, LIMITS))
        comparison.print_summary(summaries[-1], "both ranks")
    if options.json:
        options.json.write_text(json.dumps({"mpi": mpi.tag, "results": summaries}, indent=1) + "\n")


if __name__ == "__main__":
    main()
