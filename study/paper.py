"""A study whose parts are the modules of a package: what is measured, how, and what follows from it."""


class Paper:
    """measuring has measure(cell), judging claims_of(results), showing table(results) and draw(results, pyplot).
    results: makes these of rows.
    """

    def __init__(self, measuring, cells, results, judging, showing):
        self._measuring, self._cells, self._results = measuring, cells, results
        self._judging, self._showing = judging, showing

    def cells(self):
        return self._cells

    def measure(self, cell):
        return self._measuring.measure(cell)

    def claims(self, rows):
        return self._judging.claims_of(self._results(rows))

    def table(self, rows):
        return self._showing.table(self._results(rows))

    def draw(self, rows, pyplot):
        return self._showing.draw(self._results(rows), pyplot)
