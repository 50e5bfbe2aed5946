"""What the rows of bench/grid.py say: pmio's `auto` against each other way, cell by cell.

A row is what all ways took in one repetition of a cell, one behind the other: {"cell": {...}, "repetition": N,
"seconds": {way: {phase: s}}, "failed": {way: why}}. Phases: log (in the write calls), file (and the close), end (and
the open: all that the program waits, without its computing), read (in the read calls).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import comparison
from .tables import print_table

AUTO = "pmio"
LOST, NEAR = 0.9, 0.95  # of the best plain way; of the best way
USUAL = ("default", "ompio")  # what a program has that gives no hints
HOPELESS = 5  # times what the best way takes
KEYS = ("pattern", "operation", "file_system", "log", "state", "compute")


def name_of(cell: Mapping[str, Any]) -> str:
    """For a line of a table."""
    return " ".join(f"{cell[key]:g}s" if key == "compute" else str(cell[key]) for key in KEYS)


def judged(cell: Mapping[str, Any]) -> str:
    """The phase by which a cell is judged."""
    return "read" if cell["operation"] == "read" else "end"


def phases_of(cell: Mapping[str, Any]) -> tuple[str, ...]:
    """All of its phases."""
    return ("read",) if cell["operation"] == "read" else ("log", "file", "end")


def hopeless(rows: Iterable[Mapping[str, Any]], plain: Sequence[str]) -> set[str]:
    """The ways that were so slow in a row of a cell that they are not the best of their kind; never auto, nor the
    usual way.
    """
    slow: set[str] = set()
    for row in rows:
        times = {way: seconds[judged(row["cell"])] for way, seconds in row["seconds"].items()}
        for way, time in times.items():
            kind = [times[other] for other in times if (other in plain) == (way in plain)]
            if way not in (AUTO, *USUAL) and time > HOPELESS * min(kind):
                slow.add(way)
    return slow


def _over(rows: Sequence[Mapping[str, Any]], ways: Iterable[str], phase: str) -> dict[str, Any] | None:
    """auto over the best of these ways, by its median: quartiles of the ratios of rates in one repetition."""
    both = [row["seconds"] for row in rows if AUTO in row["seconds"]]
    # A way that failed, or was given up, is not in all rows.
    whole = [way for way in ways if both and all(way in seconds for seconds in both)]
    if not whole:
        return None
    best = min(whole, key=lambda way: statistics.median(seconds[way][phase] for seconds in both))
    lower, ratio, upper = comparison.quartiles([each[best][phase] / each[AUTO][phase] for each in both])
    return {"way": best, "lower": lower, "ratio": ratio, "upper": upper}


def summarise(rows: Iterable[Mapping[str, Any]], plain: Sequence[str]) -> list[dict[str, Any]]:
    """By cell: auto over the best plain way, the usual one and the best of pmio's fixed ones, by phase; what failed."""
    cells: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        cells.setdefault(name_of(row["cell"]), []).append(row)
    summary = []
    for of_cell in cells.values():
        cell = of_cell[0]["cell"]
        ways = list(dict.fromkeys(way for row in of_cell for way in (*row["seconds"], *row["failed"])))
        fixed = [way for way in ways if way not in (AUTO, *plain)]
        phases = {
            phase: {"plain": _over(of_cell, plain, phase), "fixed": _over(of_cell, fixed, phase),
                    "usual": _over(of_cell, [way for way in plain if way in USUAL], phase)}
            for phase in phases_of(cell)
        }  # fmt: skip
        failed = {way: why for row in of_cell for way, why in row["failed"].items()}
        summary.append({"cell": cell, "repetitions": len(of_cell), "over": phases, "failed": failed})
    return summary


def ratio(entry: Mapping[str, Any], over: str, phase: str = "") -> float | None:
    """Of a cell in the summary; over: plain, fixed or usual; phase: by default the judged one."""
    of_phase = entry["over"][phase or judged(entry["cell"])][over]
    return of_phase["ratio"] if of_phase else None


def lost(summary: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The cells in which pmio makes a program worse off, the worst first."""
    known = [entry for entry in summary if ratio(entry, "plain") is not None]
    return sorted((e for e in known if ratio(e, "plain") < LOST), key=lambda e: ratio(e, "plain"))


def is_bad(summary: Sequence[Mapping[str, Any]]) -> bool:
    """Whether pmio has lost or failed anywhere."""
    return bool(lost(summary)) or any(AUTO in entry["failed"] for entry in summary)


def _cell_text(entry: Mapping[str, Any], over: str, phase: str) -> str:
    of_phase = entry["over"].get(phase, {}).get(over)
    return f"{of_phase['ratio']:.2f}" if of_phase else ""


def _against(entry: Mapping[str, Any], over: str) -> tuple[str, str, str]:
    of_phase = entry["over"][judged(entry["cell"])][over]
    return (f"{of_phase['ratio']:.2f}", comparison.spread(of_phase), of_phase["way"]) if of_phase else ("", "", "")


def print_summary(summary: Sequence[Mapping[str, Any]]) -> None:
    """A line for each cell, and then what a site must know."""
    header = (*KEYS, "to log", "to file", "all", "quartiles", "over plain", "over usual", "over pmio's", "best", "")
    rows, worse = [], lost(summary)
    for entry in summary:
        cell = [f"{entry['cell'][key]:g}" if key == "compute" else entry["cell"][key] for key in KEYS]
        plain, fixed = _against(entry, "plain"), _against(entry, "fixed")
        logged = [_cell_text(entry, "plain", phase) for phase in ("log", "file")]
        word = "FAILED" if AUTO in entry["failed"] else "LOST" if entry in worse else ""
        usual = _cell_text(entry, "usual", judged(entry["cell"]))
        rows.append((*cell, *logged, *plain, usual, fixed[0], fixed[2], word))
    print_table(header, rows)
    for entry in summary:
        for way, why in entry["failed"].items():
            print(f"failed: {name_of(entry['cell'])}, {way}: {why.splitlines()[0]}")
    print_verdict(summary)


def print_verdict(summary: Sequence[Mapping[str, Any]]) -> None:
    """How often pmio is near the best way, where it loses, and where most."""
    known = [entry for entry in summary if ratio(entry, "plain") is not None]
    if not known:
        print("no cell has both pmio and a plain way")
        return
    near = sum(min(ratio(e, "plain"), ratio(e, "fixed") or 1) >= NEAR for e in known)
    print(f"{near} of {len(known)} cells ({near / len(known):.0%}): pmio is within 5 % of the best way")
    usual = [entry for entry in known if ratio(entry, "usual") is not None]
    slower = sum(ratio(entry, "usual") < LOST for entry in usual)
    print(f"{slower} of {len(usual)} cells: pmio is below {LOST} of the usual way, without hints")
    for entry in lost(summary):
        of_phase = entry["over"][judged(entry["cell"])]["plain"]
        print(f"below {LOST}: {name_of(entry['cell'])}: {of_phase['ratio']:.2f} ({comparison.spread(of_phase)}) "
              f"of {of_phase['way']}")  # fmt: skip
    worst = min(known, key=lambda e: ratio(e, "plain"))
    print(f"worst case: {name_of(worst['cell'])}: {ratio(worst, 'plain'):.2f} of the best plain way")
