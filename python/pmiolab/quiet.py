"""A machine that others use, or a host that takes processors away, slows one run of a comparison and not the next.

Such runs are measured again. What others use is all processor time but that of this script and of what it has
started and waited for; the kernel's own threads count as others.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

MOST_SHARE = 0.15  # of one processor, while a run lasts
MOST_TRIES = 4

Result = TypeVar("Result")
_repeated = 0


class Usage(NamedTuple):
    """Seconds since some moment."""

    wall: float
    others: float  # of processors: other processes, and what the host has taken


def usage_of(stat: str, ticks: float, own: float, wall: float) -> Usage:
    """From the text of /proc/stat (proc(5)); own: seconds of this script and of what it has waited for."""
    user, nice, system, _, _, irq, softirq, steal = map(int, stat.split("\n", 1)[0].split()[1:9])
    return Usage(wall, (user + nice + system + irq + softirq + steal) / ticks - own)


def _now() -> Usage:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own = sum(each.ru_utime + each.ru_stime for each in used)
    return usage_of(Path("/proc/stat").read_text(), os.sysconf("SC_CLK_TCK"), own, time.monotonic())


def share(before: Usage, after: Usage) -> float:
    """Of one processor, what others have used in between."""
    return max(0.0, after.others - before.others) / max(after.wall - before.wall, 0.01)


def measured(run: Callable[[], Result], now: Callable[[], Usage] = _now) -> Result:
    """What an undisturbed run returns; after MOST_TRIES that of the least disturbed one."""
    global _repeated
    best, least = None, float("inf")
    for attempt in range(MOST_TRIES):
        _repeated += attempt > 0
        before = now()
        result = run()
        disturbed = share(before, now())
        if disturbed < least:
            best, least = result, disturbed
        if disturbed <= MOST_SHARE:
            break
    return best


def repeated() -> int:
    """How many runs of this script have been measured again."""
    return _repeated
