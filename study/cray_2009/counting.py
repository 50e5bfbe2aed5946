"""Which stripes the system writes of a run go to, and how many ranks write the same one."""

from collections import defaultdict
from typing import NamedTuple

from .workload import BLOCK, STRIPE


class Count(NamedTuple):
    """Of a run's system writes: (rank, offset, length)."""

    writes: int
    writers: int  # ranks
    longest: int  # bytes
    whole: float  # share of the bytes in writes of whole stripes alone
    stripes: int
    shared: int  # stripes that more than one rank has written
    shared_blocks: int
    more: int  # ranks of a stripe beyond its first one, of all stripes: so often a lock must go to another, at least
    in_call: int | None  # stripes that more than one rank has written in one call, of all calls; None: not known


def ranks_of(writes, unit):
    """By number, those that have written some of a stripe or block."""
    ranks = defaultdict(set)
    for rank, offset, length in writes:
        for number in range(offset // unit, (offset + length - 1) // unit + 1):
            ranks[number].add(rank)
    return ranks


def shared(writes, unit):
    return sum(len(ranks) > 1 for ranks in ranks_of(writes, unit).values())


def shared_in_calls(writes, call_bytes):
    """None if a write has bytes of several calls."""
    calls = defaultdict(list)
    for rank, offset, length in writes:
        if not call_bytes or offset // call_bytes != (offset + length - 1) // call_bytes:
            return None
        calls[offset // call_bytes].append((rank, offset, length))
    return sum(shared(of_call, STRIPE) for of_call in calls.values())


def count(writes, call_bytes):
    ranks = ranks_of(writes, STRIPE)
    whole = sum(length for _, offset, length in writes if offset % STRIPE == 0 and length % STRIPE == 0)
    return Count(len(writes), len({rank for rank, _, _ in writes}), max(length for *_, length in writes),
                 whole / sum(length for *_, length in writes), len(ranks), shared(writes, STRIPE),
                 shared(writes, BLOCK), sum(len(those) - 1 for those in ranks.values()),
                 shared_in_calls(writes, call_bytes))  # fmt: skip
