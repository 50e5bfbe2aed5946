#!/usr/bin/env python3
"""Several hosts, pmio_across_nodes=on: the files, and what a crash leaves of them.

  across_nodes.py differential --mpi mpich-5.0.2 --seeds 1-3   every value and file as a plain run on one host has it;
                                                               --hosts 4 --ranks 16, for example
  across_nodes.py threads --mpi mpich-5.0.2                    several threads of each rank, with values that they
                                                               check and the files of a plain run on one host
  across_nodes.py crash --mpi mpich-5.0.2 --kills 4            every acknowledged write is there after `pmio recover` on
                                                               each host, in any order and at once
"""

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

import hosts  # and where mpi_processes is
import differential
import mpi_processes
import spanning_job
from spanning_job import HOSTS, RANKS, SECONDS

# Differential


def compare(bed, options, scratch):
    first, last = options.seeds
    count = last - first + 1
    reference = differential.Contestant(options.reference, options, False)
    expected = differential.reference_records(reference, first, count)
    bed.must("on", HOSTS[0], "mkdir", "/mnt/pfs/files")
    program = options.build / "tests" / "mpi" / f"differential-{options.mpi.tag}"
    arguments = ["--dir", "/mnt/pfs/files", "--record", scratch / "record", "--seed", first, "--seeds", count, "--ops", options.ops, *options.restrictions]
    launch = spanning_job.launch(options, options.ranks, options.hosts)
    code, output = bed.run(*launch, *spanning_job.under_pmio(options), program, *arguments, timeout=SECONDS + options.timeout * count)
    found = [differential.read_lines(scratch / f"record.{rank}") for rank in range(options.ranks)]
    if code != 0:
        return [f"exit {code}\n{output}\n{differential.last_lines(found)}"]
    complaints = []
    for seed in range(first, last + 1):
        wanted, got = differential.of_seed(expected, seed), differential.of_seed(found, seed)
        if where := differential.first_difference(wanted, got):
            complaints.append(f"seed {seed}: plain on one host (-) and pmio on several (+) differ\n{differential.describe(wanted, got, where)}")
    return complaints + [f"left: {name}" for name in spanning_job.leftovers(bed, options.hosts)]


# Threads


def checksums(bed, host, name):
    lines = bed.must("on", host, "sh", "-c", f"cd /mnt/pfs && sha256sum {name}-*").splitlines()
    return {line.split()[1].removeprefix(name): line.split()[0] for line in lines}


def run_threads(bed, options, name, where, wrapper, *more):
    program = options.build / "tests" / "mpi" / f"threads_hosts-{options.mpi.tag}"
    launch = spanning_job.launch(options, options.ranks, where)
    code, output = bed.run(*launch, *wrapper, program, f"/mnt/pfs/{name}", *more, timeout=SECONDS)
    if code == 0 and f"{len(where)} hosts" in output.splitlines():
        return []
    return [f"{name}: exit {code}\n{output}"]


# A log of fewer segments than a rank has files, too: it is full of what is not in the file.
def thread_often(bed, options, _):
    complaints = run_threads(bed, options, "plain", options.hosts[:1], [], "turns")
    expected = None if complaints else checksums(bed, options.hosts[0], "plain")
    for number, size in enumerate(["8M", "256K"] * options.repetitions):
        name = f"threads{number}"
        wrapper = spanning_job.under_pmio(options, PMIO_LOG_SIZE=size)
        complaints = complaints or run_threads(bed, options, name, options.hosts, wrapper)
        for host in [] if complaints else options.hosts:
            if checksums(bed, host, name) != expected:
                complaints.append(f"{name}: not the files of the plain run on one host, read on {host}")
    return complaints + [f"left: {name}" for name in spanning_job.leftovers(bed, options.hosts)]


# Crashes


def run_until_killed(job, chooser):
    """'' once the ranks, or one of them, have been killed and the job has ended."""
    job.start(100000)
    moment = chooser.randrange(5, 150)
    job.wait_until(lambda: job.progress.started() >= moment)
    victims = job.ranks()
    mpi_processes.kill(victims if chooser.random() < 0.7 else victims[-1:])
    left = job.wait_gone(SECONDS)
    code = job.end(0 if left else SECONDS)
    if left or code is None:
        return f"the job hangs; its ranks: {left}"
    return "" if len(victims) == RANKS else f"no job to kill\n{job.said()}"


def crash_round(bed, options, number, scratch):
    job = spanning_job.Job(bed, options, scratch, f"/mnt/pfs/crash-{number}", number)
    if complaint := run_until_killed(job, random.Random(number)):
        return complaint
    order = [HOSTS, HOSTS[::-1], set(HOSTS)][number % 3]
    if complaint := spanning_job.recover(bed, options, order):
        return f"recovery in the order {order}: {complaint}"
    if complaint := job.check(HOSTS[number % 2]):
        return f"after recovery in the order {order}: {complaint}"
    return "".join(f"left: {name}\n" for name in spanning_job.leftovers(bed))


def kill_often(bed, options, scratch):
    complaints = []
    for number in range(options.first, options.first + options.kills):
        directory = scratch / str(number)
        directory.mkdir()
        if complaint := crash_round(bed, options, number, directory):
            complaints.append(f"round {number}: {complaint}")
            break
    return complaints


WHAT = {"differential": compare, "threads": thread_often, "crash": kill_often}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*WHAT])
    parser.add_argument("--build", default=hosts.ROOT / "build" / "release", type=Path)
    parser.add_argument("--mpi", required=True, help="tag of the MPI")
    parser.add_argument("--seeds", default="1-3", type=lambda text: tuple(int(word) for word in text.split("-")))
    parser.add_argument("--ops", default=40, type=int)
    parser.add_argument("--hosts", default=len(HOSTS), type=int, help="crashes are of two")
    parser.add_argument("--ranks", default=RANKS, type=int, help="on all hosts together; crashes are of four")
    parser.add_argument("--repetitions", default=1, type=int, help="of threads")
    parser.add_argument("--fs", default="moosefs", help="file system of the testbed")
    parser.add_argument("--kills", default=3, type=int)
    parser.add_argument("--first", default=0, type=int, help="number of the first kill")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if options.ranks % options.hosts:
        parser.error("--ranks is not a multiple of --hosts")
    options.hosts = [f"c{number + 1}" for number in range(options.hosts)]
    options.restrictions, options.timeout = ["--by-all"], 60
    options.reference_build, options.work = None, None
    options.reference_mpi = None
    options.reference, options.mpi = differential.choose_mpis(options)
    options.restrictions += [] if options.mpi.tag.startswith("mpich-5") else ["--portable"]
    return options


def main():
    options = parse()
    scratch = Path(tempfile.mkdtemp(prefix="pmio-across-nodes-", dir="/tmp"))
    try:
        with hosts.testbed(compute=len(options.hosts), servers=2, file_system=options.fs) as bed:
            complaints = WHAT[options.what](bed, options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("\n".join(complaints) or f"{options.mpi.tag}: {options.what} on {len(options.hosts)} hosts: nothing to complain of")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
