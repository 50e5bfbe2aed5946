"""What was measured, as the claims, the table and the figure ask for it."""

from statistics import median

import two_phase

from .workload import RANKS, STEP_BYTES, of_paper


class Results:
    def __init__(self, rows, patterns):
        """patterns: those that this build can measure."""
        self.rows, self.patterns, self.of_paper = rows, patterns, of_paper(patterns)

    def values(self, key, **cell):
        """LookupError: there are none."""
        found = self.rows.values(key, **cell)
        if not found:
            raise LookupError(f"no result for {', '.join(map(str, cell.values()))}")
        return found

    def median(self, key, **cell):
        return median(self.values(key, **cell))

    def factors(self, slow, fast, key):
        """By the paper's patterns: the first way's time over the second one's."""
        return {name: self.median(key, pattern=name, by=slow) / self.median(key, pattern=name, by=fast)
                for name in self.of_paper}  # fmt: skip

    def outside(self):
        """By pattern: ROMIO's seconds in its write calls, less those in system calls that write."""
        return {name: self.median("write_s", traced=name) - self.median("file_s", traced=name)
                for name in self.of_paper}  # fmt: skip

    def traced_shares(self):
        """Of ROMIO's time, outside of system calls that write."""
        outside = self.outside()
        return {name: seconds / self.median("write_s", traced=name) for name, seconds in outside.items()}

    def engine_shares(self):
        """Likewise of pmio's two-phase engine. One rank writes while the others wait."""
        return {name: 1 - RANKS * self.median("file_s", engine=name) / self.median("all_s", engine=name)
                for name in self.of_paper}  # fmt: skip

    def step_shares(self):
        """Of the five steps, the first four: messages only."""
        shares = {}
        for size in STEP_BYTES:
            times = {step: self.median(step, steps=size) for step in two_phase.NAMES}
            shares[f"{size:,} B"] = 1 - times["write"] / sum(times.values())
        return shares

    def rate(self, key, **cell):
        """MB/s of all ranks."""
        return self.median("bytes", **cell) / self.median(key, **cell) / 1e6
