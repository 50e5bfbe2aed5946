#!/usr/bin/env python3
"""Files of groups in a job on two nodes, which are one host here: MPICH can be told so (tests/mpi/groups_hosts.c).

What a node's ranks have written is seen by the other node's after a barrier, the files are those of a plain run, and
what a job that was killed has logged is recovered.

  groups.py --mpi mpich-5.0.2
"""

import subprocess

from pmiolab import checks, command_line, mpi_libraries, places, processes

RANKS = 4  # in turn on the one node and on the other
TIMEOUT = 120
WAITS = 3  # the exit code of a recovery that waits for another node's


# What all ranks have closed is kept for all: then one rank alone does not log it.
LOGGED = {"PMIO_MODE": "log", "PMIO_KEEP_CLOSED": "off"}


class Groups:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.logs = [scratch / f"log{node}" for node in range(2)]
        self.program = places.test_program(options.build, "groups_hosts", options.mpi)
        self.environment = mpi_libraries.environment(options.mpi) | mpi_libraries.TWO_NODES | {"PMIO_REGISTRY": str(scratch)}
        self.pmio = places.pmio(options.build)

    def run(self, name, *words, pmio=True, **settings):
        command = [self.options.mpi.mpiexec]
        yielding = processes.with_environment({}, [places.yielding(self.options.build)])
        for rank in range(RANKS):
            under = [self.pmio, "run", "--dir", self.logs[rank % 2], "--"] if pmio else []
            command += [":"] if rank > 0 else []
            command += ["-n", 1, *yielding, *under, self.program, self.scratch / name, *words]
        return subprocess.run([str(word) for word in command], env=self.environment | settings,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT,
                              check=False)  # fmt: skip

    def files(self, name):
        return {path.name.removeprefix(name): path.read_bytes() for path in self.scratch.glob(f"{name}*")}

    def recover(self):
        """On each node; a file of ranks of both is complete when the last one has been."""
        for log in self.logs:
            done = subprocess.run([self.pmio, "recover", "--dir", log], capture_output=True, text=True, check=False)
            if done.returncode != (0 if log == self.logs[-1] else WAITS):
                return f"pmio recover: {done}"
        return ""

    def left(self):
        return [f"left: {path}" for log in self.logs for path in log.glob("job-*")]


def compare(groups):
    """Also where files of one rank alone are expected to be small, and logged later, or not at all."""
    plain = groups.run("plain", "strict", pmio=False)
    complaints = [] if plain.returncode == 0 else [f"plain: {plain}"]
    for name, words, settings in (("logged", ["log"], LOGGED), ("late", ["late"], {})):
        ended = groups.run(name, "strict", *words, **settings)
        if ended.returncode != 0 or ended.stderr:
            complaints.append(f"{name}: {ended}")
        elif groups.files("plain") != groups.files(name):
            complaints.append(f"{name}: the files are not those of the plain run")
    return complaints + groups.left()


def kill(groups):
    killed = groups.run("killed", "log", "killed", PMIO_MODE="log")
    logged = sum(path.stat().st_size for log in groups.logs for path in log.glob("job-*/seg-*"))
    if killed.returncode == 0 or logged == 0:
        return [f"nothing was killed in the middle of its work: {killed}"]
    if complaint := groups.recover():
        return [complaint]
    found = groups.run("killed", "left", pmio=False)
    return ([] if found.returncode == 0 else [f"after the recovery: {found}"]) + groups.left()


def main():
    options = command_line.parser(__doc__).parse_args()
    options.mpi = mpi_libraries.choose(options.build, options.mpi)
    with places.temporary("groups", places.memory()) as scratch:
        groups = Groups(options, scratch.resolve())
        complaints = compare(groups) + kill(groups)
    return checks.conclude(complaints, f"{options.mpi.tag}: files of groups on two nodes: nothing to complain of")


if __name__ == "__main__":
    raise SystemExit(main())
