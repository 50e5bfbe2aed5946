"""What the benchmarks with several contestants share: patterns with their targets, medians, ratios, tables.

Rates are in MB/s (10^6 bytes), all ranks together: {contestant: {phase: [one per repetition]}}. A contestant
has only those phases that mean something for it. `limits` are contestants that show what the machine can do
at best, not ways to do I/O.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .places import KIB, MIB
from .tables import print_table

Rates = dict[str, dict[str, list[float]]]
COLUMNS = {
    "log": "time-to-log",
    "file": "time-to-file",
    "read": "collective read",
    "again": "read again",
    "drain": "drain",
    "overlap": "overlap",
}


@dataclass(frozen=True)
class Pattern:
    """How the ranks write, and what is expected of pmio there."""

    name: str
    arguments: tuple  # of mpiio_bench: option, value, ...
    rank_bytes: int
    slow_bytes: dict  # contestant: bytes per rank, if the whole would take minutes
    targets: dict  # (phase, over whom): ratio
    cold_targets: dict = field(default_factory=dict)  # likewise, for the first file of a job

    def bytes_of(self, contestant: str, divide: int) -> int:
        """Bytes of a rank: the whole divided by `divide`, but at least one call."""
        values = dict(zip(self.arguments[::2], self.arguments[1::2]))
        blocks = values.get("--irregular") or values.get("--blocks-per-call", 1)
        call_bytes = values.get("--block", KIB) * blocks  # no irregular piece is longer
        return max(call_bytes, self.slow_bytes.get(contestant, self.rank_bytes) // divide)


AnyPattern = TypeVar("AnyPattern", bound=Pattern)


def add_options(parser: argparse.ArgumentParser, log_size: str) -> None:
    """--pattern, --divide and --log-size, with its default."""
    parser.add_argument("--pattern", action="append", help="only patterns whose name contains this")
    parser.add_argument("--divide", type=int, default=1, help="all amounts by this, for a quick look without targets")
    parser.add_argument("--log-size", default=log_size, help="of a rank, in pmio's log")


def chosen(patterns: Iterable[AnyPattern], parts: Sequence[str] | None) -> list[AnyPattern]:
    """The patterns that --pattern names; all of them without it."""
    return [pattern for pattern in patterns if not parts or any(part in pattern.name for part in parts)]


def add_rates(rates: dict[str, list[float]], times: Mapping[str, float], phases: Iterable[str]) -> None:
    """Adds the rates of one run of a contestant, whose times are as mpiio_bench prints them."""
    seconds = {"log": times["write_s"], "file": times["write_s"] + times["close_s"], "read": times["read_s"],
               "again": times.get("read_again_s", 0), "drain": times["close_s"],
               "overlap": times["write_s"] + times["close_s"]}  # fmt: skip
    for phase in phases:
        rates.setdefault(phase, []).append(times["bytes"] / seconds[phase] / 1e6)


def in_turn(names: Sequence[str], repetition: int) -> list[str]:
    """Whoever is first leaves the machine to the next in another state: so each repetition begins with another one."""
    first = repetition % len(names)
    return [*names[first:], *names[:first]]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The lower one, the median, the upper one."""
    if len(values) == 1:
        return (values[0],) * 3
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, median, upper


def ratio_of(mine: Sequence[float], others: Sequence[float]) -> tuple[float, float, float]:
    """Quartiles of the ratios of runs that were made in the same repetition.

    The machine changes from minute to minute. If there are not as many runs of both: of mine over the others' median.
    """
    if len(mine) != len(others):
        others = [statistics.median(others)] * len(mine)
    return quartiles([ours / theirs for ours, theirs in zip(mine, others)])


def fastest(rates: Rates, phase: str, names: Iterable[str]) -> str:
    """Who has the best median. The best of several single runs is better than anybody is."""
    return max(names, key=lambda name: statistics.median(rates[name][phase]))


def summarise(
    pattern: Pattern,
    rates: Rates,
    amounts: Mapping[str, int],
    targets: Mapping[tuple[str, str], float],
    limits: Iterable[str] = (),
    modes: Iterable[str] = (),
) -> dict[str, Any]:
    """Medians per contestant, and ratios of pmio to each (ratio_of), with their targets.

    amounts: bytes that each has written.
    modes: contestants that are pmio too, of which none is the best plain way.
    """
    medians = {
        name: {phase: statistics.median(values) for phase, values in phases.items()} for name, phases in rates.items()
    }
    ratios = []
    for phase in medians["pmio"]:
        others = [name for name, of in medians.items() if phase in of and name not in ("pmio", *limits)]
        of_limits = [name for name in limits if phase in medians.get(name, ())]
        plain = [name for name in others if name not in modes]
        best = [("best", fastest(rates, phase, plain))] if plain else []
        for over, name in [*((name, name) for name in others), *best, *((name, name) for name in of_limits)]:
            target, rate = targets.get((phase, over)), medians[name][phase]
            beyond = next((limit for limit in of_limits if target and target * rate > medians[limit][phase]), None)
            lower, ratio, upper = ratio_of(rates["pmio"][phase], rates[name][phase])
            ratios.append({"phase": phase, "over": over, "ratio": ratio, "lower": lower, "upper": upper,
                           "target": target, "beyond": beyond})  # fmt: skip
    return {"pattern": pattern.name, "bytes": amounts, "MB_per_s": medians, "all_MB_per_s": rates, "ratios": ratios}


def print_summary(summary: Mapping[str, Any], ranks: str) -> None:
    """A table of the rates and one of the ratios; cold beside warm, if the summary has `cold`."""
    cold = summary.get("cold")
    print(f"\n{summary['pattern']}: MB/s, {ranks} together, medians")
    states = {"cold ": cold, "": summary} if cold else {"": summary}
    shown = [(state, phase) for phase in COLUMNS for state in states
             if any(phase in of for of in states[state]["MB_per_s"].values())]  # fmt: skip
    rows = []
    for name in summary["MB_per_s"]:
        rates = [states[state]["MB_per_s"].get(name, {}).get(phase) for state, phase in shown]
        rows.append((name, f"{summary['bytes'][name] / MIB:.1f}", *(f"{r:.1f}" if r else "" for r in rates)))
    print_table(("contestant", "MiB", *(state + COLUMNS[phase] for state, phase in shown)), rows)
    rows = [(state + r["phase"], r["over"], f"{r['ratio']:.2f}", spread(r), r["target"] or "", verdict(r))
            for state, of in states.items() for r in of["ratios"]]  # fmt: skip
    columns = 6 if any(target or word for *_, target, word in rows) else 4
    print_table(("phase", "pmio over", "ratio", "quartiles", "target", "")[:columns], [row[:columns] for row in rows])


def spread(ratio: Mapping[str, Any]) -> str:
    """The quartiles, for a table."""
    return f"{ratio['lower']:.2f}-{ratio['upper']:.2f}"


def verdict(ratio: Mapping[str, Any]) -> str:
    """A word for the table; empty if there is nothing to say of the ratio."""
    if ratio["target"] is None:
        return "" if ratio["over"] != "best" or ratio["phase"] != "file" or ratio["ratio"] >= 1 else "SLOWER"
    if ratio["ratio"] >= ratio["target"]:
        return "reached"
    return f"beyond {ratio['beyond']}" if ratio["beyond"] else "MISSED"
