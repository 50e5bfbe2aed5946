#!/usr/bin/env python3
"""A program on two hosts, plain and under pmio, leaves the file that a plain run on one host leaves.

The program is across_hosts.c, or another one, by two ranks on each host. Under pmio the file of
across_hosts.c is logged; it is handed on if the hosts cannot reach each other.

  across_hosts.py --mpi openmpi-5.0.11 --fs moosefs
  across_hosts.py --mpi openmpi-5.0.11 --slurm        launched by srun
  across_hosts.py --mpi mpich-5.0.2 --program handed_on_hosts
  across_hosts.py --mpi mpich-5.0.2 --missing         one rank or host, and then another, runs without pmio
"""

from pmiolab import checks, command_line, hosts, mpi_libraries, places

RANKS = 4
# The program is told to look whether it is logged. Files of one rank alone are too small to be, if nobody asks for it.
MUST_BE_LOGGED = {"groups_hosts": ["env", "PMIO_MODE=log"], "handed_on_hosts": []}
# Name of a run and pattern of the shell: ranks without pmio, of which 0 and 1 are on the first host.
NOBODY = "none"
MISSING = {"without-a-rank": "3", "without-a-host": "[23]", "without-the-first": "[01]", "without-none": NOBODY}
# sh -c OR_WITHOUT sh PATTERN 'PMIO RUN --' PROGRAM ARGUMENT...
OR_WITHOUT = """\
pattern=$1 pmio=$2
shift 2
eval "case $PMI_RANK$OMPI_COMM_WORLD_RANK in $pattern) pmio=;; esac"
exec $pmio "$@"
"""
SOME_MISSING = "some programs of this job run without pmio"


def checksum(bed, host, name):
    return bed.must("on", host, "sha256sum", f"/mnt/pfs/{name}").split()[0]


def run_job(bed, options, name, where, command, *expected_mode):
    """The complaint, or ''."""
    program = places.test_program(options.build, options.program, options.mpi)
    launch = ["mpiexec", *(["--slurm"] if options.slurm else []), "--build", options.build, "--mpi", options.mpi.tag]
    launch += ["-n", RANKS, "--hosts", ",".join(where)]
    ended = bed.run(*launch, *command, program, f"/mnt/pfs/{name}", *expected_mode)
    # Open MPI 4's launcher says more, and pmio does when it hands on.
    expected = f"{len(where)} hosts"
    told = SOME_MISSING in ended.output
    if ended.code == 0 and expected in ended.output.splitlines() and told == (MISSING.get(name, NOBODY) != NOBODY):
        return ""
    return f"{name}: {ended.how}, expected '{expected}'\n{ended.output}"


def compare(bed, options):
    pmio = [places.pmio(options.build), "run", "--"]
    both = ["c1", "c2"]
    jobs = [("one-host", ["c1"], []), ("plain", both, [])]
    if options.missing:
        run = f"env PMIO_KEEP_CLOSED=off {pmio[0]} run --stats --"
        jobs += [(name, both, ["sh", "-c", OR_WITHOUT, "sh", missing, run], *(["log"] if missing == NOBODY else []))
                 for name, missing in MISSING.items()]  # fmt: skip
    elif options.program == "across_hosts":
        # A file that rests in the logs is logged again when it is opened for reading: rested_hosts is about that.
        jobs += [("pmio", both, ["env", "PMIO_KEEP_CLOSED=off", *pmio], "log"),
                 ("unreachable", both, ["env", "PMIO_INTERFACE=lo", *pmio], "off")]  # fmt: skip
    else:
        logged = options.program in MUST_BE_LOGGED
        jobs += [("pmio", both, [*MUST_BE_LOGGED.get(options.program, []), *pmio], *(["log"] if logged else []))]
    complaints = [complaint for job in jobs if (complaint := run_job(bed, options, *job))]
    if complaints:
        return complaints
    expected = checksum(bed, "c1", "one-host")
    reads = [(job[0], host) for job in jobs[1:] for host in both]
    found = [(name, host) for name, host in reads if checksum(bed, host, name) != expected]
    complaints = [f"{name}: not the file of the plain run on one host, read on {host}" for name, host in found]
    for host in both:
        if jobs_left := bed.must("on", host, "find", "/dev/shm", "-name", "job-*"):
            complaints.append(f"{host}: logs are left: {jobs_left}")
    return complaints


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--fs", default="moosefs", help="file system of the testbed")
    parser.add_argument("--program", default="across_hosts", help="of tests/mpi")
    parser.add_argument("--missing", action="store_true", help="some ranks run without pmio")
    parser.add_argument("--slurm", action="store_true", help="launch by Slurm")
    options = parser.parse_args()
    options.mpi = mpi_libraries.choose(options.build, options.mpi)
    if options.slurm:
        hosts.skip_without_slurm()
    with hosts.testbed(file_system=options.fs) as bed:
        if options.slurm:
            bed.must("slurm")
        complaints = compare(bed, options)
    ranks = f"{'by Slurm, ' if options.slurm else ''}{RANKS} ranks on 2 hosts"
    return checks.conclude(complaints, f"{options.mpi.tag}: {ranks}, plain and under pmio, wrote the file of one host")


if __name__ == "__main__":
    raise SystemExit(main())
