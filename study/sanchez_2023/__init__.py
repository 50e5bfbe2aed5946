"""Sanchez et al., "High-Performance PMEM-Aware Collective I/Os" (2023): the poster that pmio follows.

How much faster than two-phase I/O is a log in memory, and is it the shuffling? Figure 2's benchmarks by ROMIO, by
two-phase I/O with its buffers in the log's medium (Naive-PM), and by pmio; then where the time of two-phase I/O goes.
"""

from paper import Paper
from pmiolab import mpi_libraries, places

from . import judging, measuring, showing, workload
from .results import Results


class Study(Paper):
    title = "Sanchez et al. 2023: a log in persistent memory against two-phase I/O"

    def __init__(self, options):
        mpi = mpi_libraries.choose(options.build, workload.MPI)
        patterns = [name for name, pattern in workload.PATTERNS.items()
                    if places.benchmark(options.build, pattern.program, mpi).exists()]  # fmt: skip
        super().__init__(measuring.Measuring(options, mpi), workload.cells(patterns),
                         lambda rows: Results(rows, patterns), judging, showing)  # fmt: skip
