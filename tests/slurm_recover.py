#!/usr/bin/env python3
"""A user's job under Slurm is killed with bytes in pmio's logs, on two hosts; the epilog, as the user, brings them into
the files.

  slurm_recover.py --mpi mpich-5.0.2
"""

import pwd
import shutil
import tempfile
from pathlib import Path

import checks
import hosts
import harness
from checks import MIB, is_complete

USER = "nobody"
HOSTS = ("c1", "c2")


def readable_copy(build, mpi, directory):
    """Of what the user runs: the build directory may be closed to others."""
    for name in ("bin/pmio", f"lib/{mpi.runtime.name}", "lib/pmio-mpi.json", f"bin/full_target-{mpi.tag}"):
        copy = directory / name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(build / name.replace("bin/full", "tests/mpi/full"), copy)
    directory.chmod(0o755)


def site_script(directory):
    script = directory / "recover"
    script.write_text(f"#!/bin/sh\nPMIO={directory}/bin/pmio exec {hosts.ROOT}/contrib/slurm/pmio-recover.sh\n")
    script.chmod(0o755)
    return script


def logs_of(bed, host):
    return bed.must("on", host, "find", "/dev/shm", "/var/tmp", "-user", USER, "-name", "job-*").split()


def kill_a_job(bed, mpi, directory):
    """A rank a host, each with a file of its own; they kill themselves when everything is in the log."""
    user = pwd.getpwnam(USER)
    as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    commands = []
    for host in HOSTS:
        job = f"unset LD_PRELOAD; ls -d /dev/shm/*/job-* > /mnt/pfs/logs-{host}; kill -9 $PPID"
        words = ["srun", "--quiet", "--chdir=/", "--nodelist", host, "--ntasks=1"]
        words += ["env", "PMIO_BACKGROUND=off", "PMIO_LOG_SIZE=4M"]
        words += [directory / "bin" / "pmio", "run", "--mpi", mpi.tag, "--"]
        words += [directory / "bin" / f"full_target-{mpi.tag}"]
        commands.append(bed.run("on", "login", *as_user, *words, f"/mnt/pfs/{host}", MIB, job))
    return commands


def main():
    options = checks.parser(__doc__).parse_args()
    mpi = harness.choose_mpi(options.build, options.mpi)
    hosts.skip_without_slurm()
    checking = checks.Checks()
    with tempfile.TemporaryDirectory(prefix="pmio-slurm-") as scratch, hosts.testbed() as bed:
        directory = Path(scratch)
        readable_copy(options.build, mpi, directory)
        script = site_script(directory)
        bed.must("slurm", "--prolog", script, "--epilog", script)
        bed.must("on", HOSTS[0], "chmod", "777", "/mnt/pfs")
        jobs = kill_a_job(bed, mpi, directory)
        for host, (code, output) in zip(HOSTS, jobs):
            _, logs = bed.run("on", host, "cat", f"/mnt/pfs/logs-{host}")
            killed = code not in (0, None) and "/job-" in logs
            checking.check(f"{host}: the job was killed, with a log", killed, f"{code}: {output}{logs}")
        bed.must("on", "login", "srun", "--exclusive", "--nodes=2", "--chdir=/", "true")  # when the epilogs are over
        for host in HOSTS:
            copy = directory / f"file-{host}"
            bed.must("on", host, "cp", f"/mnt/pfs/{host}", copy)
            checking.check(f"{host}: the epilog has brought all of it in", is_complete(copy, MIB), logs_of(bed, host))
            checking.check(f"{host}: no log is left", not logs_of(bed, host), logs_of(bed, host))
    return checking.conclude()


if __name__ == "__main__":
    raise SystemExit(main())
