"""What a paper says, and whether it holds here."""

from dataclasses import dataclass
from statistics import StatisticsError

AGREES, DISAGREES, UNTESTED = "agrees", "disagrees", "cannot be tested here"


@dataclass(frozen=True)
class Claim:
    section: str  # of the paper
    quote: str
    verdict: str
    why: str  # with the figures that decide


def held(section, quote, holds, why):
    return Claim(section, quote, AGREES if holds else DISAGREES, why)


def untested(section, quote, why):
    return Claim(section, quote, UNTESTED, why)


def judged(section, quote, judge):
    """judge: gives whether it holds, None if that cannot be said, and why. A run that it misses ends it."""
    try:
        holds, why = judge()
    except StatisticsError:  # a median of nothing
        return untested(section, quote, "runs that this needs have failed")
    except LookupError as missing:
        return untested(section, quote, str(missing.args[0]))
    return untested(section, quote, why) if holds is None else held(section, quote, holds, why)


def number_of(claims, verdict):
    return sum(claim.verdict == verdict for claim in claims)


def counts(claims):
    return (f"{number_of(claims, AGREES)} agree, {number_of(claims, DISAGREES)} disagree, and "
            f"{number_of(claims, UNTESTED)} cannot be tested here")  # fmt: skip


def summary(claims):
    """The study's first line."""
    first = "Some of the paper's claims do not hold here" if number_of(claims, DISAGREES) else "The paper's claims hold here"
    return f"**{first}**: of {len(claims)}, {counts(claims)}."


def overview(claims_of):
    """Markdown: the claims by paper, and whether they hold."""
    lines = ["| paper | section | it says | here |", "|---|---|---|---|"]
    return [*lines, *(f"| [{paper}](studies/{paper}.md) | {c.section} | “{c.quote}” | {c.verdict} |"
                      for paper, claims in claims_of.items() for c in claims)]  # fmt: skip


def table(claims):
    """Markdown, of one paper."""
    lines = ["| section | the paper says | here | why |", "|---|---|---|---|"]
    return [*lines, *(f"| {c.section} | “{c.quote}” | {c.verdict} | {c.why} |" for c in claims)]
