"""Pages of docs/ that are tables with a column per MPI, written from records that tests leave in a build directory."""

import argparse
import sys
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI", "abi": "MPI ABI"}


def label(tag):
    """MPICH 4.0 for mpich-4.0.2: what a patch release does not change."""
    name, _, version = tag.partition("-")
    parts = version.split(".")
    return f"{NAMES[name]} {'.'.join(parts[:2] if name in ('mpich', 'openmpi') else parts[:1])}"


def in_order(mpis):
    return sorted(mpis, key=lambda mpi: (list(NAMES).index(mpi.tag.partition("-")[0]), mpi.tag))


def row(words):
    return "| " + " | ".join(words) + " |\n"


def table(header, rows):
    return row(header) + row(["---"] * len(header)) + "".join(map(row, rows))


def table_of(text):
    """{first cell: {column: cell}}"""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    return {cells[0]: dict(zip(lines[0], cells)) for cells in lines[2:]} if lines else {}


def main(description, page, text_from, complaints):
    """The command of a page. text_from(build): its text now, None without records; complaints(now, filed): of two tables."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("write", "check"))
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    options = parser.parse_args()
    text = text_from(options.build)
    if text is None:
        harness.skip("the tests have left no records in the build directory")
    if options.action == "write":
        page.write_text(text)
        return 0
    found = list(complaints(table_of(text), table_of(page.read_text()) if page.exists() else {}))
    for complaint in found:
        print(complaint)
    if found:
        print(f"write it again: {Path(sys.argv[0]).name} write", file=sys.stderr)
    return 1 if found else 0
