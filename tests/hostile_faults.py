#!/usr/bin/env python3
"""Hostile file systems and neighbours: each must end in a complete file, or in a clear error through MPI with
the log kept and named. Nobody else's file may be touched.

System calls fail (tests/faults/faults.c), others delete, replace, truncate or change files, logs vanish,
ranks are stopped, clocks step.

  hostile_faults.py --mpi mpich-5.0.2
"""

import os
import subprocess
import sys
import time

from pmiolab import checks, command_line, mpi_jobs, mpi_libraries, places, processes
from pmiolab.checks import is_complete
from pmiolab.places import MIB

ALWAYS = "1-999999"


class Faults(checks.Checks):
    def __init__(self, options, mpi, scratch):
        super().__init__()
        self.mpi, self.scratch, self.build = mpi, scratch, options.build
        self.cases = 0

    def fresh(self):
        """(target, logs) in a directory of its own."""
        self.cases += 1
        where = self.scratch / f"case-{self.cases}"
        (where / "logs").mkdir(parents=True)
        (where / "logs").chmod(0o700)
        (where / "data").mkdir()
        return where / "data" / "file", where / "logs"

    def start(self, program, arguments, logs, settings):
        settings = {"PMIO_DIR": logs, "PMIO_LOG_SIZE": "16M", "PMIO_REGISTRY": self.scratch,
                    "PMIO_DIRECT_FROM": "off", **settings}  # fmt: skip
        words = [places.test_program(self.build, program, self.mpi), *arguments]
        preload = [self.mpi.runtime, places.faults(self.build)]
        return mpi_jobs.start(self.mpi, mpi_jobs.command(self.mpi, 2, words, settings=settings, preload=preload))

    def job(self, program, arguments, logs, **settings):
        return processes.finish(self.start(program, arguments, logs, settings), 60)

    def write(self, target, logs, *command, **settings):
        return self.job("full_target", [target, MIB, *command], logs, **settings)

    def pmio(self, *words):
        env = dict(os.environ, PMIO_REGISTRY=str(self.scratch))
        done = subprocess.run([places.pmio(self.build), *words], capture_output=True, text=True, env=env)
        return done.returncode, done.stdout + done.stderr

    def failing_calls(self):
        """The call fails for good: an error of its class, the log kept and named, and a recovery without the fault."""
        for call, effect, error in (
            ("pwrite", "EDQUOT", "quota"),
            ("pwrite", "EIO", "io"),
            ("pwrite", "EROFS", "access"),
            ("close", "EIO", "io"),
        ):
            target, logs = self.fresh()
            name = f"{effect} of {call}"
            # With another durability the target is synced, and its close has no error to report.
            faults = {"FAULTS": f"{call}:{effect}:/data/file:{ALWAYS}", "FAULTS_CALLER": "libpmio"}
            code, output = self.write(target, logs, PMIO_DURABILITY="none", **faults)
            self.check(
                f"{name}: an MPI error of class {error}, the program runs on",
                code == 0 and f"class: {error}" in output,
                output,
            )
            self.check(
                f"{name}: the log is kept and named", f"{logs}/job-" in output and any(logs.glob("job-*")), output
            )
            code, output = self.pmio("recover", "--dir", logs)
            self.check(f"{name}: a recovery completes the file", code == 0 and is_complete(target, MIB), output)

    def failing_settle(self):
        target, logs = self.fresh()
        faults = {"FAULTS": f"pwrite:EIO:/data/file:{ALWAYS}", "FAULTS_CALLER": "libpmio"}
        code, output = self.job("unsettled", [target], logs, PMIO_BACKGROUND="off", **faults)
        self.check("calls that are handed on say what could not be drained before them", code == 0, output)
        self.check(
            "what could not be drained is kept and named", f"{logs}/job-" in output and any(logs.glob("job-*")), output
        )

    def passing_faults(self):
        """The program gets no error, and pmio says nothing."""
        for fault in (
            f"pwrite:short:/data/file:{ALWAYS}",
            "pwrite:EINTR:/data/file:1-3",
            f"posix_fallocate:EOPNOTSUPP:/logs/:{ALWAYS}",
            "fdatasync:EINTR:/data/file:1-3",
        ):
            target, logs = self.fresh()
            code, output = self.write(target, logs, FAULTS=fault)
            clean = "any error 0" in output and "pmio:" not in output
            self.check(f"{fault}: no error, a complete file", code == 0 and clean and is_complete(target, MIB), output)

    def target_taken_away(self):
        without = "env -u LD_PRELOAD "
        target, logs = self.fresh()
        code, output = self.write(target, logs, f"{without} rm {target}", PMIO_BACKGROUND="off")
        self.check(
            "target deleted: the program runs on, the file stays deleted", code == 0 and not target.exists(), output
        )
        target, logs = self.fresh()
        other = target.parent / "other"
        other.write_text("precious")
        code, output = self.write(target, logs, f"{without} mv {other} {target}", PMIO_BACKGROUND="off")
        self.check(
            "target replaced: the new file is left alone", code == 0 and target.read_text() == "precious", output
        )
        target, logs = self.fresh()
        code, output = self.write(target, logs, f"{without} truncate -s 0 {target}", PMIO_BACKGROUND="off")
        self.check("target truncated before the drain: complete", code == 0 and is_complete(target, MIB), output)
        target, logs = self.fresh()
        moved = target.parent.parent / "moved"
        code, output = self.write(target, logs, f"{without} mv {target.parent} {moved}", PMIO_BACKGROUND="off")
        self.check("directory moved: complete where it is now", code == 0 and is_complete(moved / "file", MIB), output)
        target, logs = self.fresh()
        code, output = self.write(target, logs, f"{without} rm -rf {logs}", PMIO_BACKGROUND="off")
        complete = code == 0 and "any error 0" in output and is_complete(target, MIB)
        self.check("log directory removed: no error, a complete file", complete, output)
        told = output.count("was removed; what was logged is being written") == 1
        self.check("log directory removed: one line says so", told, output)

    def killed_job(self, **settings):
        """A job that dies with everything in its log."""
        target, logs = self.fresh()
        self.write(target, logs, "env -u LD_PRELOAD kill -9 $PPID", PMIO_BACKGROUND="off", **settings)
        return target, logs

    def closed_in_background(self):
        """What pmio_close=background leaves: a drain that fails, and a job that is killed behind the close."""
        for case, name, faults in (
            ("fail", "failing", {"FAULTS": f"pwrite:EDQUOT:/data/failing:{ALWAYS}", "FAULTS_CALLER": "libpmio"}),
            ("crash", "crashed", {"PMIO_MAX_AGE": "off", "FAULTS": f"pwrite:EIO:/data/crashed:{ALWAYS}",
                                  "FAULTS_CALLER": "libpmio"}),
        ):  # fmt: skip
            target, logs = self.fresh()
            target = target.parent / name
            code, output = self.job("background_close", [target.parent, case], logs, **faults)
            told = "class: quota" in output and str(logs) in output if case == "fail" else code != 0
            self.check(f"background close, {case}: the program learns of it", told, output)
            code, output = self.pmio("wait", "--dir", logs, "--timeout", "0", target)
            self.check(f"background close, {case}: wait names recover", code == 1 and "pmio recover" in output, output)
            self.pmio("recover", "--dir", logs)
            code, output = self.pmio("wait", "--dir", logs, target)
            self.check(f"background close, {case}: complete after recover", code == 0, output)

    def lost_behind_a_background_close(self):
        """Bytes that went straight to the file: a file system that keeps writes back tells at a close of their loss."""
        target, logs = self.fresh()
        faults = {"FAULTS": f"close:EIO:/data/file:{ALWAYS}", "FAULTS_CALLER": "libpmio"}
        code, output = self.write(
            target, logs, PMIO_CLOSE="background", PMIO_DIRECT_FROM="1", PMIO_DURABILITY="none", **faults
        )
        self.check("a background close tells what was lost straight", code == 0 and "class: io" in output, output)

    def changed_after_the_crash(self):
        target, logs = self.killed_job()
        target.write_bytes(b"by somebody else")
        code, output = self.pmio("recover", "--dir", logs)
        self.check(
            "changed after the crash: refused",
            code == 1 and "somebody has changed" in output and "--force" in output,
            output,
        )
        self.check("changed after the crash: left alone", target.read_bytes() == b"by somebody else")
        code, output = self.pmio("recover", "--dir", logs, "--force")
        self.check("--force without --file is refused", code == 1 and "--file" in output, output)
        code, output = self.pmio("recover", "--all", "--force")
        self.check("--force without --file is refused with --all, too", code == 1 and "--file" in output, output)
        code, output = self.write(target, logs)  # a new job on that file, which is not logged then
        self.check("changed after the crash: a new job says so", code == 0 and "somebody has changed" in output, output)
        code, output = self.pmio("recover", "--dir", logs, "--force", "--file", target)
        self.check("changed after the crash: restored with --force", code == 0 and is_complete(target, MIB), output)

    def deleted_before_the_crash(self):
        """The job itself deleted the file, and made a new one of that name."""
        target, logs = self.fresh()
        self.job("deleted", [target.parent, "crash"], logs, PMIO_BACKGROUND="off")
        new = target.parent / "all"
        held = new.read_bytes()
        _, output = self.pmio("recover", "--dir", logs)
        alone = len(held) == 8 and new.read_bytes() == held
        self.check(
            "deleted before the crash: the new file is left alone",
            alone and "another one of that name" in output,
            output,
        )

    def moved_and_back(self):
        target, logs = self.killed_job()
        target.rename(target.parent / "away")
        code, output = self.pmio("recover", "--dir", logs)
        self.check("moved after the crash: refused", code == 1 and "is gone" in output, output)
        (target.parent / "away").rename(target)
        target.chmod(0o640)
        code, output = self.pmio("recover", "--dir", logs)
        self.check("moved back: no false alarm", code == 0 and is_complete(target, MIB), output)

    def clock_steps(self):
        target, logs = self.fresh()
        code, output = self.write(target, logs, FAULTS_CLOCK="1")
        self.check("the clock steps: complete", code == 0 and is_complete(target, MIB), output)
        target, logs = self.killed_job(FAULTS_CLOCK="1")
        code, output = self.pmio("recover", "--dir", logs)
        self.check("the clock steps, and the job is killed: restored", code == 0 and is_complete(target, MIB), output)

    def stopped_rank(self):
        target, logs = self.fresh()
        pmio = places.pmio(self.build)
        command = f"env -u LD_PRELOAD {pmio} recover --dir {logs}; true"
        code, output = self.job("stopped", [target, command], logs, PMIO_LOG_SIZE="1M")
        self.check("a rank is stopped: the other goes on", code == 0 and "0 failures" in output, output)
        self.check("a rank is stopped: recover leaves its log alone", "job is running, left alone" in output, output)

    def two_jobs(self):
        target, logs = self.fresh()
        second = target.parent / "second"
        jobs = [self.start("full_target", [path, MIB], logs, {}) for path in (target, second)]
        done = [processes.finish(job, 60) for job in jobs]
        good = all(code == 0 and "any error 0" in output for code, output in done)
        self.check(
            "two jobs in one log directory", good and is_complete(target, MIB) and is_complete(second, MIB), str(done)
        )


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    with places.temporary("faults") as scratch:
        faults = Faults(options, mpi, scratch)
        for case in (
            faults.failing_calls,
            faults.failing_settle,
            faults.passing_faults,
            faults.target_taken_away,
            faults.closed_in_background,
            faults.lost_behind_a_background_close,
            faults.changed_after_the_crash,
            faults.deleted_before_the_crash,
            faults.moved_and_back,
            faults.clock_steps,
            faults.stopped_rank,
            faults.two_jobs,
        ):
            started = time.monotonic()
            case()
            print(f"       {case.__name__}: {time.monotonic() - started:.1f} s")
    return faults.conclude()


if __name__ == "__main__":
    sys.exit(main())
