"""The tables and the figure."""

import itertools
from statistics import median

import devices
import shown
from pmiolab import figures
from pmiolab.places import KIB

from .workload import BLOCK_CALLS, BLOCKS, DEVICES, POSIX, RANKS, SERVER_TASKS, SERVERS, TASKS, WAYS


def table(results):
    """Markdown: MB/s of all ranks, medians."""
    sources = [f"{device} is {name} ({devices.PROFILES[name].source})" for device, name in DEVICES.items()]
    lines = [f"Emulated devices: {'; '.join(sources)}. A write returns when the device has the bytes, but where "
             "they are left in the page cache. Two-phase with pmio is `pmio_mode=twophase`.",
             "", "MB/s by number of tasks:", ""]  # fmt: skip
    lines += shown.head("", *(f"{device}, {tasks}" for device in DEVICES for tasks in TASKS))
    series = [("checkpoint", "individual"), ("clients", "individual")]
    series += [("methods", way) for way in (POSIX, *WAYS)] + [("stripes", way) for way in WAYS]
    for (question, way), pmio in itertools.product(series, (False, True)):
        sets = [results.rates(question, device, tasks, way, pmio=pmio) for device in DEVICES for tasks in TASKS]
        if any(sets):
            lines.append(shown.line(f"{question}, {way}{' with pmio' * pmio}", *map(shown.median_of, sets)))
    lines += ["", "MB/s by size of block, individual:", ""]
    lines += shown.head("", *(f"{block // KIB} KiB" for block in BLOCKS))
    for device, cache, pmio in itertools.product(DEVICES, BLOCK_CALLS, (False, True)):
        sets = [results.rates("blocks", device, cache=cache, pmio=pmio, block=block) for block in BLOCKS]
        if any(sets):
            cached = ", left in the page cache" if cache == "back" else ""
            lines.append(shown.line(f"{device}{cached}{' with pmio' * pmio}", *map(shown.median_of, sets)))
    lines += ["", f"MB/s of {SERVER_TASKS} tasks by number of I/O nodes:", ""]
    lines += shown.head("", *(f"{device}, {servers}" for device in DEVICES for servers in SERVERS))
    for (question, way), pmio in itertools.product((("servers", "individual"), ("striped", "individual"),
                                                    ("striped", "collective")), (False, True)):  # fmt: skip
        sets = [results.rates(question, device, SERVER_TASKS, way, pmio=pmio, servers=servers)
                for device in DEVICES for servers in SERVERS]  # fmt: skip
        if any(sets):
            kind = "segments" if question == "servers" else "64 KiB in turn, on one of them"
            lines.append(shown.line(f"{kind}, {way}{' with pmio' * pmio}", *map(shown.median_of, sets)))
    return lines


def draw(results, pyplot):
    figure, panels = pyplot.subplots(2, 4, figsize=(17, 7.5), layout="constrained")
    of_device = dict(zip(DEVICES, ("tab:blue", "tab:red")))

    def line(axes, places_of, sets, label, color, pmio, marker="o"):
        drawn = [(place, median(values)) for place, values in zip(places_of, sets) if values]
        if drawn:
            axes.plot(*zip(*drawn), "--" if pmio else "-", marker=marker, markersize=5, color=color, linewidth=1.4,
                      markerfacecolor="white" if pmio else color, label=label + " with pmio" * pmio)  # fmt: skip

    def finish(axes, title, ticks, label):
        figures.log_scale(axes)
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlabel(label)
        axes.set_ylabel("MB/s, all ranks")
        axes.set_title(title, loc="left", fontsize=10)
        shown.plain(axes)
        axes.legend(fontsize=7, frameon=False)

    for axes, question in ((panels[0, 0], "checkpoint"), (panels[1, 1], "clients")):
        for device, pmio in itertools.product(DEVICES, (False, True)):
            sets = [results.rates(question, device, tasks, pmio=pmio) for tasks in TASKS]
            line(axes, range(len(TASKS)), sets, device, of_device[device], pmio)
    finish(panels[0, 0], "As figure 2: checkpoints", TASKS, "tasks")
    finish(panels[1, 1], "As figure 6: clients", TASKS, "clients")
    for axes, device in zip(panels[0, 1:3], DEVICES):
        for number, way in enumerate((POSIX, *WAYS)):
            for pmio in (False, True):
                sets = [results.rates("methods", device, tasks, way, pmio=pmio) for tasks in TASKS]
                line(axes, range(len(TASKS)), sets, way, f"C{number}", pmio, "os^v"[number])
        finish(axes, f"As figures 3 and 4: methods, {device}", TASKS, "tasks")
    for device, cache, pmio in itertools.product(DEVICES, BLOCK_CALLS, (False, True)):
        sets = [results.rates("blocks", device, cache=cache, pmio=pmio, block=block) for block in BLOCKS]
        color = of_device[device] if cache == "through" else "tab:gray"
        name = device if cache == "through" else f"{device}, page cache"
        line(panels[1, 0], range(len(BLOCKS)), sets, name, color, pmio)
    finish(panels[1, 0], f"As figure 5: block sizes, {RANKS} ranks", [f"{block // KIB}" for block in BLOCKS], "KiB")
    for device, pmio in itertools.product(DEVICES, (False, True)):
        sets = [results.rates("servers", device, SERVER_TASKS, servers=servers, pmio=pmio) for servers in SERVERS]
        line(panels[0, 3], range(len(SERVERS)), sets, device, of_device[device], pmio)
    finish(panels[0, 3], f"As figure 7: I/O nodes, {SERVER_TASKS} ranks", SERVERS, "I/O nodes")
    ways = ("individual", "collective")
    draw_stripes(results, panels[1, 3], of_device, "striped", SERVER_TASKS, ways)
    finish(panels[1, 3], f"Methods, blocks in turn, an I/O node, {SERVER_TASKS} ranks", ways, "")
    panels[1, 3].set_ylim(top=panels[1, 3].get_ylim()[1] * 3)
    draw_stripes(results, panels[1, 2], of_device, "stripes", RANKS, WAYS)
    finish(panels[1, 2], f"Methods, blocks in turn, one device, {RANKS} ranks", list(WAYS), "")
    panels[1, 2].set_ylim(top=panels[1, 2].get_ylim()[1] * 3)  # room for the legend
    return figure


def draw_stripes(results, axes, of_device, question, tasks, ways):
    for number, (device, pmio) in enumerate(itertools.product(DEVICES, (False, True))):
        sets = [results.rates(question, device, tasks, way, pmio=pmio) for way in ways]
        places_of = [place + (number - 1.5) * 0.2 for place, values in enumerate(sets) if values]
        axes.bar(places_of, [median(values) for values in sets if values], 0.2, edgecolor=of_device[device],
                 color="white" if pmio else of_device[device], label=device + " with pmio" * pmio)  # fmt: skip
