"""What the benchmarks with several contestants share: patterns with their targets, medians, ratios, tables.

Rates are in MB/s, all ranks together: {contestant: {phase: [one per repetition]}}, with those phases only that mean something
for the contestant. `limits` are contestants that show what the machine can do at best, not ways to do I/O.
"""

import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "programs")]
import harness

MIB = 1 << 20
COLUMNS = {"log": "time-to-log", "file": "time-to-file", "read": "collective read", "drain": "drain", "overlap": "overlap"}


@dataclass(frozen=True)
class Pattern:
    name: str
    arguments: tuple
    rank_bytes: int
    slow_bytes: dict  # contestant: bytes per rank, where the whole would take minutes
    targets: dict  # (phase, over whom): ratio

    def bytes_of(self, contestant, divide):
        values = dict(zip(self.arguments[::2], self.arguments[1::2]))
        call_bytes = values["--block"] * values.get("--blocks-per-call", 1)
        return max(call_bytes, self.slow_bytes.get(contestant, self.rank_bytes) // divide)


def add_rates(rates, times, phases):
    """Adds the rates of one run, whose times are as mpiio_bench prints them."""
    seconds = {"log": times["write_s"], "file": times["write_s"] + times["close_s"], "read": times["read_s"],
               "drain": times["close_s"], "overlap": times["write_s"] + times["close_s"]}  # fmt: skip
    for phase in phases:
        rates.setdefault(phase, []).append(times["bytes"] / seconds[phase] / 1e6)


def summarise(pattern, rates, amounts, targets, limits=()):
    """Medians per contestant, and ratios of pmio to each, with their targets."""
    medians = {name: {phase: statistics.median(values) for phase, values in phases.items()} for name, phases in rates.items()}
    ratios = []
    for phase, mine in medians["pmio"].items():
        of_others = [(name, of[phase]) for name, of in medians.items() if phase in of and name not in ("pmio", *limits)]
        of_limits = [(name, medians[name][phase]) for name in limits if phase in medians.get(name, ())]
        best = [("best", max(rate for _, rate in of_others))] if of_others else []
        for name, rate in of_others + best + of_limits:
            target = targets.get((phase, name))
            beyond = next((limit for limit, most in of_limits if target and target * rate > most), None)
            ratios.append({"phase": phase, "over": name, "ratio": mine / rate, "target": target, "beyond": beyond})
    return {"pattern": pattern.name, "bytes": amounts, "MB_per_s": medians, "all_MB_per_s": rates, "ratios": ratios}


def print_summary(summary, ranks):
    print(f"\n{summary['pattern']}: MB/s, {ranks} together, medians")
    medians = summary["MB_per_s"]
    phases = [phase for phase in COLUMNS if any(phase in of for of in medians.values())]
    rows = [(name, f"{summary['bytes'][name] / MIB:.1f}", *(f"{of[phase]:.1f}" if phase in of else "" for phase in phases))
            for name, of in medians.items()]  # fmt: skip
    harness.print_table(("contestant", "MiB", *(COLUMNS[phase] for phase in phases)), rows)
    rows = [(r["phase"], r["over"], f"{r['ratio']:.2f}", r["target"] or "", verdict(r)) for r in summary["ratios"]]
    shown = 5 if any(target or word for *_, target, word in rows) else 3
    harness.print_table(("phase", "pmio over", "ratio", "target", "")[:shown], [row[:shown] for row in rows])


def verdict(ratio):
    if ratio["target"] is None:
        return "" if ratio["over"] != "best" or ratio["phase"] != "file" or ratio["ratio"] >= 1 else "SLOWER"
    if ratio["ratio"] >= ratio["target"]:
        return "reached"
    return f"beyond {ratio['beyond']}" if ratio["beyond"] else "MISSED"
