"""The patterns of bench/grid.py: how known programs write, told to mpiio_bench by its general options.

The programs are not ours, and nothing of them is here: only the sizes and the order of what they write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .places import KIB, MIB


@dataclass(frozen=True)
class GridPattern:
    """Arguments of mpiio_bench for a job of so many ranks, each of which shall write so many bytes."""

    source: str  # whose pattern it is, and the figure that it has from there
    call_bytes: int  # of a rank, at most; 0: they depend on the amount
    arguments: Callable[[int, int], list]  # (ranks, bytes of a rank)

    def amount(self, rank_bytes: int) -> int:
        """Bytes of a rank: as wanted, but at least one call."""
        return max(rank_bytes, self.call_bytes)


def _of(source: str, call_bytes: int, *arguments: object) -> GridPattern:
    return GridPattern(source, call_bytes, lambda _ranks, _bytes: list(arguments))


def _hacc(_ranks: int, rank_bytes: int) -> list:
    return ["--block", max(8, rank_bytes // 9 // 8 * 8)]


def _hycom(ranks: int, _bytes: int) -> list:
    return ["--block", 256 * KIB, "--writers", max(1, ranks // 2)]


PATTERNS = {
    "ior-hard": _of("IO500, ior-hard: transfers of 47,008 B, the ranks' in turn", 47008, "--block", 47008),
    "ior-easy": _of("IOR with segments: 2 MiB transfers, each rank a region", 2 * MIB,
                    "--block", 2 * MIB, "--segmented"),
    "ior-random": _of("IOR -z: 64 KiB transfers in random order, each rank a region", 64 * KIB,
                      "--block", 64 * KIB, "--segmented", "--random-order"),
    "hacc": GridPattern("HACC-IO: nine variables of a particle, in each a region of every rank", 72, _hacc),
    "s3d": _of("S3D-IO: 50^3 doubles of a rank, runs of 400 B", 8 * 50**3, "--tile", "50x50x50"),
    "wrf": _of("WRF: blocks of three-dimensional fields, runs of 0.5 to 1 KiB", 40 * 30 * 768, "--tile", "40x30x96"),
    "flash": _of("FLASH-IO: 80 blocks of 16^3 doubles, contiguous per variable", 2621440, "--block", 2621440),
    "bt-io": _of("NAS BTIO: nested subarrays of five doubles, runs of 640 B", 64 * 64 * 640,
                 "--tile", "64x64x16", "--element", 40),
    "tile-io": _of("mpi-tile-io: two-dimensional tiles of 32 B elements", MIB, "--tile", "512x64", "--element", 32),
    "noncontig": _of("noncontig: a column of 8 B elements for each rank", MIB,
                     "--block", 8, "--blocks-per-call", MIB // 8),
    "e3sm-f": _of("E3SM F: irregular pieces, 8 B in the mean", 512 * KIB, "--irregular", 65536, "--mean", 8),
    "e3sm-g": _of("E3SM G: irregular pieces, 446 B in the mean", 4 * MIB, "--irregular", 4096, "--mean", 446),
    "e3sm-i": _of("E3SM I: irregular pieces, 650 B in the mean", 6 * MIB, "--irregular", 4096, "--mean", 650),
    "irregular": _of("E3SM's pieces of all sizes to 1 KiB", 4 * MIB, "--irregular", 4096),
    "hycom": GridPattern("HYCOM: half of the ranks have data in a collective write, 256 KiB", 256 * KIB, _hycom),
    "lattice": _of("Lattice QCD: 4-D blocks of 8^4 sites, 576 B of links each", 576 * 8**4,
                   "--tile", "8x8x8x8", "--element", 576),
    "olam": _of("OLAM: strided blocks of 1,312 B", 1312, "--block", 1312),
    "strided-64k": _of("strided blocks of 64 KiB", 64 * KIB, "--block", 64 * KIB),
    "segments-1m": _of("h5bench and others: blocks of 1 MiB in turn", MIB, "--block", MIB),
}  # fmt: skip
