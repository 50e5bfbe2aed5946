"""The table and the figure."""

import itertools
from statistics import StatisticsError, median

import devices
from pmiolab.places import MIB
from shown import head, line, plain

from .model import MESSAGES
from .workload import APPLICATIONS, CACHES, COLLECTIVE, GIB_BYTES, INDIVIDUAL, MORE_RANKS, POSIX, RANKS, STEP_CALLS


def moved(name, sizes):
    """Bytes that an application writes and reads."""
    return sizes.of({"application": name, "cache": CACHES[0]})[0] * (2 if name == "MADBench2" else 1)


def table(results, sizes):
    """Markdown: MB/s of all processes, medians."""

    def rate(amount, seconds):
        return f"{amount / median(seconds) / 1e6:,.0f}" if seconds else "–"

    who = list(itertools.product(devices.PROFILES, (False, True)))
    lines = head("MB/s", *(f"{device}{' with pmio' if pmio else ''}" for device, pmio in who))
    for name, cache in itertools.product(APPLICATIONS, CACHES):
        amount = moved(name, sizes)
        rates = [rate(amount, results.page(name, device, cache, pmio)) for device, pmio in who]
        lines.append(line(f"{name}, {cache} GB of page cache", *rates))
    kinds = [("large", RANKS, way) for way in (POSIX, INDIVIDUAL, COLLECTIVE)]
    kinds += [("large", MORE_RANKS, way) for way in (INDIVIDUAL, COLLECTIVE)]
    kinds += [("interleaved", RANKS, way) for way in (INDIVIDUAL, COLLECTIVE)]
    for (pattern, ranks, way), (key, words) in itertools.product(kinds, (("seconds", "write"), ("read_s", "read"))):
        rates = [rate(sizes.amount, results.way(way, device, ranks, pattern, pmio, key)) for device, pmio in who]
        lines.append(line(f"{words}: {way}, {pattern}, {ranks} ranks", *rates))
    for order in ("sequential", "random"):
        rates = [
            rate(sizes.amount // 2, [] if pmio else results.rows.values("seconds", bandwidth=order, device=device))
            for device, pmio in who
        ]
        lines.append(line(f"write, {order}, as the model has it", *rates))
    amounts = (
        f"1 GB of the paper is {sizes.scaled(GIB_BYTES, 2 * MIB) // MIB} MiB in the rows of applications. "
        f"The others have files of {sizes.amount // MIB} MiB, and page cache for an eighth of it."
    )
    return [*lines, "", amounts, *devices_told()]


def devices_told():
    return ["", "The devices:", "", *(f"- {name}: {profile.source}" for name, profile in devices.PROFILES.items())]


def draw(results, model, sizes, pyplot):
    figure, panels = pyplot.subplots(2, 3, figsize=(12, 7), layout="constrained")
    colours = dict(zip(devices.PROFILES, ("#8c564b", "#1f77b4", "#2ca02c")))
    for axes, name in zip(panels[0], APPLICATIONS):
        draw_page(axes, results, sizes, name, colours)
    draw_ways(panels[1][0], results, sizes, pyplot)
    draw_shares(panels[1][1], results)
    draw_trade_off(panels[1][2], model, colours)
    for axes in panels.flat:
        plain(axes)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8, frameon=False)
    return figure


def draw_page(axes, results, sizes, name, colours):
    amount = moved(name, sizes)
    for (device, colour), pmio in itertools.product(colours.items(), (False, True)):
        found = {cache: results.page(name, device, cache, pmio) for cache in CACHES}
        at = [cache for cache in CACHES if found[cache]]
        rates = [amount / median(found[cache]) / 1e6 for cache in at]
        if at:
            axes.plot(
                at,
                rates,
                "s--" if pmio else "o-",
                color=colour,
                markersize=5,
                fillstyle="none" if pmio else "full",
                linewidth=1,
                label=f"{device} with pmio" if pmio else device,
            )
    axes.set_xticks(CACHES)
    axes.set_xlabel("page cache, GB of the paper")
    axes.set_ylabel("MB/s, all ranks")
    axes.set_ylim(bottom=0)
    axes.set_title(f"{name}, a file of {APPLICATIONS[name]} GB", loc="left", fontsize=10)


def draw_ways(axes, results, sizes, pyplot):
    bars = [
        ("POSIX", POSIX, "large"),
        ("individual", INDIVIDUAL, "large"),
        ("collective", COLLECTIVE, "large"),
        ("individual, 64 KiB", INDIVIDUAL, "interleaved"),
        ("collective, 64 KiB", COLLECTIVE, "interleaved"),
    ]
    width = 0.8 / len(bars)
    for number, (label, way, pattern) in enumerate(bars):
        for pmio in (False, True):
            found = {
                place: results.way(way, device, RANKS, pattern, pmio) for place, device in enumerate(devices.PROFILES)
            }
            at = [place + (number - len(bars) / 2 + 0.5) * width for place, seconds in found.items() if seconds]
            rates = [sizes.amount / median(seconds) / 1e6 for seconds in found.values() if seconds]
            if pmio:
                axes.plot(
                    at,
                    rates,
                    "k_",
                    markersize=8,
                    label="with pmio" if way == COLLECTIVE and pattern == "large" else None,
                )
            else:
                axes.bar(at, rates, width, color=pyplot.cm.tab10(number), label=label)
    axes.set_xticks(range(len(devices.PROFILES)), devices.PROFILES)
    axes.set_ylabel("MB/s, all ranks")
    axes.set_title("Writes of two ranks", loc="left", fontsize=10)


def draw_shares(axes, results):
    for number, (who, label) in enumerate((("plain", "step by step"), ("pmio", "pmio's engine"))):
        known = [
            (place, device)
            for place, device in enumerate(devices.PROFILES)
            if results.rows.values(f"{who}_shuffle_us", steps=STEP_CALLS, device=device)
        ]
        axes.bar(
            [place + 0.4 * number - 0.2 for place, _ in known],
            [100 * results.share(device, who) for _, device in known],
            0.4,
            label=label,
        )
    axes.set_xticks(range(len(devices.PROFILES)), devices.PROFILES)
    axes.set_ylabel("% of collective writes")
    axes.set_ylim(0, 100)
    axes.set_title("Shuffling (table II)", loc="left", fontsize=10)


def draw_trade_off(axes, model, colours):
    try:
        found = {device: [model.trade_off(device, size) for size in MESSAGES] for device in colours}
    except StatisticsError:
        return
    places_of = range(len(MESSAGES))
    axes.plot(places_of, [1e3 * cost for cost, _ in found["HDD"]], "k^--", linewidth=1, label="cost of shuffling")
    for device, points in found.items():
        axes.plot(
            places_of,
            [1e3 * gain for _, gain in points],
            "o-",
            linewidth=1,
            color=colours[device],
            label=f"benefit, {device}",
        )
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_xticks(places_of, [f"{size // MIB} MiB" if size >= MIB else f"{size >> 10} KiB" for size in MESSAGES])
    axes.set_xlabel("message")
    axes.set_ylabel("ms of an iteration")
    axes.set_title("Cost and benefit by the model (figure 11)", loc="left", fontsize=10)
