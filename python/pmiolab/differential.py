"""Random MPI-IO scenarios of tests/mpi/differential.cpp: who runs them, what it records, and where two records differ.

Records are lines of text by rank, one a value that MPI gave back or a checksum of a file: "SEED:OPERATION what it was".
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import mpi_jobs, mpi_libraries, places
from .mpi_libraries import Mpi

Records = list[list[str]]  # by rank
LAUNCH_SECONDS = 60  # that a launch may take, besides its seeds


@dataclass(frozen=True)
class Scenarios:
    """What all contestants run alike."""

    build: Path
    reference_build: Path | None = None  # for plain runs, if that of the contestants has sanitizers
    ranks: int = 2
    operations: int = 40  # per seed
    seconds: float = 30  # that a seed may take
    work: Path | None = None  # where the files are; None: the temporary directory
    restrictions: Sequence[str] = field(default_factory=tuple)  # options of the program: what it leaves out


class Contestant:
    """One MPI, plain (then its program is told that it is the reference) or under pmio."""

    def __init__(self, mpi: Mpi, scenarios: Scenarios, pmio: bool) -> None:
        self.mpi, self.scenarios, self.pmio = mpi, scenarios, pmio
        build = scenarios.build if pmio else scenarios.reference_build or scenarios.build
        self.program = places.test_program(build, "differential", mpi)
        self.preload = ([mpi.runtime] if pmio else []) + [places.yielding(build)]

    def run(self, first: int, count: int, settings: Mapping[str, str], keep: Path | None = None) -> tuple[Records, str]:
        """Runs `count` seeds in one launch: the records, and what went wrong or ''. keep: where files and
        records are left.
        """
        scenarios = self.scenarios
        with places.temporary("differential", scenarios.work) as scratch:
            directory = keep or scratch
            directory.mkdir(parents=True, exist_ok=True)
            program = [self.program, *arguments(scenarios, directory, directory / "record", first, count)]
            program += [*([] if self.pmio else ["--reference"]), *(["--keep"] if keep else [])]
            timeout = LAUNCH_SECONDS + scenarios.seconds * count
            ended = mpi_jobs.run(
                self.mpi, scenarios.ranks, program, settings=settings, preload=self.preload, timeout=timeout
            )
            records = read_records(directory, scenarios.ranks)
        if ended.code is None:
            return records, ended.how
        return records, "" if ended.code == 0 else f"{ended.how}\n{ended.output}"


def arguments(scenarios: Scenarios, files: Path | str, record: Path, first: int, count: int) -> list[object]:
    """Of the program, for `count` seeds; each rank writes its record to <record>.<rank>."""
    seeds = ["--seed", first, "--seeds", count, "--ops", scenarios.operations]
    return ["--dir", files, "--record", record, *seeds, *scenarios.restrictions]


def read_records(directory: Path, ranks: int) -> Records:
    """What the ranks have left in files `record.<rank>`; empty for a rank that left none."""
    paths = [directory / f"record.{rank}" for rank in range(ranks)]
    return [path.read_text().splitlines() if path.exists() else [] for path in paths]


def reference_records(contestant: Contestant, first: int, count: int) -> Records:
    """The records of a plain run, from the cache in the build directory if it has them.

    Ends the script if the run fails.
    """
    scenarios = contestant.scenarios
    what = contestant.program.read_bytes() + repr((contestant.mpi, list(scenarios.restrictions))).encode()
    key = hashlib.sha256(what).hexdigest()[:16]
    name = f"{key}-{scenarios.ranks}-{scenarios.operations}-{first}-{count}"
    cache = scenarios.build / "tests" / "differential-reference" / name
    if cache.exists():
        return [rank.splitlines() for rank in cache.read_text().split("\f")]
    records, trouble = contestant.run(first, count, {})
    if trouble:
        raise SystemExit(f"plain {contestant.mpi.tag}, seeds from {first}: {trouble}\n{last_lines(records)}")
    cache.parent.mkdir(parents=True, exist_ok=True)
    unfinished = cache.with_suffix(f".{id(records)}")
    unfinished.write_text("\f".join("\n".join(rank) for rank in records))
    unfinished.rename(cache)
    return records


def last_lines(records: Records) -> str:
    """How far each rank came."""
    return "\n".join(
        f"rank {rank} ended with: {lines[-1] if lines else 'nothing'}" for rank, lines in enumerate(records)
    )


def of_seed(records: Records, seed: int) -> Records:
    """The lines of one seed."""
    return [[line for line in rank if line.startswith(f"{seed}:")] for rank in records]


def first_difference(expected: Records, found: Records) -> tuple[int, int] | None:
    """(rank, line number) of the first line that differs, at the lowest operation of all ranks; None if
    there is none.
    """
    differences = []
    for rank, (wanted, got) in enumerate(zip(expected, found)):
        for number in range(max(len(wanted), len(got))):
            if wanted[number : number + 1] != got[number : number + 1]:
                line = (wanted[number : number + 1] or got[number : number + 1])[0]
                differences.append((int(line.split()[0].split(":")[1]), rank, number))
                break
    return min(differences)[1:] if differences else None


def describe(expected: Records, found: Records, where: tuple[int, int]) -> str:
    """The lines around a difference: - expected, + found."""
    rank, number = where
    text = [f"  rank {rank}:", *(f"      {line}" for line in expected[rank][max(0, number - 6) : number])]
    text += [f"    - {line}" for line in expected[rank][number : number + 2]]
    text += [f"    + {line}" for line in found[rank][number : number + 2]]
    return "\n".join(text)


def choose_mpis(build: Path, tag: str | None, reference_tag: str | None = None) -> tuple[Mpi, Mpi]:
    """(the plain MPI, the tested one).

    Without a tag of its own the plain one is the newest MPICH, else the tested one.
    """
    subject = mpi_libraries.choose(build, tag)
    mpis = mpi_libraries.load(build)
    mpich = sorted((mpi for mpi in mpis if mpi.tag.startswith("mpich-")), key=lambda mpi: mpi.tag)
    references = [mpi for mpi in mpis if mpi.tag == reference_tag] or mpich[-1:] or [subject]
    return references[-1], subject


def restrictions(mpi: Mpi) -> list[str]:
    """What the program leaves out, since this MPI itself does it wrongly."""
    # Handed on: Open MPI hangs in atomic mode, and preallocates rubbish.
    # MPICH 4.0 itself, without pmio, writes outside of a memory type whose lower bound is not 0 when it reads into it.
    return [] if mpi.tag.startswith("mpich-5") else ["--portable"]


def add_operations(parser: argparse.ArgumentParser) -> None:
    """--ops."""
    parser.add_argument("--ops", type=int, default=40, help="operations per seed")
