#!/usr/bin/env python3
"""A user's jobs under Slurm are killed with bytes in pmio's logs, on two hosts; the epilog, as the user,
writes them to the files.

Two jobs have a host each; then one runs on both hosts, and its file is logged across them.

  slurm_recover.py --mpi mpich-5.0.2
"""

import pwd
import re
import shutil

from pmiolab import checks, command_line, crash_writer, hosts, mpi_libraries, places, spanning_jobs
from pmiolab.checks import is_complete
from pmiolab.places import MIB
from pmiolab.spanning_jobs import HOSTS, RANKS

USER = "nobody"
SEED, CALLS, ABORT_AT = 1, 120, 100  # of crash_writer: one open; the job is killed before the close


def readable_copy(build, mpi, directory):
    """Copies what the user runs: other users may have no access to the build directory."""
    programs = [f"tests/mpi/{program}-{mpi.tag}" for program in ("full_target", "crash_writer")]
    libraries = [f"lib/{name}" for name in ("libpmio.so", mpi.runtime.name, "pmio-mpi.json", "pmio-mpi.list")]
    for name in ("bin/pmio", *libraries, *programs):
        copy = directory / name.replace("tests/mpi", "bin")
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(build / name, copy)
    directory.chmod(0o755)


def site_script(directory):
    """Prolog and epilog: notes what there is to recover, and recovers it."""
    script = directory / "recover"
    pmio = directory / "bin" / "pmio"
    inspect = " ".join([*as_user(), f"{pmio} inspect --dir /dev/shm/pmio-$SLURM_JOB_UID >> {directory}/inspected 2>&1"])
    script.write_text(f"#!/bin/sh\n{inspect}\nPMIO={pmio} exec {places.ROOT}/contrib/slurm/pmio-recover.sh\n")
    script.chmod(0o755)
    return script


def logs_of(bed, host):
    return bed.must("on", host, "find", "/dev/shm", "/var/tmp", "-user", USER, "-name", "job-*").split()


def as_user():
    user = pwd.getpwnam(USER)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def run_as_user(bed, words, settings, command):
    """(exit code, output) of srun's job of that user."""
    environment = ["env", *(f"{key}={value}" for key, value in {"PMIO_BACKGROUND": "off", **settings}.items())]
    return bed.run("on", "login", *as_user(), "srun", "--quiet", "--chdir=/", *words, *environment, *command)


def pmio_run(mpi, directory):
    return [directory / "bin" / "pmio", "run", "--mpi", mpi.tag, "--"]


def wait_for_epilogs(bed):
    bed.must("on", "login", "srun", "--exclusive", f"--nodes={len(HOSTS)}", "--chdir=/", "true")


def of_one_host_each(bed, mpi, directory, checking):
    """Two jobs of one rank, each with a file of its own; they kill themselves when everything is in the log."""
    jobs = []
    for host in HOSTS:
        job = f"unset LD_PRELOAD; ls -d /dev/shm/*/job-* > /mnt/pfs/logs-{host}; kill -9 $PPID"
        command = [
            *pmio_run(mpi, directory),
            directory / "bin" / f"full_target-{mpi.tag}",
            f"/mnt/pfs/{host}",
            MIB,
            job,
        ]
        jobs.append(run_as_user(bed, ["--nodelist", host, "--ntasks=1"], {"PMIO_LOG_SIZE": "4M"}, command))
    for host, (code, output) in zip(HOSTS, jobs):
        _, logs = bed.run("on", host, "cat", f"/mnt/pfs/logs-{host}")
        killed = code not in (0, None) and "/job-" in logs
        checking.check(f"{host}: the job was killed, with a log", killed, f"{code}: {output}{logs}")
    wait_for_epilogs(bed)
    for host in HOSTS:
        copy = directory / f"file-{host}"
        bed.must("on", host, "cp", f"/mnt/pfs/{host}", copy)
        checking.check(f"{host}: the epilog has brought all of it in", is_complete(copy, MIB), logs_of(bed, host))
        checking.check(f"{host}: no log is left", not logs_of(bed, host), logs_of(bed, host))


def of_both_hosts(bed, mpi, directory, checking):
    """A job of both hosts, of which a rank kills itself; with MPI_Abort it would drain first."""
    path, progress_file = "/mnt/pfs/spanning", directory / "progress"
    progress = crash_writer.Progress(progress_file, RANKS)
    progress_file.chmod(0o666)
    program = directory / "bin" / f"crash_writer-{mpi.tag}"
    command = [*pmio_run(mpi, directory), program, "die", progress_file, path, SEED, CALLS, ABORT_AT]
    words = ["--mpi=pmi2", "--kill-on-bad-exit=1", "--nodelist", ",".join(HOSTS), "--ntasks", RANKS]
    words += ["--ntasks-per-node", RANKS // len(HOSTS)]
    code, output = run_as_user(bed, words, {"PMIO_LOG_SIZE": "64M"}, command)
    died = code not in (0, None) and progress.started() >= ABORT_AT and not progress.finished()
    checking.check("both hosts: the job was killed", died, f"{code}: {output}")
    wait_for_epilogs(bed)
    inspected = (directory / "inspected").read_text()
    found = re.findall(rf"{path}\n +[1-9]\d* of \d+ records to be written", inspected)
    checking.check("both hosts: each had a log of the file", len(found) == len(HOSTS), inspected)
    code, output = bed.run("on", HOSTS[0], program, "check", progress_file, path, SEED, RANKS)
    checking.check("both hosts: the epilogs have brought all of it in", code == 0, output)
    left = spanning_jobs.leftovers(bed)
    checking.check("both hosts: no log and no journal is left", not left, left)


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    hosts.skip_without_slurm()
    checking = checks.Checks()
    with places.temporary("slurm") as directory, hosts.testbed() as bed:
        readable_copy(options.build, mpi, directory)
        script = site_script(directory)
        bed.must("slurm", "--prolog", script, "--epilog", script)
        bed.must("on", HOSTS[0], "chmod", "777", "/mnt/pfs")
        of_one_host_each(bed, mpi, directory, checking)
        of_both_hosts(bed, mpi, directory, checking)
    return checking.conclude()


if __name__ == "__main__":
    raise SystemExit(main())
