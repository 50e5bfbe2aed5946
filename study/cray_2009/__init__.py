"""Knaak and Oswald, "Optimizing MPI-IO for Applications on Cray XT Systems" (Cray Inc., 2009).

How many stripes does more than one process write, by collective buffering with each alignment and without it?
Which of them is faster? Benchmarks 1 to 4, scaled down to one node.

No Lustre is here, and a local file system does not lock stripes. Hints give the stripes, and conflicts are counted.
Rates are those of the page cache. Alignments are those of pmio's collective buffering. MPICH's own is alignment 0,
or with `striping_unit` alignment 1.
"""

from paper import Paper

from . import judging, measuring, showing, workload
from .results import Results


class Study(Paper):
    title = "Knaak and Oswald 2009: alignment of collective buffering"

    def __init__(self, options):
        super().__init__(measuring.Measuring(options), workload.cells(), Results, judging, showing)
