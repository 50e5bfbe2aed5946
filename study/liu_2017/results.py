"""What was measured, as the claims, the table and the figure ask for it."""

from statistics import median

from .workload import COLLECTIVE, INDIVIDUAL, RANKS, STEP_CALLS


class Results:
    def __init__(self, rows):
        self.rows = rows

    def page(self, name, device, cache, pmio=False):
        return self.rows.values("seconds", application=name, device=device, cache=cache, pmio=pmio)

    def way(self, way, device, ranks=RANKS, pattern="large", pmio=False, key="seconds"):
        return self.rows.values(key, way=way, device=device, ranks=ranks, pattern=pattern, pmio=pmio)

    def reduction(self, name, device, less, more):
        """Of the performance, if the page cache has `less` GB instead of `more`."""
        return 1 - median(self.page(name, device, more)) / median(self.page(name, device, less))

    def benefit(self, device, ranks, pattern, key):
        """Of collective I/O: the time of individual I/O over its own."""
        way = {"device": device, "ranks": ranks, "pattern": pattern, "key": key}
        return median(self.way(INDIVIDUAL, **way)) / median(self.way(COLLECTIVE, **way))

    def shuffling(self, device, who="plain"):
        """Microseconds of a call: shuffling, and writing."""
        return [
            median(self.rows.values(f"{who}_{part}_us", steps=STEP_CALLS, device=device))
            for part in ("shuffle", "write")
        ]

    def share(self, device, who="plain"):
        shuffle, write = self.shuffling(device, who)
        return shuffle / (shuffle + write)
