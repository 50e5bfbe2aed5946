"""Liu et al., "Performance Evaluation and Modeling of HPC I/O on Non-Volatile Memory" (2017).

What do the page cache, a layer above POSIX, and collective I/O still give if the device is fast? Figures 4 to 7, 9 and
10, the profile of table II, the model of section IV-C by parameters that are measured here, and its figure 11.
"""

from . import judging, measuring, model, showing, workload
from .results import Results


class Study:
    title = "Liu et al. 2017: HPC I/O on non-volatile memory"

    def __init__(self, options):
        self.options, self.sizes = options, workload.Sizes(options.scale)
        self.measuring = measuring.Measuring(options, self.sizes)

    def cells(self):
        return workload.cells()

    def measure(self, cell):
        return self.measuring.measure(cell)

    def claims(self, rows):
        results = Results(rows)
        return [*judging.claims_of(results), *model.claims_of(self.model(results), self.options.build)]

    def model(self, results):
        return model.Model(results, self.sizes)

    def table(self, rows):
        return showing.table(Results(rows), self.sizes)

    def draw(self, rows, pyplot):
        results = Results(rows)
        return showing.draw(results, self.model(results), self.sizes, pyplot)
