"""Plain MPI-IO and pmio on one node, by mpiio_bench with two ranks: who takes part, and one run of one of them.

A cold run is the first file of a job: a fresh process and a fresh log directory, and nothing is written before.
"""

from __future__ import annotations

import contextlib
import mmap
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from . import mpi_jobs, places, quiet
from .mpi_libraries import Mpi
from .places import MIB

RANKS = 2
# How each contestant differs from the plain program without hints.
CONTESTANTS = {
    "mpich": {
        "pmio": [],
        "enable": ["--hint", "romio_cb_write=enable", "--hint", "romio_cb_read=enable"],
        "default": [],
        "independent": ["--independent"],
    },
    "openmpi": {"pmio": [], "ompio": [], "independent": ["--independent"]},
}
# pmio without a log. naive-pm: the collective buffers in the log's medium, the PMIO paper's baseline.
MODES = {
    "pmio twophase": {"PMIO_MODE": "twophase"},
    "pmio naive-pm": {"PMIO_MODE": "twophase", "PMIO_CB_MEMORY": "pmem"},
    "pmio independent": {"PMIO_MODE": "independent"},
}
# Of bench/grid.py: further settings of pmio, and further plain ways.
GRID_MODES = {
    "pmio log": {"PMIO_MODE": "log"},
    "pmio gather on": {"PMIO_GATHER": "on"},
    "pmio gather off": {"PMIO_GATHER": "off"},
}
GRID_PLAIN = {
    "mpich": {"disable": ["--hint", "romio_cb_write=disable", "--hint", "romio_cb_read=disable"]},
    "openmpi": {"romio": [], "vulcan": [], "dynamic": [], "dynamic_gen2": []},
}
# Open MPI's own ROMIO instead of OMPIO, and OMPIO with one of its collective engines, which it would else choose itself.
PLAIN_SETTINGS = {"romio": {"OMPI_MCA_io": "romio341"}} | {
    engine: {"OMPI_MCA_fcoll": engine} for engine in ("vulcan", "dynamic", "dynamic_gen2")
}
# What the machine can do at best: no MPI-IO.
LIMITS = {"memcpy": ["--copy"], "checked copy": ["--checked", "--copy"]}
POPULATE_WRITE = 23  # MADV_POPULATE_WRITE, Linux 5.14
MOST_TOUCHES = 6
COPIES = 3  # of a run's bytes: the program's, the log's, the page cache's


_fastest = 0.0  # bytes per second


def touch_memory(amount: int) -> None:
    """Has so many bytes of memory ready for the next run.

    A virtual machine gives memory that has been free for seconds back to its host, and the next run that touches it
    would pay for that. It gives whole huge pages back, so whole ones are touched, until that is about as fast as it
    ever was: then the host has given them.
    """
    global _fastest
    for touches in range(MOST_TOUCHES):
        start = time.monotonic()
        _touch_once(amount)
        rate = amount / (time.monotonic() - start)
        is_fast = rate > _fastest / 2
        _fastest = max(_fastest, rate)
        if is_fast and touches > 0:
            return


def _touch_once(amount: int) -> None:
    with mmap.mmap(-1, amount, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
        try:
            memory.madvise(POPULATE_WRITE)
        except OSError:
            for at in range(0, amount, mmap.PAGESIZE):
                memory[at] = 1


def run(build: Path, mpi: Mpi, contestant: str, arguments: Iterable[object], rank_bytes: int, work: Path, log_dir: Path,
        *, warm: bool, settings: Mapping[str, object], timeout: float, name: str) -> dict[str, float]:  # fmt: skip
    """What mpiio_bench prints: its times in seconds, and the bytes of all ranks, undisturbed. settings: pmio's."""
    return quiet.measured(lambda: _run_once(build, mpi, contestant, arguments, rank_bytes, work, log_dir, warm=warm,
                                            settings=settings, timeout=timeout, name=name))  # fmt: skip


def _run_once(build: Path, mpi: Mpi, contestant: str, arguments: Iterable[object], rank_bytes: int, work: Path,
              log_dir: Path, *, warm: bool, settings: Mapping[str, object], timeout: float,
              name: str) -> dict[str, float]:  # fmt: skip
    touch_memory(COPIES * RANKS * rank_bytes + 64 * MIB)
    with places.temporary("bench", work) as scratch, places.temporary("bench", log_dir) as logs:
        pmio = contestant == "pmio" or contestant in MODES or contestant in GRID_MODES
        hints = CONTESTANTS[mpi.family] | GRID_PLAIN.get(mpi.family, {}) | LIMITS
        preload = [mpi.runtime] if pmio else []
        words = [places.benchmark(build, "mpiio", mpi), "--file", scratch / "target", "--bytes", rank_bytes]
        words += [*arguments, *(["--warm"] if warm else []), *hints.get(contestant, [])]
        words += [logs] if contestant in LIMITS else []
        settings = {"PMIO_DIR": logs, **settings} if pmio else PLAIN_SETTINGS.get(contestant, {})
        settings |= (MODES | GRID_MODES).get(contestant, {})
        [times] = mpi_jobs.measure(mpi, RANKS, words, name=f"{contestant}, {name}", settings=settings,
                                   preload=preload, timeout=timeout)  # fmt: skip
    return times
