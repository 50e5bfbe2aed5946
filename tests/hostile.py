#!/usr/bin/env python3
"""What users run into: a full file system, log directories that cannot be used, logs of other versions, bad hints.

Each must give one clear line, lose nothing, and let the program run on.

  hostile.py --mpi mpich-5.0.2

Needs root for the file systems that it mounts and for foreign owners; exits with 77 without it.
"""

import contextlib
import os
import subprocess
import sys

from pmiolab import checks, command_line, mpi_jobs, mpi_libraries, places
from pmiolab.checks import is_complete
from pmiolab.places import MIB


@contextlib.contextmanager
def mounted(where, options):
    """A tmpfs, as long as it is needed."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "pmio-test", where], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", where], check=True)


class Hostile(checks.Checks):
    def __init__(self, options, mpi, scratch):
        super().__init__()
        self.mpi, self.scratch = mpi, scratch
        self.pmio = places.pmio(options.build)
        self.program = places.test_program(options.build, "full_target", mpi)

    def job(self, target, size, **settings):
        """(exit code, all output) of two ranks under pmio."""
        settings.setdefault("PMIO_DIR", str(self.scratch / "logs"))
        settings.setdefault("PMIO_DIRECT_FROM", "off")  # large pieces are to be in the log
        program = [self.program, target, size]
        return mpi_jobs.run(self.mpi, 2, program, settings=settings, preload=[self.mpi.runtime], timeout=120)

    def recover(self, logs=None):
        done = subprocess.run(
            [self.pmio, "recover", "--dir", logs or self.scratch / "logs"], capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr

    def full_file_system(self, log_size):
        """24 MiB are written to a file system of 8 MiB; then it grows, and a recovery completes the file."""
        where = self.scratch / "small"
        where.mkdir()
        with mounted(where, "size=8m"):
            target, size = where / "file", 24 * MIB
            code, output = self.job(target, size, PMIO_LOG_SIZE=log_size)
            name = f"full target, log of {log_size}"
            self.check(f"{name}: the program runs on", code == 0, output)
            self.check(f"{name}: MPI_ERR_NO_SPACE", "at write 1" in output or "at close 1" in output, output)
            self.check(f"{name}: the log's place is named", str(self.scratch / "logs") in output, output)
            code, output = self.recover()
            self.check(f"{name}: a recovery that finds no room says so", code == 1, output)
            subprocess.run(["mount", "-o", "remount,size=64m", where], check=True)
            code, output = self.recover()
            self.check(f"{name}: with room, a recovery succeeds", code == 0, output)
            if log_size == "64M":  # all was acknowledged
                self.check(f"{name}: nothing acknowledged is missing", is_complete(target, size))
            code, output = self.recover()
            self.check(f"{name}: a second one finds nothing", code == 0 and "nothing" in output.lower(), output)
        where.rmdir()

    def unusable_log_directory(self, name, logs):
        """One line that says why; the program runs on without the log, and its file is complete."""
        target = self.scratch / "target"
        target.unlink(missing_ok=True)
        code, output = self.job(target, MIB, PMIO_DIR=str(logs))
        lines = [line for line in output.splitlines() if line.startswith("pmio:")]
        self.check(f"log directory {name}: runs on", code == 0 and "any error 0" in output, output)
        self.check(f"log directory {name}: one line", len(lines) == 1, output)
        self.check(f"log directory {name}: the file is complete", is_complete(target, MIB))

    def log_directories(self):
        plain_file = self.scratch / "plain"
        plain_file.write_text("")
        self.unusable_log_directory("that is a file", plain_file)
        link = self.scratch / "link"
        link.symlink_to(self.scratch)
        self.unusable_log_directory("that is a link", link)
        foreign = self.scratch / "foreign"
        foreign.mkdir(mode=0o700)
        os.chown(foreign, 12345, 12345)
        self.unusable_log_directory("of another user", foreign)
        self.unusable_log_directory("below one that does not exist", self.scratch / "no" / "such")
        full = self.scratch / "full"
        full.mkdir(mode=0o700)
        with mounted(full, "size=64k,mode=0700"):
            self.unusable_log_directory("without room", full)

    def small_log_medium(self):
        """The log's medium has less room than the log may take: writers wait, and get no error."""
        logs = self.scratch / "tight"
        logs.mkdir(mode=0o700)
        with mounted(logs, "size=12m,mode=0700"):
            target = self.scratch / "target"
            target.unlink(missing_ok=True)
            code, output = self.job(target, 64 * MIB, PMIO_DIR=str(logs), PMIO_LOG_SIZE="64M")
            self.check("log medium of 12 MiB: no error", code == 0 and "any error 0" in output, output)
            self.check("log medium of 12 MiB: the file is complete", is_complete(target, 64 * MIB))

    def bad_hints(self):
        target = self.scratch / "target"
        for settings in ({"PMIO_MODE": "fast"}, {"PMIO_LOG_SIZE": "many"}, {"PMIO_HINTS": "*:pmio_nonsense=1"}):
            code, output = self.job(target, MIB, **settings)
            lines = [line for line in output.splitlines() if line.startswith("pmio:")]
            self.check(f"{settings}: one line, runs on", code == 0 and len(lines) == 1, output)

    def other_version(self):
        """A segment of a later format version is refused by name and kept."""
        logs = self.scratch / "later"
        job = logs / "job-00000000000000aa"
        for directory in (logs, job):
            directory.mkdir(mode=0o700)
        data = bytearray((places.ROOT / "tests" / "golden" / "segment-v1.bin").read_bytes())
        data[8:12] = (99).to_bytes(4, "little")
        (job / "seg-0-0").write_bytes(data)
        code, output = self.recover(logs)
        self.check("log of a later version: refused", code == 1 and "version" in output, output)
        self.check("log of a later version: kept", (job / "seg-0-0").exists())


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    if os.geteuid() != 0:
        return checks.SKIPPED
    with places.temporary("hostile") as scratch:
        hostile = Hostile(options, mpi, scratch)
        hostile.full_file_system("64M")
        hostile.full_file_system("1M")
        hostile.log_directories()
        hostile.small_log_medium()
        hostile.bad_hints()
        hostile.other_version()
    return hostile.conclude()


if __name__ == "__main__":
    sys.exit(main())
