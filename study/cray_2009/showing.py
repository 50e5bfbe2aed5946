"""The tables and the figure."""

import itertools
from statistics import median

from pmiolab import figures
from shown import head, line, median_of, plain

from .workload import BENCHMARKS, COLLECTIVE, DUMP_RANKS, STRIPE, WAYS


def table(results):
    """Markdown: rates, and what the system writes are."""
    lines = ["MiB/s of all ranks, medians. Writing and closing count, opening does not; nothing is synced.", "",
             *head("", *(benchmark.title for benchmark in BENCHMARKS.values()))]  # fmt: skip
    for way in WAYS:
        lines.append(line(WAYS[way].label, *(median_of(results.rates(name, way)) for name in BENCHMARKS)))
    lines += ["", f"System writes to stripes of {STRIPE >> 20} MiB, counted in a shorter run. Conflicts: stripes "
              "that more than one rank has written, in one call (all calls' sum) and in all calls. MPICH's are "
              "counted by strace, pmio's by its statistics.", "",
              *head("benchmark", "way", "writes", "by ranks", "longest, bytes", "in whole stripes",
                    "conflicts in one call", "in all")]  # fmt: skip
    for name, way in itertools.product(BENCHMARKS, WAYS):
        if not results.number("writes", name, way):
            continue
        writes, writers, longest, whole, stripes, conflicts, in_call = (
            results.number(key, name, way)
            for key in ("writes", "writers", "longest", "whole", "stripes", "shared", "in_call"))  # fmt: skip
        lines.append(line(BENCHMARKS[name].title, WAYS[way].label, f"{writes:,.0f}", f"{writers:.0f}",
                          f"{longest:,.0f}", f"{whole:.0%}", "–" if in_call is None else f"{in_call:.0f}",
                          f"{conflicts:.0f} of {stripes:.0f}"))  # fmt: skip
    return lines


def draw(results, pyplot):
    figure, panels = pyplot.subplots(2, 4, figsize=(18, 7.5), layout="constrained")
    for axes, name in zip((*panels[0], panels[1, 0]), ("1", "2", "apart", "large", "4")):
        draw_rates(results, axes, name, pyplot)
    draw_dumps(results, panels[1, 1])
    draw_counts(results, panels[1, 2], "Stripes with several writers, all calls", "% of stripes",
                lambda *cell: 100 * results.number("shared", *cell) / results.number("stripes", *cell))
    draw_counts(results, panels[1, 3], "Bytes in writes of whole stripes", "% of bytes",
                lambda *cell: 100 * results.number("whole", *cell))  # fmt: skip
    handles, labels = panels[1, 2].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=8, fontsize=8, frameon=False, loc="outside lower right")
    return figure


def draw_rates(results, axes, name, pyplot):
    ways = [way for way in BENCHMARKS[name].ways if results.rates(name, way)]
    colors = [pyplot.cm.tab10(0 if WAYS[way].pmio is None else 1) for way in ways]
    bars = axes.barh([WAYS[way].label for way in ways], [results.rate(name, way) for way in ways], color=colors)
    axes.bar_label(bars, fmt="{:,.0f}", fontsize=8, padding=2)
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=8)
    axes.set_title(("Benchmark " if name.isdigit() else "") + BENCHMARKS[name].title, loc="left", fontsize=10)
    axes.set_xlabel("MiB/s, all ranks")
    plain(axes, "x")


def draw_dumps(results, axes):
    for way in COLLECTIVE:
        found = [(ranks, results.rates(f"3 of {ranks}", way)) for ranks in DUMP_RANKS]
        found = [(ranks, median(rates)) for ranks, rates in found if rates]
        if found:
            axes.plot(*zip(*found), "o-" if WAYS[way].pmio is None else "s--", markersize=4, label=WAYS[way].label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(DUMP_RANKS, [str(ranks) for ranks in DUMP_RANKS])
    figures.log_scale(axes)
    axes.set_title("Benchmark 3: HDF5 dump of the same size", loc="left", fontsize=10)
    axes.set_xlabel("ranks")
    axes.set_ylabel("MiB/s, all ranks")
    plain(axes, "both")


def draw_counts(results, axes, title, unit, share):
    names = ("1", "2", f"3 of {DUMP_RANKS[-1]}", "4")
    width = 0.8 / len(COLLECTIVE)
    for number, way in enumerate(COLLECTIVE):
        found = [(at, share(name, way)) for at, name in enumerate(names) if results.number("writes", name, way)]
        places_of = [at + (number - len(COLLECTIVE) / 2 + 0.5) * width for at, _ in found]
        axes.bar(places_of, [value for _, value in found], width, label=WAYS[way].label)
    axes.set_xticks(range(len(names)), [name.replace(" of ", "\n") + " ranks" * ("of" in name) for name in names])
    axes.set_xlabel("benchmark")
    axes.set_ylim(0, 105)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_ylabel(unit)
    plain(axes)
