"""Wu et al., "Early Evaluation of Intel Optane Non-Volatile Memory with HPC I/O Workloads" (2017).

Does MPI-IO cost more on a fast device than on a slow one, and does collective I/O still pay? Table II and figures 2 to
8, on emulated devices; those of I/O nodes on a test-bed. Written bytes pass the page cache ("through"), as in the paper
those of NFS do at the latest when a file is closed. A part is also measured with bytes that may stay there ("back").
"""

from paper import Paper

from . import judging, measuring, showing, workload
from .results import Results


class Study(Paper):
    title = "Wu et al. 2017: MPI-IO on Optane and on a hard disk"

    def __init__(self, options):
        super().__init__(measuring.Measuring(options), workload.cells(), Results, judging, showing)
