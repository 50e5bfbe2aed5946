"""Sanchez et al., "High-Performance PMEM-Aware Collective I/Os" (2023): the poster that pmio follows.

How much faster than two-phase I/O is a log in memory, and is it the shuffling? Figure 2's benchmarks by ROMIO, by
two-phase I/O with its buffers in the log's medium (Naive-PM), and by pmio; then where the time of two-phase I/O goes.
"""

from pmiolab import mpi_libraries, places

from . import judging, measuring, showing, workload
from .results import Results


class Study:
    title = "Sanchez et al. 2023: a log in persistent memory against two-phase I/O"

    def __init__(self, options):
        mpi = mpi_libraries.choose(options.build, workload.MPI)
        self.measuring = measuring.Measuring(options, mpi)
        self.patterns = [name for name, pattern in workload.PATTERNS.items()
                         if places.benchmark(options.build, pattern.program, mpi).exists()]  # fmt: skip

    def cells(self):
        return workload.cells(self.patterns)

    def measure(self, cell):
        return self.measuring.measure(cell)

    def claims(self, rows):
        return judging.claims_of(Results(rows, self.patterns))

    def table(self, rows):
        return showing.table(Results(rows, self.patterns))

    def draw(self, rows, pyplot):
        return showing.draw(Results(rows, self.patterns), pyplot)
