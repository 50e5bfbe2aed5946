#!/usr/bin/env python3
"""What each pmio_durability does, with the log on a disk file system. `always` syncs the log at every write, `sync` at
pmio_persist and MPI_File_sync, `none` never. The target is synced before its log is removed, except under `none`.

  durability.py --mpi mpich-5.0.2
"""

import sys
from pathlib import Path

from pmiolab import checks, command_line, mpi_jobs, mpi_libraries, places, processes
from pmiolab.places import MIB

SECONDS = 60  # that a job or a recovery may take


def file_system(path):
    """The type of the mount that path is on."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    above = [(where, kind) for where, kind in mounts if (str(path) + "/").startswith(where.rstrip("/") + "/")]
    return max(above, key=lambda mount: len(mount[0]))[1]


class Durability(checks.Checks):
    def __init__(self, build, mpi, scratch):
        super().__init__()
        self.build, self.mpi, self.scratch = build, mpi, scratch
        self.logs, self.file = scratch / "logs", scratch / "file"
        self.logs.mkdir(mode=0o700)

    def job(self, program, arguments, **settings):
        settings.setdefault("PMIO_DIRECT_FROM", "off")
        settings.update(PMIO_DIR=self.logs, PMIO_REGISTRY=self.scratch, PMIO_BACKGROUND="off", PMIO_LOG_SIZE="16M")
        words = [places.test_program(self.build, program, self.mpi), self.file, *arguments]
        preload = [self.mpi.runtime, places.faults(self.build)]
        return mpi_jobs.run(self.mpi, 2, words, settings=settings, preload=preload, timeout=SECONDS)

    def syncs_of_the_log(self):
        for policy in ("always", "sync", "none"):
            code, output = self.job("persist", [policy], PMIO_DURABILITY=policy)
            self.check(f"{policy}: msync calls", code == 0, output)
        code, output = self.job("persist", ["off"], PMIO_MODE="off")
        self.check("pmio_persist of a file that pmio does not know", code == 0, output)

    def failing_sync_of_the_target(self, policy):
        """A device that fails at the sync only: the log must keep what it holds."""
        gate = self.scratch / "gate"  # the file is synced at the open too, and that sync has to succeed
        broken = {"FAULTS": "fdatasync:EIO:/file:1-999999", "FAULTS_WHILE": gate}
        arguments = [MIB, f"env -u LD_PRELOAD touch {gate}"]
        code, output = self.job("full_target", arguments, PMIO_DURABILITY=policy, **broken)
        gate.unlink(missing_ok=True)
        self.check(f"{policy}: a failing sync of the target is an error of the close", "any error 1" in output, output)
        left = list(self.logs.glob("job-*"))
        self.check(f"{policy}: and the log is kept", len(left) == 1, output)
        recovery = [places.pmio(self.build), "recover", "--dir", self.logs]
        code, output = processes.run(recovery, mpi_libraries.environment(self.mpi), SECONDS)
        self.check(f"{policy}: from where the file is restored", code == 0 and "restored" in output, output)

    def no_sync_of_the_target(self):
        broken = {"FAULTS": "fdatasync:EIO:/file:1-999999"}
        code, output = self.job("full_target", [MIB], PMIO_DURABILITY="none", **broken)
        self.check("none: the target is not synced", code == 0 and "any error 0" in output, output)


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    with places.temporary("durability", options.build) as scratch:
        if file_system(scratch) in ("tmpfs", "ramfs"):
            checks.skip(f"{scratch} is in memory")
        durability = Durability(options.build, mpi, scratch)
        durability.syncs_of_the_log()
        for policy in ("always", "sync"):
            durability.failing_sync_of_the_target(policy)
        durability.no_sync_of_the_target()
    return durability.conclude()


if __name__ == "__main__":
    sys.exit(main())
