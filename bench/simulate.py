#!/usr/bin/python3
"""Draws what `pmio simulate` says of the three ways over the number of nodes: time-to-log and time-to-file.

Each node writes the same, and the servers are as many as ever. The log's line is dotted where pmio would log
nothing, because a leader would need more descriptors than a process may have.

  bench/simulate.py docs/figures/simulate.svg
  bench/simulate.py simulate.svg --servers 450 --server-rate 12000     options of pmio simulate
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pmiolab import figures, places

NODES = (10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000)
# Of one rank 64 MiB a checkpoint, or nearly.
PATTERNS = {"records of 64 KiB": ("--record-bytes", "64K", "--records", "1024"),
            "records of 1,312 B": ("--record-bytes", "1312", "--records", "51150")}  # fmt: skip
PANELS = {"to_log_s": "time-to-log: the program waits", "to_file_s": "time-to-file: the checkpoint is complete"}
WAYS = {"two-phase": "#e69138", "independent": "#6aa84f", "log": "#0b5394"}


def simulate(nodes: int, words: list[str]) -> dict:
    command = [places.pmio(places.ROOT / "build" / "release"), "simulate", "--json", "--nodes", str(nodes), *words]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def draw(axes: figures.Axes, results: list[dict], key: str) -> None:
    for way, colour in WAYS.items():
        seconds = [each["ways"][way][key] for each in results]
        logged = [each["ways"][way].get("not_logged") is None for each in results]
        last = max((at for at, it_is in enumerate(logged) if it_is), default=0)
        look = {"marker": "o", "markersize": 3, "color": colour}
        axes.plot(NODES[: last + 1], seconds[: last + 1], "-", label=way, **look)
        axes.plot(NODES[last:], seconds[last:], ":", **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def figure_of(by_pattern: dict[str, list[dict]]) -> figures.Figure:
    size = {"figsize": (9, 7), "sharex": True, "sharey": "row", "squeeze": False, "layout": "constrained"}
    figure, panels = figures.pyplot.subplots(len(PANELS), len(by_pattern), **size)
    for column, (name, results) in enumerate(by_pattern.items()):
        for row, (key, title) in enumerate(PANELS.items()):
            draw(panels[row, column], results, key)
            panels[row, column].set_title(f"{title}\n{name}", loc="left", fontsize=9)
        panels[-1, column].set_xlabel("nodes")
    for row in panels:
        row[0].set_ylabel("seconds, mean of a checkpoint")
    panels[0, 0].legend(fontsize=8, frameon=False)
    told = next(iter(by_pattern.values()))[0]["scenario"]
    figure.suptitle(
        f"pmio simulate: {told['ranks_per_node']} ranks a node, 2 GiB of a node in a checkpoint, "
        f"{told['compute_s']:g} s of computing, {told['servers']} servers of {told['server_bytes_per_s'] / 1e9:g} GB/s",
        fontsize=10,
    )
    return figure


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit("usage: bench/simulate.py FIGURE.svg [OPTION OF pmio simulate...]")
    path, *options = sys.argv[1:]
    by_pattern = {name: [simulate(nodes, [*words, *options]) for nodes in NODES] for name, words in PATTERNS.items()}
    figures.save(figure_of(by_pattern), Path(path))


if __name__ == "__main__":
    main()
