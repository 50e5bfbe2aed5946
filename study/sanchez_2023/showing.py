"""The table and the figure."""

import itertools

from pmiolab import figures
from pmiolab.places import KIB, MIB
from shown import head, line, plain

from .workload import BUFFERS, WAYS


def table(results):
    """Markdown: MB/s of all ranks, medians."""
    lines = ["MB/s of all ranks, medians; each run has a new file and a new log. *To the log* is the time in write "
             "calls, of ways without a log too. *Complete file* adds the open and the close, and *file read* is "
             "after the close. Nothing is synced to the disk.", ""]  # fmt: skip
    lines += head("pattern", "by", "to the log", "complete file", "read", "file read")
    for name, way in itertools.product(results.patterns, WAYS):
        if results.rows.values("bytes", pattern=name, by=way):
            keys = ("log_s", "file_s", "read_s", "read_again_s")
            rates = [results.rate(key, pattern=name, by=way) for key in keys]
            lines.append(line(name, way, *(f"{rate:,.0f}" for rate in rates)))
    lines += ["", *head("buffer or log of a rank, MB/s", *BUFFERS)]
    for size in sorted({size for sizes in BUFFERS.values() for size in sizes}):
        there = {way for way in BUFFERS if results.rows.values("log_s", buffer=size, by=way)}
        rates = [f"{results.rate('log_s', buffer=size, by=way):,.0f}" if way in there else "–"
                 for way in BUFFERS]  # fmt: skip
        lines.append(line(f"{size // KIB:,} KiB", *rates))
    return lines


def draw(results, pyplot):
    figure, panels = pyplot.subplots(2, 2, figsize=(11, 8), layout="constrained")
    draw_rates(results, pyplot, panels[0, 0], "write", "log_s", "file_s")
    draw_rates(results, pyplot, panels[0, 1], "read", "read_s", "read_again_s")
    draw_shares(results, pyplot, panels[1, 0])
    draw_buffers(results, pyplot, panels[1, 1])
    for axes in panels.flat:
        plain(axes)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, fontsize=8, frameon=False, loc="outside upper center")
    return figure


def draw_rates(results, pyplot, axes, title, key, after_close):
    """Bars, and black marks for what includes the close."""
    width = 0.8 / len(WAYS)
    for number, way in enumerate(WAYS):
        names = [name for name in results.patterns if results.rows.values(key, pattern=name, by=way)]
        at = [results.patterns.index(name) + (number - len(WAYS) / 2 + 0.5) * width for name in names]
        axes.bar(at, [results.rate(key, pattern=name, by=way) for name in names], width,
                 color=pyplot.cm.tab10(number), label=way)  # fmt: skip
        axes.plot(at, [results.rate(after_close, pattern=name, by=way) for name in names], "k_", markersize=8,
                  label="complete file; read after the close" if number == len(WAYS) - 1 else None)  # fmt: skip
    figures.log_scale(axes)
    axes.set_xticks(range(len(results.patterns)), results.patterns, fontsize=9)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_ylabel("MB/s, all ranks")


def draw_shares(results, pyplot, axes):
    sources = {"ROMIO, not in the file": results.traced_shares,
               "pmio two-phase, not in the file": results.engine_shares,
               "steps of two-phase I/O: messages": results.step_shares}  # fmt: skip
    place, ticks = 0, []
    for number, (label, shares) in enumerate(sources.items()):
        try:
            found = shares()
        except LookupError:
            continue
        at = range(place, place + len(found))
        axes.bar(at, [100 * share for share in found.values()], 0.7, color=pyplot.cm.Set2(number), label=label)
        ticks += zip(at, found)
        place += len(found) + 1
    axes.axhline(91, color="k", linewidth=0.8, linestyle=":", label="the paper: up to 91 %")
    axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks], rotation=30, ha="right", fontsize=8)
    axes.set_ylim(0, 135)
    axes.set_yticks(range(0, 101, 20))
    axes.set_title("share of the time of collective writes", loc="left", fontsize=10)
    axes.set_ylabel("%")
    axes.legend(fontsize=8, frameon=False, loc="upper left", ncols=2)


def draw_buffers(results, pyplot, axes):
    for way, sizes in BUFFERS.items():
        color = pyplot.cm.tab10(list(WAYS).index(way))
        there = [size for size in sizes if results.rows.values("log_s", buffer=size, by=way)]
        for key, style in (("log_s", "o-"), ("file_s", "x:")):
            axes.plot([size / MIB for size in there], [results.rate(key, buffer=size, by=way) for size in there],
                      style, color=color, label=way if key == "log_s" else None)  # fmt: skip
    sizes = sorted({size for sizes in BUFFERS.values() for size in sizes})
    axes.set_xscale("log", base=2)
    axes.set_xticks([size / MIB for size in sizes], [f"{size / MIB:g}" for size in sizes])
    figures.log_scale(axes)
    axes.set_ylim(top=axes.get_ylim()[1] * 2)  # for the legend
    axes.set_xlabel("buffer of an aggregator, or log of a rank, MiB")
    axes.set_title("write, tiles in calls of 16 MiB; dotted: complete file", loc="left", fontsize=10)
    axes.set_ylabel("MB/s, all ranks")
    axes.legend(fontsize=8, frameon=False, loc="upper left", ncols=3)
