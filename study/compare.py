"""Whether sets of measured times differ; by scipy and scikit-posthocs."""

import itertools
from statistics import median
from typing import NamedTuple

import scikit_posthocs
import scipy.stats

LEVEL = 0.05  # of significance
ENOUGH = 4  # fewer values of each cannot differ significantly


class Difference(NamedTuple):
    p: float
    effect: float  # Cliff's delta: -1, all of the first are less than all of the second; 0: none; 1


def shapiro(values):
    """The probability of values like these from a normal distribution; 1 for fewer than three."""
    return scipy.stats.shapiro(values).pvalue if len(values) >= 3 and len(set(values)) > 1 else 1.0


def mann_whitney(first, second):
    """Two-sided."""
    test = scipy.stats.mannwhitneyu(first, second, alternative="two-sided")
    return Difference(test.pvalue, 2 * test.statistic / (len(first) * len(second)) - 1)


def is_less(first, second):
    """By the medians, and significantly if there are enough values for that to be possible."""
    possible = min(len(first), len(second)) >= ENOUGH
    return median(first) < median(second) and (not possible or mann_whitney(first, second).p < LEVEL)


def dunn(sets):
    """{frozenset of two names: probability}, corrected by Holm; sets: values by name."""
    names = [name for name, values in sets.items() if values]
    if len(names) < 2:
        return {}
    table = scikit_posthocs.posthoc_dunn([sets[name] for name in names], p_adjust="holm")
    return {frozenset((one, other)): float(table.iloc[names.index(one), names.index(other)])
            for one, other in itertools.combinations(names, 2)}  # fmt: skip
