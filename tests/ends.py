#!/usr/bin/env python3
"""Programs end in every way but MPI_Finalize, a file still open (tests/mpi/ends.c): what is in the file then, what is said,
and what is left for `pmio recover`. docs/recovery.md has the table.

  ends.py --mpi mpich-5.0.2
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent / "programs")]
import checks
import harness
import mpi_processes

BLOCK = 5000
TIMEOUT = 60
# By a rank that is started without a launcher, which would end the ranks in its own way.
ALONE = ("quick_exit", "_exit", "_Exit", "execv", "execl", "failed_exec", "exit_in_handler", "late", "close_late", "term",
         "abort", "own_handler", "forked")  # fmt: skip
# By two. one_: the launcher ends the other rank.
TOGETHER = ("return", "exit", "mpi_abort", "one_mpi_abort")
SIGNALS = {"term": signal.SIGTERM, "abort": signal.SIGABRT}


class Place:
    """Of one run."""

    def __init__(self, options, mpi, scratch, name):
        self.options, self.mpi = options, mpi
        self.file, self.logs = scratch / f"{name}.dat", scratch / f"{name}-logs"
        self.environment = harness.environment(mpi) | {"PMIO_REGISTRY": str(scratch)}
        self.pmio = str(options.build / "bin" / "pmio")

    def run(self, words, more=()):
        environment = self.environment | dict(more)
        return subprocess.run(
            [str(word) for word in words], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT, check=False,
        )  # fmt: skip

    def end(self, way, ranks=0, more=()):
        program = self.options.build / "tests" / "mpi" / f"ends-{self.mpi.tag}"
        yielding = "LD_PRELOAD=" + str(self.options.build / "lib" / "libpmio_yield.so")
        launcher = [self.mpi.mpiexec, "-n", ranks] if ranks else []
        words = [*launcher, "env", yielding, self.pmio, "run", "--dir", self.logs, "--", program, self.file, way]
        self.result = self.run(words, more)
        return self.result

    def has(self, text):
        content = self.file.read_bytes() if self.file.exists() else b""
        return content == b"".join(letter.encode() * BLOCK for letter in text)

    def recovered(self):
        return self.run([self.pmio, "recover", "--dir", self.logs]).stdout

    def says_later(self):
        """What a program hears that is started next."""
        return self.run([self.pmio, "run", "--dir", self.logs, "--mpi", self.mpi.tag, "--", "true"]).stdout

    def jobs(self):
        return [path.name for path in self.logs.glob("job-*")] if self.logs.exists() else []


def check_complete(test, place, way, text):
    code = place.result.returncode
    wanted = [-SIGNALS[way], 128 + SIGNALS[way]] if way in SIGNALS else [0]
    # What a child writes is not MPI-IO, and told of as such.
    lines = [line for line in place.result.stdout.splitlines() if way != "forked" or "written past MPI-IO" not in line]
    said = "\n".join(lines) + place.says_later()
    test.check(f"{way}: the file is complete", place.has(text), said)
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


def check_daemon(test, place):
    before = set(os.listdir("/proc"))
    place.end("daemon")
    said = place.recovered()
    test.check("daemon: the job that it outlives is recovered", place.has("a") and not place.jobs(), said)
    for pid in set(os.listdir("/proc")) - before:
        command = Path("/proc") / pid / "cmdline"
        if pid.isdigit() and command.exists() and str(place.file).encode() in command.read_bytes():
            mpi_processes.kill([int(pid)])


def main():
    options = checks.parser(__doc__).parse_args()
    mpi = harness.choose_mpi(options.build, options.mpi)
    test = checks.Checks()
    letters = {"late": "aL", "failed_exec": "aL", "forked": "aF"}
    with tempfile.TemporaryDirectory(prefix="pmio-ends-", dir=harness.memory()) as scratch:
        for way in ALONE:
            place = Place(options, mpi, Path(scratch), way)
            place.end(way)
            check_complete(test, place, way, letters.get(way, "a"))
        for way in TOGETHER:
            place = Place(options, mpi, Path(scratch), way)
            place.end(way, ranks=2)
            check_complete(test, place, way, "ab")
        check_killed(test, Place(options, mpi, Path(scratch), "kill"))
        check_daemon(test, Place(options, mpi, Path(scratch), "daemon"))
    return test.conclude()


if __name__ == "__main__":
    sys.exit(main())
