#!/usr/bin/env python3
"""Several hosts, pmio_across_nodes=on: every file is right, also after a crash and its recovery.

  across_nodes.py differential --mpi mpich-5.0.2 --seeds 1-3   every value and file is that of a plain run on one host;
                                                               --hosts 4 --ranks 16, for example; --set PMIO_MODE=twophase
  across_nodes.py threads --mpi mpich-5.0.2                    several threads of each rank, with values that they
                                                               check and the files of a plain run on one host
  across_nodes.py background --mpi mpich-5.0.2                 files closed by pmio_close=background, opened again, deleted,
                                                               renamed; a job that is killed behind the close
  across_nodes.py crash --mpi mpich-5.0.2 --kills 4            every acknowledged write is there after `pmio recover` on
                                                               each host, in any order and at once
"""

import random
import sys

from pmiolab import checks, command_line, differential, hosts, places, process_table, spanning_jobs
from pmiolab.spanning_jobs import HOSTS, RANKS, SECONDS

SECONDS_OF_SEED = 60


def launch(options, hosts):
    return spanning_jobs.launch(options.build, options.mpi, options.ranks, hosts)


# Differential


def compare(bed, options, scratch):
    first, last = options.seeds
    count = last - first + 1
    settings = dict(options.set)
    # In these modes the shared pointer of a file of several nodes is the MPI library's.
    no_shared = ["--no-shared"] if settings.get("PMIO_MODE") in ("independent", "twophase") else []
    restrictions = ["--by-all", *no_shared, *differential.restrictions(options.mpi)]
    scenarios = differential.Scenarios(
        options.build, None, options.ranks, options.ops, SECONDS_OF_SEED, None, restrictions
    )
    reference = differential.Contestant(options.reference, scenarios, False)
    expected = differential.reference_records(reference, first, count)
    bed.must("on", HOSTS[0], "mkdir", "/mnt/pfs/files")
    program = places.test_program(options.build, "differential", options.mpi)
    arguments = differential.arguments(scenarios, "/mnt/pfs/files", scratch / "record", first, count)
    wrapper = spanning_jobs.under_pmio(options.build, **settings)
    ended = bed.run(*launch(options, options.hosts), *wrapper, program, *arguments,
                    timeout=SECONDS + SECONDS_OF_SEED * count)  # fmt: skip
    found = differential.read_records(scratch, options.ranks)
    if ended.code != 0:
        return [f"{ended.how}\n{ended.output}\n{differential.last_lines(found)}"]
    complaints = []
    for seed in range(first, last + 1):
        wanted, got = differential.of_seed(expected, seed), differential.of_seed(found, seed)
        if where := differential.first_difference(wanted, got):
            complaints.append(
                f"seed {seed}: plain on one host (-) and pmio on several (+) differ\n{differential.describe(wanted, got, where)}"
            )
    return complaints + [f"left: {name}" for name in spanning_jobs.leftovers(bed, options.hosts)]


# Threads


def checksums(bed, host, name):
    lines = bed.must("on", host, "sh", "-c", f"cd /mnt/pfs && sha256sum {name}-*").splitlines()
    return {line.split()[1].removeprefix(name): line.split()[0] for line in lines}


def run_threads(bed, options, name, where, wrapper, *more):
    program = places.test_program(options.build, "threads_hosts", options.mpi)
    ended = bed.run(*launch(options, where), *wrapper, program, f"/mnt/pfs/{name}", *more, timeout=SECONDS)
    if ended.code == 0 and f"{len(where)} hosts" in ended.output.splitlines():
        return []
    return [f"{name}: {ended.how}\n{ended.output}"]


def thread_often(bed, options, _):
    """Also with a log of fewer segments than a rank has files, which is full of bytes that are not in the file yet."""
    complaints = run_threads(bed, options, "plain", options.hosts[:1], [], "turns")
    expected = None if complaints else checksums(bed, options.hosts[0], "plain")
    for number, size in enumerate(["8M", "256K"] * options.repetitions):
        name = f"threads{number}"
        wrapper = spanning_jobs.under_pmio(options.build, PMIO_LOG_SIZE=size)
        complaints = complaints or run_threads(bed, options, name, options.hosts, wrapper)
        for host in [] if complaints else options.hosts:
            if checksums(bed, host, name) != expected:
                complaints.append(f"{name}: not the files of the plain run on one host, read on {host}")
    return complaints + [f"left: {name}" for name in spanning_jobs.leftovers(bed, options.hosts)]


# Files closed by pmio_close=background


def run_background(bed, options, name, where, wrapper, *more):
    """How it ended. The files are in a directory of that name."""
    bed.must("on", where[0], "mkdir", f"/mnt/pfs/{name}")
    program = places.test_program(options.build, "background_close", options.mpi)
    return bed.run(*launch(options, where), *wrapper, program, f"/mnt/pfs/{name}", *more, timeout=SECONDS)


def checksums_in(bed, host, name):
    return bed.must("on", host, "sh", "-c", f"cd /mnt/pfs/{name} && sha256sum *").splitlines()


def close_in_background(bed, options, _):
    """All files are those of a plain run on one host."""
    wrapper = spanning_jobs.under_pmio(options.build, **dict(options.set))
    complaints = []
    for name, more in (("whole", []), ("crash", ["crash"])):
        plain = run_background(bed, options, f"{name}-plain", options.hosts[:1], [], *more)
        ended = run_background(bed, options, name, options.hosts, wrapper, *more)
        if more and (complaint := spanning_jobs.recover(bed, options.build, tuple(options.hosts))):
            complaints.append(f"recovery: {complaint}")
        if not more and (plain.code != 0 or ended.code != 0):
            complaints.append(f"plain: {plain.how}\n{plain.output}\npmio: {ended.how}\n{ended.output}")
        expected = checksums_in(bed, options.hosts[0], f"{name}-plain")
        for host in options.hosts:
            if (found := checksums_in(bed, host, name)) != expected:
                complaints.append(f"{name}: not the files of the plain run on one host, read on {host}:\n{found}")
        complaints += [f"left: {left}" for left in spanning_jobs.leftovers(bed, options.hosts)]
    return complaints


# Crashes


def run_until_killed(job, chooser):
    """'' once the ranks, or one of them, have been killed and the job has ended."""
    job.start(100000)
    moment = chooser.randrange(5, 150)
    job.wait_until(lambda: job.progress.started() >= moment)
    victims = job.ranks()
    process_table.kill(victims if chooser.random() < 0.7 else victims[-1:])
    left = job.wait_gone(SECONDS)
    code = job.end(0 if left else SECONDS)
    if left or code is None:
        return f"the job hangs; its ranks: {left}"
    return "" if len(victims) == RANKS else f"no job to kill\n{job.said()}"


def crash_round(bed, options, number, scratch):
    job = spanning_jobs.Job(bed, options.build, options.mpi, scratch, f"/mnt/pfs/crash-{number}", number)
    if complaint := run_until_killed(job, random.Random(number)):
        return complaint
    order = [HOSTS, HOSTS[::-1], set(HOSTS)][number % 3]
    if complaint := spanning_jobs.recover(bed, options.build, order):
        return f"recovery in the order {order}: {complaint}"
    if complaint := job.check(HOSTS[number % 2]):
        return f"after recovery in the order {order}: {complaint}"
    return "".join(f"left: {name}\n" for name in spanning_jobs.leftovers(bed))


def kill_often(bed, options, scratch):
    complaints = []
    for number in range(options.first, options.first + options.kills):
        directory = scratch / str(number)
        directory.mkdir()
        if complaint := crash_round(bed, options, number, directory):
            complaints.append(f"round {number}: {complaint}")
            break
    return complaints


WHAT = {"differential": compare, "threads": thread_often, "background": close_in_background, "crash": kill_often}


def parse():
    parser = command_line.parser(__doc__)
    parser.add_argument("what", choices=[*WHAT])
    parser.add_argument(
        "--seeds", default="1-3", type=lambda text: tuple(int(word) for word in text.split("-")), help="first-last"
    )
    differential.add_operations(parser)
    parser.add_argument("--hosts", default=len(HOSTS), type=int, help="crashes are of two")
    parser.add_argument("--ranks", default=RANKS, type=int, help="on all hosts together; crashes are of four")
    parser.add_argument(
        "--set", action="append", default=[], type=lambda text: tuple(text.split("=", 1)), help="KEY=VALUE, for pmio"
    )
    parser.add_argument("--repetitions", default=1, type=int, help="of threads")
    parser.add_argument("--fs", default="moosefs", help="file system of the testbed")
    parser.add_argument("--kills", default=3, type=int)
    parser.add_argument("--first", default=0, type=int, help="number of the first kill")
    options = parser.parse_args()
    if options.ranks % options.hosts:
        parser.error("--ranks is not a multiple of --hosts")
    options.hosts = [f"c{number + 1}" for number in range(options.hosts)]
    options.reference, options.mpi = differential.choose_mpis(options.build, options.mpi)
    return options


def main():
    options = parse()
    with places.temporary("across-nodes", "/tmp") as scratch, \
         hosts.testbed(compute=len(options.hosts), servers=2, file_system=options.fs) as bed:  # fmt: skip
        complaints = WHAT[options.what](bed, options, scratch)
    return checks.conclude(
        complaints, f"{options.mpi.tag}: {options.what} on {len(options.hosts)} hosts: nothing to complain of"
    )


if __name__ == "__main__":
    sys.exit(main())
