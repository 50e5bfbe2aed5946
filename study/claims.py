"""What a paper says, and whether it holds here."""

from dataclasses import dataclass

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


def summary(claims):
    """The study's first line."""
    count = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in (AGREES, DISAGREES, UNTESTED)}
    first = "The paper's claims hold here" if not count[DISAGREES] else "Some of the paper's claims do not hold here"
    return (f"**{first}**: {count[AGREES]} of {len(claims)} agree, {count[DISAGREES]} disagree, "
            f"{count[UNTESTED]} cannot be tested here.")  # fmt: skip


def table(claims):
    """Markdown."""
    lines = ["| section | the paper says | here | why |", "|---|---|---|---|"]
    return [*lines, *(f"| {c.section} | “{c.quote}” | {c.verdict} | {c.why} |" for c in claims)]
