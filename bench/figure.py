#!/usr/bin/python3
"""Draws the results of bench/nodes.py: the rate of each contestant by pattern, to the log and to the complete file.
Or those of bench/sweep.py: pmio over the best plain way by the size of the blocks, a panel for each file system.

Or those of bench/grid.py: a map of pmio over the best plain way, patterns by cells.

  bench/figure.py docs/figures/nodes.json docs/figures/nodes.svg
  bench/figure.py ext4.json tmpfs.json docs/figures/sweep.svg
"""

import json
import math
import sys
from pathlib import Path

from pmiolab import figures, grid_results

PANELS = {"log": "time-to-log: in the write calls", "file": "time-to-file: write and close"}
LABELS = {"pmio": "pmio", "enable": "ROMIO, collective buffering", "disable": "ROMIO, none",
          "default": "ROMIO, default", "ompio": "OMPIO", "pmio twophase": "pmio, twophase",
          "pmio independent": "pmio, independent"}  # fmt: skip
COLOURS = {"pmio": "#0b5394", "enable": "#e69138", "disable": "#f6b26b", "default": "#fce5cd", "ompio": "#6aa84f",
           "pmio twophase": "#6fa8dc", "pmio independent": "#9fc5e8"}  # fmt: skip

STATES = {"cold": "#0b5394", "warm": "#e69138"}
UNITS = (("M", 1 << 20), ("K", 1 << 10))
TICKS = (0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 50)


def draw(axes, phase, results):
    width = 0.8 / len(LABELS)
    for number, name in enumerate(LABELS):
        rates = [result["MB_per_s"].get(name, {}).get(phase) for result in results]
        places = [at + (number - len(LABELS) / 2 + 0.5) * width for at in range(len(results))]
        shown = [(place, rate) for place, rate in zip(places, rates) if rate]
        axes.bar(
            [place for place, _ in shown], [rate for _, rate in shown], width, color=COLOURS[name], label=LABELS[name]
        )
    axes.set_yscale("log")
    axes.set_ylim(
        bottom=min(rate for result in results for of in result["MB_per_s"].values() if (rate := of.get(phase))) / 3
    )
    axes.set_xticks(range(len(results)), [result["pattern"] for result in results])
    axes.set_ylabel("MB/s, all ranks")
    axes.set_title(PANELS[phase], loc="left", fontsize=10)
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def draw_nodes(results):
    figure, panels = figures.pyplot.subplots(len(PANELS), 1, figsize=(9, 7), layout="constrained")
    for axes, phase in zip(panels, PANELS):
        draw(axes, phase, results["results"])
    panels[0].legend(ncols=len(LABELS), fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.08))
    where = f"{results['ranks']} ranks on {results['hosts']} hosts, MooseFS on {results['servers']}, 1 Gbit/s"
    figure.suptitle(f"{where}: medians of {results['repetitions']}", fontsize=11)
    return figure


def block_name(block):
    return next((f"{block // of} {unit}i" for unit, of in UNITS if block % of == 0), f"{block:,}")


def draw_file_system(axes, rows, target):
    """Medians, and quartiles as a band."""
    for state, colour in STATES.items():
        of_state = sorted((row for row in rows if row["state"] == state), key=lambda row: row["block"])
        for phase, line in (("file", "-"), ("log", ":")) if of_state else ():
            at = [row["block"] for row in of_state]
            names = [f"{phase}_{name}" for name in ("over_best", "lower", "upper")]
            median, lower, upper = ([row[name] for row in of_state] for name in names)
            axes.plot(at, median, line, marker="o", markersize=3, color=colour, label=f"{state}, time-to-{phase}")
            axes.fill_between(at, lower, upper, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(target, color="#888888", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.tick_params(labelsize=7)
    axes.set_ylabel("pmio over the best plain way", fontsize=8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def set_ticks(axes, rows):
    blocks = sorted({row["block"] for row in rows})
    edges = [row[f"{phase}_{edge}"] for row in rows for phase in ("log", "file") for edge in ("lower", "upper")]
    ticks = [tick for tick in TICKS if min(edges) / 1.5 < tick < max(edges) * 1.5]
    axes.set_xticks(blocks, [block_name(block) for block in blocks], fontsize=7)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=7)
    axes.minorticks_off()


def draw_sweeps(results):
    """A panel for each file system; several results of one are one sweep."""
    kinds = list(dict.fromkeys(each["files_on"] for each in results))
    size = (9, 1 + 3 * len(kinds))
    how = {"squeeze": False, "sharex": True, "sharey": True, "layout": "constrained"}
    figure, panels = figures.pyplot.subplots(len(kinds), 1, figsize=size, **how)
    for axes, kind in zip(panels[:, 0], kinds):
        of_kind = [each for each in results if each["files_on"] == kind]
        draw_file_system(axes, [row for each in of_kind for row in each["sweep"]], results[0]["target"])
        axes.set_title(f"files on {kind}, {of_kind[0]['repetitions']} repetitions", loc="left", fontsize=10)
    set_ticks(panels[0, 0], [row for each in results for row in each["sweep"]])
    panels[-1, 0].set_xlabel("block, bytes; one per call")
    panels[0, 0].legend(fontsize=8, frameon=False)
    figure.suptitle(f"2 ranks, {results[0]['mpi']}, one node: medians and quartiles", fontsize=11)
    return figure


def draw_grid(results):
    """Rows are patterns, columns all else; red is where pmio loses. x: pmio failed, or each plain way. Empty: not run."""
    summary = results["summary"]
    rows = list(dict.fromkeys(entry["cell"]["pattern"] for entry in summary))
    columns = list(dict.fromkeys(column_of(entry["cell"]) for entry in summary))
    size = (3 + 0.9 * len(columns), 2 + 0.28 * len(rows))
    figure, axes = figures.pyplot.subplots(figsize=size, layout="constrained")
    logarithms = [[math.nan] * len(columns) for _ in rows]
    for entry in summary:
        row, column = rows.index(entry["cell"]["pattern"]), columns.index(column_of(entry["cell"]))
        ratio = grid_results.ratio(entry, "plain")
        look = {"ha": "center", "va": "center", "fontsize": 8}
        if ratio is not None:
            logarithms[row][column] = math.log2(ratio)
            look["fontweight"] = "bold" if ratio < grid_results.LOST else "normal"
            look["color"] = "white" if abs(math.log2(ratio)) > 1.3 else "black"
        axes.text(column, row, "x" if ratio is None else f"{ratio:.2f}", **look)
    axes.imshow(logarithms, cmap="RdYlBu", vmin=-2, vmax=2, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, fontsize=8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    where = f"{results['mpi']}, {results['ranks']} ranks, {results['bytes'] / (1 << 20):.3g} MiB of each"
    figure.suptitle(f"pmio over the best plain way\n{where}", fontsize=10)
    return figure


def column_of(cell):
    """Of a pattern's cells, what tells one from another."""
    computing = f"computing {cell['compute']:g} s" if cell["compute"] else cell["operation"]
    return f"{cell['file_system']}\nlog on {cell['log']}\n{cell['state']}\n{computing}"


def draw_one(results):
    return draw_grid(results) if "grid" in results else draw_nodes(results)


def main():
    if sys.argv[1:] == ["--check"]:  # that it can draw
        return
    if len(sys.argv) < 3:
        raise SystemExit("usage: bench/figure.py RESULTS.json... FIGURE.svg")
    results = [json.loads(Path(path).read_text()) for path in sys.argv[1:-1]]
    drawn = draw_sweeps(results) if "sweep" in results[0] else draw_one(results[0])
    figures.save(drawn, Path(sys.argv[-1]))


if __name__ == "__main__":
    main()
