"""What was measured, as the claims, the tables and the figure ask for it."""

import itertools
from statistics import median

import compare

from .workload import BLOCKS, RANKS, SERVER_TASKS, SERVERS


class Results:
    def __init__(self, rows):
        self.rows = rows

    def rates(self, question, device, tasks=RANKS, way="individual", cache="through", pmio=False, **cell):
        """MB/s of all ranks, in each repetition."""
        cell |= {"question": question, "device": device, "tasks": tasks, "way": way, "cache": cache, "pmio": pmio}
        return [amount / seconds / 1e6 for amount, seconds in
                zip(self.rows.values("bytes", **cell), self.rows.values("seconds", **cell))]  # fmt: skip

    def rate(self, *which, **cell):
        """StatisticsError if there is none."""
        return median(self.rates(*which, **cell))

    def raw(self, device, key):
        """MB/s or operations per second by fio."""
        return median(self.rows.values(key, question="device", device=device))

    def by_servers(self, device):
        """Medians."""
        return [self.rate("servers", device, SERVER_TASKS, servers=servers) for servers in SERVERS]

    def by_block(self, device, cache="through"):
        """Medians, told, and between which sizes they fall significantly."""
        sets = {block: self.rates("blocks", device, cache=cache, block=block) for block in BLOCKS}
        rates = {block: median(values) for block, values in sets.items()}
        falls = [(one, other) for one, other in itertools.combinations(BLOCKS, 2)
                 if rates[other] < rates[one] and compare.mann_whitney(sets[one], sets[other]).p < compare.LEVEL]  # fmt: skip
        return rates, ", ".join(f"{rate:,.0f}" for rate in rates.values()), falls
