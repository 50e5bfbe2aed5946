"""What is measured: patterns, the ways to write them, and the cells of the study."""

import itertools
from dataclasses import dataclass

from pmiolab.grid_patterns import PATTERNS as KNOWN
from pmiolab.places import KIB, MIB

RANKS = 2
MPI = "mpich-5.0.2"
COLLECTIVE = ("--hint", "romio_cb_write=enable", "--hint", "romio_cb_read=enable")


@dataclass(frozen=True)
class Pattern:
    arguments: tuple  # of the benchmark
    call_bytes: int  # of a rank
    rank_bytes: int  # at scale 1
    program: str = "mpiio"


def known(name, rank_bytes):
    """One of the grid's, whose arguments do not depend on the amount."""
    return Pattern(tuple(KNOWN[name].arguments(RANKS, rank_bytes)), KNOWN[name].call_bytes, rank_bytes)


# Two-phase I/O takes 40 times as long for columns of 8 bytes as for the others, so there are fewer.
NONCONTIG, TILES, CONTIGUOUS = "noncontig", "tile-io", "contiguous"
HDF5_TILES, HDF5_REGIONS = "HDF5 tiles", "HDF5 regions"
PATTERNS = {
    NONCONTIG: known(NONCONTIG, 8 * MIB),
    TILES: known(TILES, 64 * MIB),
    HDF5_TILES: Pattern(("--block", 2 * KIB, "--blocks-per-call", 512), MIB, 64 * MIB, "hdf5"),
    HDF5_REGIONS: Pattern(("--block", 8 * MIB), 8 * MIB, 64 * MIB, "hdf5"),  # as a variable of VPIC-IO
    CONTIGUOUS: Pattern(("--block", MIB, "--segmented"), MIB, 64 * MIB),  # not the paper's
}
OF_THE_PAPER = (NONCONTIG, TILES, HDF5_TILES, HDF5_REGIONS)
LARGE_TILES = Pattern(("--tile", "512x512", "--element", 32), 8 * MIB, 64 * MIB)
IRREGULAR = Pattern(tuple(KNOWN["e3sm-f"].arguments(RANKS, 0)), KNOWN["e3sm-f"].call_bytes, 4 * MIB)

ROMIO, INDEPENDENT, TWOPHASE, NAIVE, LOG, PMIO = "ROMIO", "independent", "two-phase", "Naive-PM", "pmio log", "pmio"
# By name: arguments, and pmio's settings; None: not preloaded. "pmio log" is the paper's design, "pmio" the default.
WAYS = {
    ROMIO: (COLLECTIVE, None),
    INDEPENDENT: (("--independent",), None),
    TWOPHASE: (COLLECTIVE, {"PMIO_MODE": "twophase"}),
    NAIVE: (COLLECTIVE, {"PMIO_MODE": "twophase", "PMIO_CB_MEMORY": "pmem"}),
    LOG: ((), {"PMIO_MODE": "log", "PMIO_DIRECT_FROM": "off"}),
    PMIO: ((), {}),
}

BUFFERS = {ROMIO: (64 * KIB, MIB, 16 * MIB), NAIVE: (64 * KIB, MIB, 16 * MIB), LOG: (MIB, 16 * MIB, 128 * MIB)}
STEP_BYTES = (1312, 64 * KIB, MIB)  # of a rank in a call
STEP_CALLS, STEP_AMOUNT = 200, 64 * MIB
PAUSES = (0.0, 0.5)  # seconds before the close
INDEX_MEMORY = ("256M", "64K")


def of_paper(patterns):
    """Those of them that are the paper's."""
    return [name for name in OF_THE_PAPER if name in patterns]


def cells(patterns):
    """Each is measured once in a repetition."""
    grid = [{"pattern": name, "by": way} for name, way in itertools.product(patterns, WAYS)]
    buffers = [{"buffer": size, "by": way} for way, sizes in BUFFERS.items() for size in sizes]
    shares = [{kind: name} for kind, name in itertools.product(("traced", "engine", "source"), of_paper(patterns))]
    others = [{key: value} for key, values in (("steps", STEP_BYTES), ("pause", PAUSES), ("index", INDEX_MEMORY))
              for value in values]  # fmt: skip
    return grid + buffers + shares + others
