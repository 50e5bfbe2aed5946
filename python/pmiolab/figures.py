"""Drawings of results, by matplotlib: the same results give the same file, byte for byte.

Run by places.SYSTEM_PYTHON, which has the distribution's matplotlib. Without matplotlib the import ends the script.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

try:
    import matplotlib
except ModuleNotFoundError:
    raise SystemExit("figure: matplotlib is missing; install python3-matplotlib with scripts/setup") from None
matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "pmio"
from matplotlib import pyplot, ticker  # noqa: E402  it looks at what was chosen above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["log_scale", "pyplot", "save"]


def log_scale(axes: Axes) -> None:
    """Of the vertical axis; its numbers are written out: 1,000 and not a power of ten."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_locator(ticker.NullLocator())


def save(figure: Figure, path: Path) -> None:
    """Writes SVG or PNG, by the name of the file, and makes its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})
