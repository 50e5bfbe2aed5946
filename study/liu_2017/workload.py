"""What is measured: the cells of the study, and how large their files and page caches are."""

import itertools

import devices
from pmiolab.places import MIB

MPI = "mpich-5.0.2"
RANKS, MORE_RANKS = 2, 4  # the paper has 1 and 4 on each of 4 nodes
GIB_BYTES = 32 * MIB  # here for 1 GB of the paper, in figures 4 to 6
APPLICATIONS = {"HACC-IO": 2, "MADBench2": 4, "S3aSim": 2}  # GB of their files
CACHES = (1, 3, 11)  # GB of page cache
BLOCK = MIB  # of the applications
AMOUNT = 64 * MIB  # of all ranks, in everything else
TRANSFER = 2 * MIB  # and the collective buffer, as in section IV-D; 16 MB there
INTERLEAVED = 64 << 10  # a request of which the emulated hard drive makes as many MB/s as table IV's bdw_ran of bdw_seq
CACHE_SHARE = 8  # of the amount, the page cache of everything else
LEAST_CACHE = 4 * MIB
STEP_CALLS = 24
COLLECTIVE_HINTS = {"romio_cb_write": "enable", "romio_cb_read": "enable", "cb_nodes": 1}
POSIX, INDIVIDUAL, COLLECTIVE = "POSIX", "individual", "collective"


def cells():
    """Each is measured once in a repetition."""
    both = (False, True)
    pages = [
        {"application": name, "device": device, "cache": cache, "pmio": pmio}
        for name, device, cache, pmio in itertools.product(APPLICATIONS, devices.PROFILES, CACHES, both)
        if not pmio or (cache != CACHES[1] and device != "SSD")
    ]
    ways = [
        {"way": way, "device": device, "ranks": RANKS, "pattern": "large", "pmio": pmio}
        for way, device, pmio in itertools.product((POSIX, INDIVIDUAL, COLLECTIVE), devices.PROFILES, both)
        if not pmio or way != POSIX
    ]
    ways += [
        {"way": way, "device": device, "ranks": MORE_RANKS, "pattern": "large", "pmio": False}
        for way, device in itertools.product((INDIVIDUAL, COLLECTIVE), devices.PROFILES)
    ]
    ways += [
        {"way": way, "device": device, "ranks": RANKS, "pattern": "interleaved", "pmio": pmio}
        for way, device, pmio in itertools.product((INDIVIDUAL, COLLECTIVE), devices.PROFILES, both)
        if not pmio or way == COLLECTIVE
    ]
    rates = [
        {"bandwidth": order, "device": device} for order in ("sequential", "random") for device in devices.PROFILES
    ]
    return [
        *pages,
        *ways,
        *rates,
        *({"steps": STEP_CALLS, "device": device} for device in devices.PROFILES),
        {"messages": RANKS},
    ]


class Sizes:
    """In bytes, at a scale."""

    def __init__(self, scale):
        self.scale = scale

    def scaled(self, amount, unit):
        return max(unit, round(amount * self.scale / unit) * unit)

    @property
    def transfer(self):
        return self.scaled(TRANSFER, 128 << 10)

    @property
    def amount(self):
        return self.scaled(AMOUNT, 8 * MORE_RANKS * self.transfer)

    def of(self, cell):
        """Bytes of the file, and of page cache."""
        if "application" in cell:
            amount, cache = (
                self.scaled(GIB_BYTES * gb, 2 * MIB) for gb in (APPLICATIONS[cell["application"]], cell["cache"])
            )
        else:
            amount = self.amount // 2 if "bandwidth" in cell else self.amount  # the model predicts the larger one
            cache = self.amount // CACHE_SHARE
        if "steps" in cell:
            amount = STEP_CALLS * self.transfer
        return amount, max(cache, LEAST_CACHE)
