"""How the studies show numbers: in sentences, in tables, in figures."""

from statistics import median


def listed(numbers, form):
    """Each number, behind its name."""
    return ", ".join(f"{name} {form.format(number)}" for name, number in numbers.items())


def median_of(values):
    """The median; a dash if nothing was measured."""
    return f"{median(values):,.0f}" if values else "–"


def line(*cells):
    """Markdown: a row of a table."""
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def head(*names):
    """Markdown: the two lines above the rows."""
    return [line(*names), "|" + "---|" * len(names)]


def plain(axes, lines="y"):
    """No frame above and to the right; grey lines behind the data, across these axes: "x", "y" or "both"."""
    axes.grid(axis=lines, color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
