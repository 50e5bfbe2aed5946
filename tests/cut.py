#!/usr/bin/env python3
"""Kills all ranks at random moments, recovers the consistent cut, and checks it to the byte.

Each round: a job writes collectively and independently (tests/mpi/crash_cut.c) until every process of it gets
SIGKILL. `pmio recover --consistent` must leave exactly the state after the call that it reports. If the log
was small and drained, bytes may differ only in the ranges that it lists, or in the bytes of ranks whose
ranges it reports as unknown. A plain `pmio recover` then recovers the rest.

  cut.py --kills 100 --mpi mpich-5.0.2 --ranks 3
"""

import json
import struct

from pmiolab import killed_jobs, mpi_libraries, places, processes

CELL, CELLS, MOST = 256, 4000, 24  # as in crash_cut.c
MASK = (1 << 64) - 1


def mix(x):
    """crash_mix of crash_writer.h."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class CutRound(killed_jobs.Round):
    def __init__(self, options, mpi, number, scratch):
        super().__init__(options, mpi, number, scratch)
        self.drains = number % 2 == 1
        # Closing the second handle drains.
        self.mode = "cut-handles" if number % 4 == 3 else "cut"
        self.log_size = self.random.choice(["512K", "1M"]) if self.drains else "64M"
        self.background = "on" if self.drains else "off"
        self.direct_from = self.random.choice(["auto", "256"]) if self.drains else "off"

    def call(self, rank, number):
        common = mix(self.seed ^ mix(number))
        own = mix((common + 1 + rank) & MASK)
        count = 0 if own % 4 == 0 else 1 + (own >> 8) % MOST
        return common % 3 != 0, (own >> 32) % (CELLS - count + 1), count

    def state(self, last):
        """The file once each rank has made its calls up to last[rank]."""
        ranks = self.options.ranks
        file, end = bytearray(CELLS * ranks * CELL), 0
        for rank in range(ranks):
            for number in range(1, last[rank] + 1):
                _, first, count = self.call(rank, number)
                for cell in range(first, first + count):
                    at = (cell * ranks + rank) * CELL
                    file[at : at + CELL] = struct.pack("<I", (number * 64 + rank) & 0xFFFFFFFF) * (CELL // 4)
                    end = max(end, at + CELL)
        return bytes(file[:end])

    def number_of(self, collective):
        """The number of the call that is the collective-th collective one."""
        number = 0
        while collective > 0:
            number += 1
            collective -= self.call(0, number)[0]
        return number

    def recover_json(self, *arguments, codes=(0,)):
        command = [places.pmio(self.options.build), "recover", "--json", "--dir", self.logs, *arguments]
        code, output = processes.run(command, mpi_libraries.environment(self.mpi), self.options.timeout)
        if code not in codes:
            raise killed_jobs.Failure(f"pmio recover {' '.join(arguments)}: exit {code}: {output}")
        files = [file for job in json.loads(output)["jobs"] for file in job["files"]]
        return code, files[0] if files else None

    def excused(self, report):
        """The cells that may differ from the state of the cut."""
        later = report["later"]
        excused = set()
        for span in later["ranges_in_file"] + later["ranges_perhaps_in_file"]:
            for block in range(span["blocks"]):
                begin = span["offset"] + block * span["stride"]
                excused.update(range(begin // CELL, (begin + span["block_bytes"] + CELL - 1) // CELL))
        for rank in later["ranks_with_untold_ranges"]:
            excused.update(range(rank, CELLS * self.options.ranks, self.options.ranks))
        return excused

    def check_cut(self, code, report):
        cut = report["opens"][0]  # the first handle
        wanted = self.state([self.number_of(cut["last_complete_collective_call"])] * self.options.ranks)
        found = self.file.read_bytes()
        excused = self.excused(report)
        missing = any(each["missing_ranks"] for each in report["opens"])
        if code != (1 if excused or missing else 0):
            raise killed_jobs.Failure(f"exit {code} with {len(excused)} cells that may differ: {report}")
        if not excused:
            if found != wanted:
                raise killed_jobs.Failure(f"the file is not in the state after call {cut}")
            return f"call {cut['last_complete_collective_call']}, exactly"
        size = max(len(found), len(wanted))
        found, wanted = found.ljust(size, b"\0"), wanted.ljust(size, b"\0")
        differ = {at // CELL for at in range(0, size, CELL) if found[at : at + CELL] != wanted[at : at + CELL]}
        if not differ <= excused:
            raise killed_jobs.Failure(f"cells {sorted(differ - excused)[:8]} differ from the state after call {cut}")
        return f"call {cut['last_complete_collective_call']}, {len(differ)} cells differ of {len(excused)} that may"

    def check_lower_bound(self, report):
        """A call that a rank had not begun is not reported as complete; one that had returned on all ranks is."""
        complete = self.number_of(report["opens"][0]["last_complete_collective_call"])
        rows = self.progress.rows()
        if complete > min(row[0] for row in rows):
            raise killed_jobs.Failure(f"call {complete} is said to be complete: {rows}")
        known = not report["opens"][0]["missing_ranks"]
        acknowledged = min(row[1] for row in rows)
        missed = any(self.call(0, number)[0] for number in range(complete + 1, acknowledged + 1))
        if known and missed:
            raise killed_jobs.Failure(f"only call {complete} is said to be complete: {rows}")

    def check_rest(self):
        """Every call that had returned is in the file; the last one that had not returned may be there in part."""
        found = self.file.read_bytes().ljust(CELLS * self.options.ranks * CELL, b"\0")
        rows = self.progress.rows()
        wanted = self.state([row[1] for row in rows]).ljust(len(found), b"\0")
        begun = set()
        for rank, row in enumerate(rows):
            if row[0] > row[1]:
                _, first, count = self.call(rank, row[0])
                begun.update((first + i) * self.options.ranks + rank for i in range(count))
        for cell in range(len(found) // CELL):
            at = cell * CELL
            if found[at : at + CELL] != wanted[at : at + CELL] and cell not in begun:
                raise killed_jobs.Failure(f"cell {cell} is wrong after the plain recovery")

    def run(self):
        self.write_and_kill()
        code, report = self.recover_json("--consistent", codes=(0, 1))
        verdict = "no log"
        if report and report["opens"]:
            if self.drains is False and report["later"]["ranges_in_file"]:
                raise killed_jobs.Failure("bytes were drained though nothing drains")
            self.check_lower_bound(report)
            verdict = self.check_cut(code, report)
            again = self.recover_json("--consistent", codes=(0, 1))[1]
            if again and self.check_cut(code, again) != verdict:
                raise killed_jobs.Failure("a second recovery says something else")
        if self.file.exists():
            self.recover_json()
            self.check_rest()
        return verdict


if __name__ == "__main__":
    raise SystemExit(killed_jobs.run_rounds(killed_jobs.parse_options(__doc__), CutRound))
