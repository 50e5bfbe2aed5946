#!/usr/bin/env python3
"""Programs end without MPI_Finalize in every way, with a file open (tests/mpi/ends.c).

Checks what is in the file then, what pmio says, and what is left for `pmio recover`. docs/recovery.md has the table.

  ends.py --mpi mpich-5.0.2
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from pmiolab import checks, command_line, mpi_libraries, places, process_table, processes

BLOCK = 5000
TIMEOUT = 60
# By a rank without a launcher: a launcher would end the ranks in its own way.
ALONE = ("quick_exit", "_exit", "_Exit", "execv", "execl", "failed_exec", "exit_in_handler", "late", "close_late",
         "term", "abort", "own_handler", "forked")  # fmt: skip
# By two ranks. one_: the launcher ends the other rank.
TOGETHER = ("return", "exit", "mpi_abort", "one_mpi_abort")
ABORTED = ("mpi_abort", "one_mpi_abort")  # the launcher kills who is left, at any moment
SIGNALS = {"term": signal.SIGTERM, "abort": signal.SIGABRT}


class Place:
    """Where one run has its file and its logs, and what became of it."""

    def __init__(self, options, mpi, scratch, name):
        self.options, self.mpi = options, mpi
        self.file, self.logs = scratch / f"{name}.dat", scratch / f"{name}-logs"
        self.environment = mpi_libraries.environment(mpi) | {"PMIO_REGISTRY": str(scratch), "PMIO_DIRECT_FROM": "off"}
        self.pmio = places.pmio(options.build)

    def run(self, words, more=()):
        environment = self.environment | dict(more)
        return subprocess.run(
            [str(word) for word in words], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT, check=False,
        )  # fmt: skip

    def end(self, way, ranks=0, more=()):
        program = places.test_program(self.options.build, "ends", self.mpi)
        launcher = [self.mpi.mpiexec, "-n", ranks] if ranks else []
        more = {"PMIO_MODE": "log"} | dict(more)  # files of one rank alone are too small to be logged
        yielding = processes.with_environment({}, [places.yielding(self.options.build)])
        words = [*launcher, *yielding, self.pmio, "run", "--dir", self.logs, "--", program, self.file, way]
        self.result = self.run(words, more)
        return self.result

    def has(self, text):
        content = self.file.read_bytes() if self.file.exists() else b""
        return content == b"".join(letter.encode() * BLOCK for letter in text)

    def recovered(self, wait_s=0):
        return self.run([self.pmio, "recover", "--wait", wait_s, "--dir", self.logs]).stdout

    def says_later(self):
        """What pmio says to the program that is started next."""
        return self.run([self.pmio, "run", "--dir", self.logs, "--mpi", self.mpi.tag, "--", "true"]).stdout

    def jobs(self):
        return [path.name for path in self.logs.glob("job-*")] if self.logs.exists() else []


def check_complete(test, place, way, text):
    code = place.result.returncode
    wanted = [-SIGNALS[way], 128 + SIGNALS[way]] if way in SIGNALS else [0]
    # A child's writes are not MPI-IO, and pmio says so.
    lines = [line for line in place.result.stdout.splitlines() if way != "forked" or "written past MPI-IO" not in line]
    said = "\n".join(lines) + place.says_later()
    test.check(f"{way}: the file is complete", place.has(text), said)
    if way in ABORTED and place.jobs():  # of a rank that was killed just before it took it away
        said += place.recovered(wait_s=30)
        test.check(f"{way}: nothing had to be recovered", place.has(text), said)
    test.check(f"{way}: no log is left", not place.jobs(), str(place.jobs()))
    if way in ALONE:
        test.check(f"{way}: it ends as without pmio", code in wanted, f"{code}: {said}")
        test.check(f"{way}: nothing is said", "pmio:" not in said and "child" not in said, said)


def check_killed(test, place):
    place.end("kill")
    test.check("kill: the file waits for its recovery", not place.has("a"))
    test.check("kill: the next run says so", "run: pmio recover" in place.says_later())
    said = place.recovered()
    test.check("kill: pmio recover completes it", place.has("a") and not place.jobs(), said)


def check_small_behind_killed(test, place):
    place.end("kill")
    place.end("quick_exit", more={"PMIO_MODE": "auto"})
    left = place.jobs()
    test.check("kill: a small file's open brings in what the dead job left of it", place.has("a") and not left, str(left))


def check_daemon(test, place):
    before = set(os.listdir("/proc"))
    place.end("daemon")
    said = place.recovered()
    test.check("daemon: the job that it outlives is recovered", place.has("a") and not place.jobs(), said)
    for pid in set(os.listdir("/proc")) - before:
        command = Path("/proc") / pid / "cmdline"
        if pid.isdigit() and command.exists() and str(place.file).encode() in command.read_bytes():
            process_table.kill([int(pid)])


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    test = checks.Checks()
    letters = {"late": "aL", "failed_exec": "aL", "forked": "aF"}
    with places.temporary("ends", places.memory()) as scratch:
        for way in ALONE:
            place = Place(options, mpi, scratch, way)
            place.end(way)
            check_complete(test, place, way, letters.get(way, "a"))
        for way in TOGETHER:
            place = Place(options, mpi, scratch, way)
            place.end(way, ranks=2)
            check_complete(test, place, way, "ab")
        check_killed(test, Place(options, mpi, scratch, "kill"))
        check_small_behind_killed(test, Place(options, mpi, scratch, "behind"))
        check_daemon(test, Place(options, mpi, scratch, "daemon"))
    return test.conclude()


if __name__ == "__main__":
    sys.exit(main())
