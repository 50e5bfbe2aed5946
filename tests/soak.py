#!/usr/bin/env python3
"""Random work for as long as one likes: every file is verified.

The rounds are those of crash.py, each with a random MPI, number of ranks, medium, durability and log size.
File systems fail for a while (tests/faults/faults.c). Prints each round that fails, with what it takes to see
it again, and the place of its files and logs.

  soak.py --minutes 60 [--seed 1]
"""

import random
import shutil
import sys
import threading
import time
from pathlib import Path

from pmiolab import checks, command_line, killed_jobs, mpi_libraries, places, process_table

FAULTS = ("pwrite:EIO", "pwrite:ENOSPC", "pwrite:short", "fdatasync:EIO", "close:EIO", "pwrite:EINTR")

# Plain Open MPI loses writes of this program (crash.py --plain --mpi openmpi-5.0.11 --ranks 3), plain Intel
# MPI fills holes with bytes 0xff (crash.py --plain --mpi intel-2021.18.1 --seed 20261250).
WRONG_BY_THEMSELVES = ("openmpi-", "intel-")


class Round(killed_jobs.Round):
    def __init__(self, options, mpi, number, scratch):
        super().__init__(options, mpi, number, scratch)
        self.durability = self.random.choice(["always", "sync", "none"])
        self.fault = self.random.choice([None, *FAULTS])
        self.gate = scratch / "outage"
        self.may_fail = self.fault is not None
        self.over = threading.Event()

    def settings(self):
        faults = {}
        if self.fault is not None:
            # An EINTR that never ends would be no interruption.
            last = 50 if self.fault.endswith("EINTR") else 10**9
            faults = {
                "FAULTS": f"{self.fault}:{self.file}:1-{last}",
                "FAULTS_WHILE": self.gate,
                "FAULTS_CALLER": "libpmio",
            }
        return {**super().settings(), "PMIO_DURABILITY": self.durability, **faults}

    def preload(self):
        return [*super().preload(), places.faults(self.options.build)]

    def fail_now_and_then(self):
        chance = random.Random(self.seed)
        while not self.over.wait(chance.random() * 0.5):
            self.gate.touch()
            self.over.wait(chance.random() * 0.3)
            self.gate.unlink()

    def write_and_kill(self):
        outages = threading.Thread(target=self.fail_now_and_then)
        outages.start()
        try:
            super().write_and_kill()
            # A job that aborts by itself may leave ranks that have not ended yet.
            if left := process_table.wait_gone(self.progress.pids()):
                raise killed_jobs.Failure(f"ranks outlive their job: {left}")
        finally:
            self.over.set()
            outages.join()

    def check(self):
        # The outage came at an open, so the file was not logged.
        if "runs on without the log" in self.said and self.mpi.tag.startswith(WRONG_BY_THEMSELVES):
            return "not judged, a file was not logged"
        return super().check()

    def describe(self):
        text = (
            f"{self.mpi.tag}, {self.options.ranks} ranks, logs in {self.options.logs}, {self.durability}, {self.fault}"
        )
        return f"{text}, {super().describe()}"


def parse_options():
    parser = command_line.parser(__doc__, mpi=False)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--work", type=Path, help="where files, and logs on disk, are made; default: the temporary directory"
    )
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.calls, options.timeout, options.plain, options.buffering = 2400, 120, False, False
    return options


def main():
    options = parse_options()
    mpis = mpi_libraries.load(options.build)
    if not mpis:
        return checks.SKIPPED
    disk = Path(options.work or "/tmp") / f"pmio-soak-{options.seed}"
    disk.mkdir()
    end = time.monotonic() + options.minutes * 60
    chance = random.Random(options.seed)
    rounds = good = 0
    while time.monotonic() < end:
        options.ranks = chance.choice([1, 2, 2, 3, 4])
        options.logs = chance.choice([Path("/dev/shm"), disk])
        good += killed_jobs.run_round(options, chance.choice(mpis), rounds, Round)
        rounds += 1
    shutil.rmtree(disk, ignore_errors=good == rounds)
    print(f"seed {options.seed}: {rounds} rounds, {good} right")
    return 0 if good == rounds else 1


if __name__ == "__main__":
    sys.exit(main())
