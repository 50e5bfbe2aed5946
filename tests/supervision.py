#!/usr/bin/env python3
"""What killed jobs have left is found and recovered without their users.

By the registry, `pmio run`, which tells of it, `pmio recover --all`, for oneself and, as root, for others,
Slurm's epilog and the systemd units. Planted links and directories do nothing to a recovery that root runs.

  supervision.py --mpi mpich-5.0.2

The parts for other users need root.
"""

import os
import pwd
import shutil
import subprocess
import sys

from pmiolab import checks, command_line, mpi_libraries, places
from pmiolab.checks import is_complete
from pmiolab.places import MIB


class Supervision(checks.Checks):
    def __init__(self, options, mpi, scratch):
        super().__init__()
        self.mpi, self.scratch = mpi, scratch
        self.pmio = scratch / "bin" / "pmio"
        self.program = scratch / "bin" / "full_target"
        self.library = scratch / "lib" / mpi.runtime.name
        self.registry = scratch / "registry"
        # Other users can read this place, and perhaps not the build directory.
        build = options.build
        beside = [
            (build / "lib" / name, scratch / "lib" / name) for name in ("libpmio.so", "pmio-mpi.json", "pmio-mpi.list")
        ]
        for source, copy in ((places.pmio(build), self.pmio), (mpi.runtime, self.library),
                             (places.test_program(build, "full_target", mpi), self.program), *beside):  # fmt: skip
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(source, copy)
        self.registry.mkdir()
        self.registry.chmod(0o1777)

    def run(self, *words, user=None, **settings):
        env = {**mpi_libraries.environment(self.mpi), "PMIO_REGISTRY": str(self.registry),
               "PMIO_DIRECT_FROM": "off", **settings}  # fmt: skip
        done = subprocess.run(
            [str(word) for word in words],
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            user=user,
            group=user and pwd.getpwuid(user).pw_gid,
            extra_groups=user and [],
            timeout=60,
            cwd=self.scratch,
        )
        return done.returncode, done.stdout

    def place(self, name, user=None):
        """(target, logs) of a user's own."""
        where = self.scratch / name
        for directory in (where, where / "logs", where / "data"):
            directory.mkdir(mode=0o700)
            if user is not None:
                os.chown(directory, user, pwd.getpwuid(user).pw_gid)
        return where / "data" / "file", where / "logs"

    def killed_job(self, target, logs, user=None):
        """A job of one rank, without a launcher, kills itself with everything in the log."""
        command = "env -u LD_PRELOAD kill -9 $PPID"
        settings = {"PMIO_DIR": str(logs), "PMIO_BACKGROUND": "off", "PMIO_LOG_SIZE": "4M"}
        return self.run("env", f"LD_PRELOAD={self.library}", self.program, target, MIB, command, user=user, **settings)

    def entries(self, user):
        return sorted(path.name for path in self.registry.glob(f"pmio-jobs-{user}/job-*"))

    def own(self):
        target, logs = self.place("own")
        self.killed_job(target, logs)
        me = os.geteuid()
        self.check("a killed job stays in the registry", len(self.entries(me)) == 1)
        code, output = self.run(self.pmio, "run", "--dir", logs, "--mpi", self.mpi.tag, "--", "true")
        lines = [line for line in output.splitlines() if line.startswith("pmio:")]
        self.check("pmio run says so in one line", code == 0 and len(lines) == 1 and str(logs) in output, output)
        code, output = self.run(self.pmio, "run", "--dir", logs, "--mpi", self.mpi.tag, "--", "true", PMI_RANK="1")
        self.check("of one rank only", code == 0 and "pmio:" not in output, output)
        (self.registry / f"pmio-jobs-{me}" / "job-00000000000000ff").symlink_to("/etc/passwd")
        (self.registry / f"pmio-jobs-{me}" / "job-00000000000000fe").write_text("/torn")
        code, output = self.run(self.pmio, "recover", "--all", "--user", me)
        self.check("recover --all finds it", code == 0 and is_complete(target, MIB) and "passwd" not in output, output)
        self.check("and takes it out of the registry", len(self.entries(me)) == 2, self.entries(me))
        target, logs = self.place("clean")
        code, output = self.run("env", f"LD_PRELOAD={self.library}", self.program, target, MIB, PMIO_DIR=str(logs))
        self.check("a job that ends well leaves no entry", code == 0 and len(self.entries(me)) == 2, output)
        target, logs = self.place("lost")
        self.killed_job(target, logs)
        logs.rename(logs.parent / "away")
        code, output = self.run(self.pmio, "recover", "--all", "--user", me)
        self.check("a log that is not there may come back", code == 1 and "mount" in output, output)
        logs.mkdir(mode=0o700)
        code, output = self.run(self.pmio, "recover", "--all", "--user", me)
        self.check("a log that is gone is reported", code == 1 and "is lost" in output and str(logs) in output, output)
        code, output = self.run(self.pmio, "recover", "--all", "--user", me)
        self.check("once", code == 0, output)

    def for_others(self, user):
        """Root recovers for a user: by the registry, by directory, by the epilog."""
        gid = pwd.getpwuid(user).pw_gid
        for name, command in (
            ("recover --all", [self.pmio, "recover", "--all"]),
            ("recover --dir", [self.pmio, "recover", "--dir", self.scratch / "other-1" / "logs"]),
            (
                "the epilog",
                [
                    "env",
                    f"SLURM_JOB_UID={user}",
                    f"PMIO={self.pmio}",
                    places.ROOT / "contrib" / "slurm" / "pmio-recover.sh",
                ],
            ),
        ):
            number = len(list(self.scratch.glob("other-*")))
            target, logs = self.place(f"other-{number}", user)
            _, output = self.killed_job(target, logs, user)
            self.check(f"{name}: the user's job left a log", any(logs.glob("job-*")), output)
            code, output = self.run(*command)
            self.check(f"{name}: root brings it in", code == 0 and is_complete(target, MIB), output)
            owners = {(path.stat().st_uid, path.stat().st_gid) for path in [target, *logs.rglob("*")]}
            self.check(f"{name}: every file is the user's", owners == {(user, gid)}, owners)

    def traps(self, user):
        """What the user, or somebody with access to the user's directories, could plant for root, has no effect."""
        precious = self.scratch / "precious"
        precious.write_bytes(b"root's own")
        precious.chmod(0o600)
        before = precious.stat()
        target, logs = self.place("trap", user)
        self.killed_job(target, logs, user)
        saved = target.rename(target.parent / "saved")
        job = next(logs.glob("job-*"))
        target.symlink_to(precious)
        for name in ("seg-9-9", "mark-1-1", "ledger-1-1"):
            (job / name).symlink_to(precious)
        code, output = self.run(self.pmio, "recover", "--all")
        self.check("links in the log and for the target: refused", code == 1, output)
        target.unlink()
        os.link(precious, target)
        code, output = self.run(self.pmio, "recover", "--all")
        self.check("a hard link for the target: refused", code == 1, output)
        target.unlink()
        os.mkfifo(target)
        code, output = self.run(self.pmio, "recover", "--all")
        self.check("a pipe for the target: refused, no hang", code == 1, output)
        target.unlink()
        logs.rename(self.scratch / "trap" / "real")
        logs.symlink_to(self.scratch / "trap" / "real")
        code, output = self.run(self.pmio, "recover", "--all")
        self.check("a link for the log directory: refused", code == 1 and "symbolic link" in output, output)
        logs.unlink()
        (self.scratch / "trap" / "real").rename(logs)
        planted = self.registry / "pmio-jobs-12345"
        planted.mkdir(mode=0o700)  # root's, in the name of another
        (self.registry / "pmio-jobs-12346").symlink_to(self.registry / f"pmio-jobs-{user}")
        for name in ("seg-9-9", "mark-1-1", "ledger-1-1"):
            (job / name).unlink()
        saved.rename(target)
        code, output = self.run(self.pmio, "recover", "--all")
        self.check("with everything back: restored", code == 0 and is_complete(target, MIB), output)
        after = precious.stat()
        unchanged = (before.st_mtime_ns, before.st_uid, before.st_mode) == (
            after.st_mtime_ns,
            after.st_uid,
            after.st_mode,
        )
        self.check("root's file is untouched", unchanged and precious.read_bytes() == b"root's own")
        code, output = self.run(self.pmio, "recover", "--dir", self.scratch / "own" / "logs", user=user)
        self.check("a user cannot recover another's log", code == 1, output)

    def units(self):
        if shutil.which("systemd-analyze") is None:
            return
        for unit in sorted((places.ROOT / "contrib" / "systemd").iterdir()):
            name = unit.name.replace("@.", "@root.")
            copy = self.scratch / name
            copy.write_text(unit.read_text().replace("@PMIO_COMMAND@", str(self.pmio)))
            code, output = self.run("systemd-analyze", "verify", "--recursive-errors=no", copy)
            self.check(f"systemd-analyze verify {unit.name}", code == 0 and name not in output, output)


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    with places.temporary("supervision") as scratch:
        scratch.chmod(0o755)
        supervision = Supervision(options, mpi, scratch)
        supervision.own()
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody").pw_uid
            supervision.for_others(user)
            supervision.traps(user)
        supervision.units()
    return supervision.conclude()


if __name__ == "__main__":
    sys.exit(main())
