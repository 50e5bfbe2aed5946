#!/usr/bin/env python3
"""Small pieces of collective writes, gathered while the log is cold: when, and what is told of it.

mpiio_bench checks every byte that it has written.
"""

import json
import subprocess

from pmiolab import command_line, mpi_jobs, mpi_libraries, places

BYTES = 4 << 20
IRREGULAR = ("--irregular", 4096)
SCATTERED = ("--irregular", 16384, "--mean", 8)


class Bench:
    def __init__(self, build, mpi, scratch):
        self.build, self.mpi, self.scratch, self.runs = build, mpi, scratch, 0
        self.pmio = build / "bin" / "pmio"

    def numbers(self, *arguments, **settings):
        """What the statistics tell of the file of one run, and of the job."""
        self.runs += 1
        logs = self.scratch / f"logs-{self.runs}"
        logs.mkdir(mode=0o700)
        words = [places.benchmark(self.build, "mpiio", self.mpi), "--file", self.scratch / f"target-{self.runs}"]
        words += ["--bytes", BYTES, *arguments]
        settings = {"PMIO_DIR": logs, "PMIO_LOG_SIZE": "64M", "PMIO_STATS": 1, **settings}
        mpi_jobs.measure(self.mpi, 2, words, name=str(arguments), settings=settings, preload=[self.mpi.runtime],
                         timeout=120)  # fmt: skip
        told = subprocess.run([self.pmio, "stats", "--dir", logs, "--json"], capture_output=True, text=True, check=False)
        assert told.returncode == 0, told
        document = json.loads(told.stdout)
        [file] = document["files"]
        return file, document["total"]


def check_gathered(bench):
    """Nothing is in the log, and the calls and bytes are those of the program."""
    for arguments in (IRREGULAR, ("--block", 8, "--blocks-per-call", 16384)):
        file, total = bench.numbers(*arguments)
        numbers = file["total"]
        assert total["append_records"] == 0 and total["direct_bytes"] == numbers["written_bytes"] > 0, total
        assert numbers["exchanged_calls"] > 0 and numbers["unexchanged_calls"] == 0, numbers
        assert numbers["collective_writes"] == total["collective_writes"] == numbers["exchanged_calls"], numbers
        assert "gathered" in file["why"], file


def check_scattered(bench):
    """Tiny irregular pieces are, whether the program computes between the calls or not."""
    for arguments in (SCATTERED, (*SCATTERED, "--compute", 1, "--spread")):
        file, total = bench.numbers(*arguments)
        numbers = file["total"]
        assert total["append_records"] == 0 and numbers["exchanged_calls"] > 0, (arguments, total, numbers)
        assert numbers["unexchanged_calls"] == 0, (arguments, numbers)


def check_not_gathered(bench):
    """By hints; if all that a call gives is little; if a piece is long."""
    for arguments, settings in (
        (IRREGULAR, {"PMIO_GATHER": "off"}),
        (IRREGULAR, {"PMIO_MODE": "log"}),
        (IRREGULAR, {"PMIO_DIRECT_FROM": "off"}),
        (IRREGULAR, {"MPICH_MPIIO_HINTS": "*:romio_cb_write=disable"}),
        (("--block", 1312), {}),
        (("--block", 65536), {"PMIO_DIRECT_FROM": "128K"}),
        (("--block", 8, "--blocks-per-call", 8192), {}),
    ):
        file, total = bench.numbers(*arguments, **settings)
        assert file["total"]["exchanged_calls"] == 0, (arguments, settings, file)
        assert total["append_bytes"] > 0, (arguments, settings, total)


def main():
    options = command_line.parser(__doc__).parse_args()
    with places.temporary("gathering", places.memory()) as scratch:
        bench = Bench(options.build, mpi_libraries.choose(options.build, options.mpi), scratch)
        check_gathered(bench)
        check_scattered(bench)
        check_not_gathered(bench)


if __name__ == "__main__":
    main()
