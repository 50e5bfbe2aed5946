#!/usr/bin/env python3
"""Two hosts, two ranks on each, pmio_across_nodes=on: the files, and what a crash leaves of them.

  across_nodes.py differential --mpi mpich-5.0.2 --seeds 1-3   every value and file as a plain run on one host has it
  across_nodes.py crash --mpi mpich-5.0.2 --kills 4            every acknowledged write is there after `pmio recover` on
                                                               each host, in any order and at once
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hosts  # and where harness is
import crash
import differential
import harness

RANKS, HOSTS = 4, ("c1", "c2")
SETTINGS = ["PMIO_ACROSS_NODES=on", "PMIO_LOG_SIZE=8M"]
SECONDS = 300


def launch(options):
    return ["mpiexec", "--build", options.build, "--mpi", options.mpi.tag, "-n", RANKS, "--ppn", RANKS // len(HOSTS)]


def under_pmio(options):
    return ["env", *SETTINGS, options.build / "bin" / "pmio", "run", "--"]


def leftovers(bed):
    """Names of logs and journals that are still there."""
    logs = [bed.must("on", host, "find", "/dev/shm", "-name", "job-*").split() for host in HOSTS]
    return [*sum(logs, []), *bed.must("on", HOSTS[0], "find", "/mnt/pfs", "-name", ".pmio-*").split()]


# Differential


def compare(bed, options, scratch):
    first, last = options.seeds
    count = last - first + 1
    reference = differential.Contestant(options.reference, options, False)
    expected = differential.reference_records(reference, first, count)
    bed.must("on", HOSTS[0], "mkdir", "/mnt/pfs/files")
    program = options.build / "tests" / "mpi" / f"differential-{options.mpi.tag}"
    arguments = ["--dir", "/mnt/pfs/files", "--record", scratch / "record", "--seed", first, "--seeds", count, "--ops", options.ops, *options.restrictions]
    code, output = bed.run(*launch(options), *under_pmio(options), program, *arguments, timeout=SECONDS)
    found = [differential.read_lines(scratch / f"record.{rank}") for rank in range(RANKS)]
    if code != 0:
        return [f"exit {code}\n{output}\n{differential.last_lines(found)}"]
    complaints = []
    for seed in range(first, last + 1):
        wanted, got = differential.of_seed(expected, seed), differential.of_seed(found, seed)
        if where := differential.first_difference(wanted, got):
            complaints.append(f"seed {seed}: plain on one host (-) and pmio on two (+) differ\n{differential.describe(wanted, got, where)}")
    return complaints + [f"left: {name}" for name in leftovers(bed)]


# Crashes


def ranks_of(path):
    """The processes of the job that was given this progress file, but for what launches them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"crash_writer" in words[0] and str(path).encode() in words:
                found.append(int(process.name))
    return found


def run_until_killed(bed, options, chooser, scratch, path, seed):
    """'' once the ranks, or one of them, have been killed and the job has ended."""
    program = options.build / "tests" / "mpi" / f"crash_writer-{options.mpi.tag}"
    progress = crash.Progress(scratch / "progress", RANKS)
    words = [hosts.COMMAND, "--name", bed.name, *launch(options), *under_pmio(options)]
    words += [program, "write", scratch / "progress", path, seed, 100000]
    with (scratch / "output").open("w") as output:
        job = subprocess.Popen([str(word) for word in words], stdout=output, stderr=output, start_new_session=True)
        moment, deadline = chooser.randrange(5, 150), time.monotonic() + SECONDS
        while progress.started() < moment and job.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        victims = ranks_of(scratch / "progress")
        for process in victims if chooser.random() < 0.7 else victims[-1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        try:
            job.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            return f"the job hangs; its ranks: {ranks_of(scratch / 'progress')}"
    return "" if len(victims) == RANKS else f"no job to kill\n{(scratch / 'output').read_text()}"


def recover(bed, options, order):
    """What went wrong; order: hosts, one after the other or, as a set, at once."""
    command = [options.build / "bin" / "pmio", "recover"]
    if isinstance(order, tuple):
        results = [(host, bed.run("on", host, *command)) for host in order]
    else:
        words = {host: [hosts.COMMAND, "--name", bed.name, "on", host, *command] for host in order}
        jobs = {host: subprocess.Popen([str(word) for word in line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for host, line in words.items()}
        results = [(host, (job.wait(SECONDS), job.communicate()[0])) for host, job in jobs.items()]
    return "".join(f"{host}: exit {code}\n{output}" for host, (code, output) in results if code != 0)


def crash_round(bed, options, number, scratch):
    chooser = random.Random(number)
    path = f"/mnt/pfs/crash-{number}"
    if complaint := run_until_killed(bed, options, chooser, scratch, path, number):
        return complaint
    order = [HOSTS, HOSTS[::-1], set(HOSTS)][number % 3]
    if complaint := recover(bed, options, order):
        return f"recovery in the order {order}: {complaint}"
    program = options.build / "tests" / "mpi" / f"crash_writer-{options.mpi.tag}"
    code, output = bed.run("on", HOSTS[number % 2], program, "check", scratch / "progress", path, number, RANKS)
    if code != 0:
        return f"after recovery in the order {order}: {output}"
    return "".join(f"left: {name}\n" for name in leftovers(bed))


def kill_often(bed, options, scratch):
    complaints = []
    for number in range(options.first, options.first + options.kills):
        directory = scratch / str(number)
        directory.mkdir()
        if complaint := crash_round(bed, options, number, directory):
            complaints.append(f"round {number}: {complaint}")
            break
    return complaints


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["differential", "crash"])
    parser.add_argument("--build", default=hosts.ROOT / "build" / "release", type=Path)
    parser.add_argument("--mpi", required=True, help="tag of the MPI")
    parser.add_argument("--seeds", default="1-3", type=lambda text: tuple(int(word) for word in text.split("-")))
    parser.add_argument("--ops", default=40, type=int)
    parser.add_argument("--kills", default=3, type=int)
    parser.add_argument("--first", default=0, type=int, help="number of the first kill")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.ranks, options.restrictions, options.timeout = RANKS, ["--by-all"], 60
    options.reference_build, options.work = None, None
    options.reference_mpi = None
    options.reference, options.mpi = differential.choose_mpis(options)
    options.restrictions += [] if options.mpi.tag.startswith("mpich-5") else ["--portable"]
    return options


def main():
    options = parse()
    scratch = Path(tempfile.mkdtemp(prefix="pmio-across-nodes-", dir="/tmp"))
    try:
        with hosts.testbed(compute=len(HOSTS), servers=2) as bed:
            complaints = (compare if options.what == "differential" else kill_often)(bed, options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("\n".join(complaints) or f"{options.mpi.tag}: {options.what} on two hosts: nothing to complain of")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
