"""What was measured, as the claims, the table and the figure ask for it."""

from statistics import median

import compare
from pmiolab import places


class Results:
    def __init__(self, rows):
        self.rows = rows

    def rates(self, benchmark, way):
        """MiB/s, as in the paper, of all repetitions."""
        cell = {"benchmark": benchmark, "way": way}
        return [amount / s / places.MIB for amount, s in
                zip(self.rows.values("bytes", **cell), self.rows.values("s", **cell))]  # fmt: skip

    def rate(self, benchmark, way):
        return median(self.rates(benchmark, way))

    def number(self, key, benchmark, way):
        """A count, None if it is not known."""
        found = [value for value in self.rows.values(key, benchmark=benchmark, way=way) if value is not None]
        return median(found) if found else None

    def count(self, key, benchmark, way):
        """LookupError: it is not known."""
        if (number := self.number(key, benchmark, way)) is None:
            raise LookupError(f"no count of {key} of benchmark {benchmark}, {way}")
        return number

    def factors(self, benchmarks, way, over):
        """Of medians: how many times as fast as another way."""
        return {name: self.rate(name, way) / self.rate(name, over) for name in benchmarks}

    def is_faster(self, benchmark, one, other):
        return compare.is_less(self.rates(benchmark, other), self.rates(benchmark, one))

    def p(self, benchmark, one, other):
        return compare.mann_whitney(self.rates(benchmark, one), self.rates(benchmark, other)).p
