#!/usr/bin/env python3
"""What each pmio_durability does, with the log on a disk file system: `always` syncs the log at every write, `sync` at
pmio_persist and MPI_File_sync, `none` never; and the target is synced before its log is let go, but under `none`.

  durability.py --mpi mpich-5.0.2
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "programs")]
import checks
import harness
import mpi_processes
from checks import MIB


def file_system(path):
    """The type of the mount that path is on."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    above = [(where, kind) for where, kind in mounts if (str(path) + "/").startswith(where.rstrip("/") + "/")]
    return max(above, key=lambda mount: len(mount[0]))[1]


def main():
    options = checks.parser(__doc__).parse_args()
    mpi = harness.choose_mpi(options.build, options.mpi)
    scratch = tempfile.TemporaryDirectory(prefix="pmio-durability-", dir=options.build)
    if file_system(scratch.name) in ("tmpfs", "ramfs"):
        return harness.SKIPPED
    faults = options.build / "lib" / "libpmio_faults.so"
    checking = checks.Checks()

    def job(name, program, arguments, **settings):
        settings.update(PMIO_DIR=scratch.name + "/logs", PMIO_REGISTRY=scratch.name, PMIO_BACKGROUND="off", PMIO_LOG_SIZE="16M")
        command = [mpi.mpiexec, "-n", "2", *mpi_processes.with_environment(settings, [mpi.runtime, faults])]
        command += [options.build / "tests" / "mpi" / f"{program}-{mpi.tag}", scratch.name + "/file", *arguments]
        return mpi_processes.run([str(word) for word in command], harness.environment(mpi), 60)

    os.mkdir(scratch.name + "/logs", 0o700)
    for policy in ("always", "sync", "none"):
        code, output = job(policy, "persist", [policy], PMIO_DURABILITY=policy)
        checking.check(f"{policy}: msync calls", code == 0, output)
    code, output = job("off", "persist", ["off"], PMIO_MODE="off")
    checking.check("pmio_persist of a file that pmio does not know", code == 0, output)

    # A device that fails at the sync only: under `always` and `sync` the log may not let go of what it holds.
    for policy in ("always", "sync"):
        gate = Path(scratch.name, "gate")  # the file is synced at the open too, which has to succeed
        broken = {"FAULTS": "fdatasync:EIO:/file:1-999999", "FAULTS_WHILE": gate}
        arguments = [str(MIB), f"env -u LD_PRELOAD touch {gate}"]
        code, output = job(policy, "full_target", arguments, PMIO_DURABILITY=policy, **broken)
        gate.unlink(missing_ok=True)
        checking.check(f"{policy}: a failing sync of the target is an error of the close", "any error 1" in output, output)
        left = list(Path(scratch.name, "logs").glob("job-*"))
        checking.check(f"{policy}: and the log is kept", len(left) == 1, output)
        pmio = str(options.build / "bin" / "pmio")
        code, output = mpi_processes.run([pmio, "recover", "--dir", scratch.name + "/logs"], harness.environment(mpi), 60)
        checking.check(f"{policy}: from where the file is restored", code == 0 and "restored" in output, output)
    code, output = job("none", "full_target", [str(MIB)], PMIO_DURABILITY="none", FAULTS="fdatasync:EIO:/file:1-999999")
    checking.check("none: the target is not synced", code == 0 and "any error 0" in output, output)
    scratch.cleanup()
    return checking.conclude()


if __name__ == "__main__":
    sys.exit(main())
