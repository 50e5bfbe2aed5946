"""Carneiro et al., "Collective I/O Performance on the Santos Dumont Supercomputer" (PDP 2018).

Do MPI implementations differ in small collective requests, and not in large ones? Which step of two-phase I/O is it?
Table II's requests by MPI-IO and HDF5, figure 6's large ones, and figure 8's five steps.
"""

import itertools
from statistics import median

import claims
import compare
import two_phase
from pmiolab import contestants, figures, mpi_jobs, mpi_libraries, places, quiet
from shown import head, line, listed, plain

RANKS = 2
SMALL, LARGE = (1024, 1312), (58864, 65536)
SEGMENTS = {1024: 6554, 1312: 5116, 58864: 116, 65536: 104}  # table II; of each rank
BT_IO, BT_IO_CALLS = 18 << 20, 4  # section IV-A: the size of BT-IO's requests, class D
APIS = {"MPI-IO": "mpiio", "HDF5": "hdf5"}
OPERATIONS = {"write": "write_s", "read": "read_s"}
STEP_CALLS = 400
DIFFER = 1.5  # medians that are farther apart differ by more than a reader would call alike


def implementations(build):
    """By name, the MPI and what its launcher is told: each library's ways to do MPI-IO."""
    found = {}
    for mpi in mpi_libraries.load(build):
        if mpi.family == "openmpi":
            found[f"{mpi.tag} OMPIO"] = (mpi, {"OMPI_MCA_io": "ompio"})
            romio = "romio321" if mpi.tag.startswith("openmpi-4") else "romio341"
            found[f"{mpi.tag} ROMIO"] = (mpi, {"OMPI_MCA_io": romio})
        elif mpi.family == "mpich":
            found[mpi.tag] = (mpi, {})
    return found


class Study:
    title = "Carneiro et al. 2018: implementations of MPI-IO"

    def __init__(self, options):
        self.options, self.implementations = options, implementations(options.build)

    def has_api(self, name, api):
        return places.benchmark(self.options.build, APIS[api], self.implementations[name][0]).exists()

    def cells(self):
        """Each is measured once in a repetition."""
        ior = [
            {"api": api, "size": size, "by": name, "pmio": pmio}
            for api, size, name, pmio in itertools.product(APIS, SEGMENTS, self.implementations, (False, True))
            if self.has_api(name, api) and not (pmio and name.endswith("ROMIO"))  # pmio goes past both in the same way
        ]
        large = [{"api": "MPI-IO", "size": BT_IO, "by": name, "pmio": False} for name in self.implementations]
        steps = [{"steps": STEP_CALLS, "by": name} for name in self.implementations if not name.endswith("ROMIO")]
        return ior + large + steps

    def measure(self, cell):
        mpi, settings = self.implementations[cell["by"]]
        with places.temporary("study", self.options.work) as scratch, places.temporary("study", "/dev/shm") as logs:
            if "steps" in cell:
                return self.steps(mpi, scratch)
            calls = BT_IO_CALLS if cell["size"] == BT_IO else max(20, round(SEGMENTS[cell["size"]] * self.options.scale))
            amount = cell["size"] * calls
            words = [places.benchmark(self.options.build, APIS[cell["api"]], mpi), "--file", scratch / "target"]
            words += ["--block", cell["size"], "--bytes", amount, "--read"]
            more = {"settings": settings}
            if cell["pmio"]:
                more = {"settings": {**settings, "PMIO_DIR": logs}, "preload": [mpi.runtime]}
            contestants.touch_memory(contestants.COPIES * RANKS * amount)
            [told] = quiet.measured(lambda: self.once(mpi, words, scratch, **more))
        return {"write_s": told["open_s"] + told["write_s"] + told["close_s"], "read_s": told["read_s"],
                "bytes": told["bytes"]}  # fmt: skip

    def once(self, mpi, words, scratch, **more):
        (scratch / "target").unlink(missing_ok=True)
        return mpi_jobs.measure(mpi, RANKS, words, name=str(words[0].name), timeout=self.options.timeout, **more)

    def steps(self, mpi, scratch):
        words = two_phase.words(self.options.build, mpi, scratch / "file", STEP_CALLS)
        return two_phase.medians(two_phase.results(mpi_jobs.run(mpi, RANKS, words, timeout=self.options.timeout)))

    # --- what it shows ---

    def seconds(self, rows, operation, api, size, name, pmio=False):
        return rows.values(OPERATIONS[operation], api=api, size=size, by=name, pmio=pmio)

    def sets(self, rows, operation, api, size):
        """By implementation, the seconds of all repetitions; only plain ones that could be measured."""
        found = {name: self.seconds(rows, operation, api, size, name) for name in self.implementations}
        return {name: values for name, values in found.items() if values}

    def spread(self, rows, operation, api, size):
        """The slowest implementation's median over the fastest one's."""
        medians = [median(values) for values in self.sets(rows, operation, api, size).values()]
        return max(medians) / min(medians)

    def claims(self, rows):
        return [*self.of_applications(), *self.of_sizes(rows), *self.of_implementations(rows), *self.of_steps(rows)]

    def of_applications(self):
        return [
            claims.untested("III-A", "Up to 73% of the execution time was spent with I/O operations",
                            "OLAM is not part of this project; its requests of 1,312 and 58,864 bytes are below"),
            claims.untested("III-C", "BullxMPI is the alternative that causes OLAM to spend the most time on I/O "
                            "operations, 87% of the execution time", "BullxMPI runs on its makers' machines only"),
        ]  # fmt: skip

    def of_sizes(self, rows):
        both = list(itertools.product(OPERATIONS, APIS))
        small = [self.spread(rows, *way, size) for way in both for size in SMALL]
        large = [self.spread(rows, *way, size) for way in both for size in LARGE]
        bt_io = self.spread(rows, "write", "MPI-IO", BT_IO)
        some, pairs = [], 0
        for way, size in itertools.product(both, SMALL):
            some += [p for p in compare.dunn(self.sets(rows, *way, size)).values() if p < compare.LEVEL]
            pairs += len(compare.dunn(self.sets(rows, *way, size)))
        return [
            claims.held("IV-B", "For the small request sizes (1024 and 1312 bytes) […] we can see performance differences "
                        "between MPI implementations (for both read and write tests)",
                        bool(some) and median(small) > DIFFER,
                        f"the slowest takes {min(small):.1f} to {max(small):.1f} times as long as the fastest; "
                        f"{len(some)} of {pairs} pairs differ (Dunn, Holm)"),
            claims.held("IV-B", "These differences are smaller […] for the large request sizes (58864 and 65536 bytes)",
                        median(large) < median(small),
                        f"in the median {median(large):.1f} times, and {median(small):.1f} times for small ones"),
            claims.held("IV-A", "This difference is quite small if compared to what was observed before […] the size of "
                        "requests generated by the benchmark was approximately 18 MB", bt_io < median(small),
                        f"writes of 18 MiB: {bt_io:.1f} times"),
            self.faster_if_larger(rows, both),
        ]  # fmt: skip

    def faster_if_larger(self, rows, ways):
        confirmed, contrary, all_of_them = 0, [], 0
        for (operation, api), name in itertools.product(ways, self.implementations):
            less, more = (self.seconds(rows, operation, api, size, name) for size in (1312, 65536))
            if not less or not more:
                continue
            all_of_them += 1  # both write the same number of bytes, but for 2 %
            if median(more) >= median(less):
                contrary.append(f"{name}, {operation}, {api}")
            elif compare.mann_whitney(less, more).p < compare.LEVEL:
                confirmed += 1
        return claims.held("IV-B", "Larger requests lead to higher performance from all MPI implementations (all "
                           "differences were confirmed with the Wilcoxon-Mann-Whitney test)",
                           confirmed == all_of_them, f"confirmed in {confirmed} of {all_of_them} cases"
                           + (f"; contrary: {'; '.join(contrary)}" if contrary else ""))  # fmt: skip

    def of_implementations(self, rows):
        intel = [name for name in self.implementations if name.startswith("intel")]
        romio = [name for name in self.implementations if name.endswith("ROMIO")]
        result = []
        quote = "Write/read time obtained with IntelMPI and OpenMPI 1.10 with ROMIO were not significantly different"
        if intel and romio:
            ps = [compare.dunn(self.sets(rows, operation, "MPI-IO", size)).get(frozenset((intel[0], name)))
                  for operation in OPERATIONS for size in SEGMENTS for name in romio]  # fmt: skip
            ps = [p for p in ps if p is not None]
            result.append(claims.held("IV-B", quote, all(p >= compare.LEVEL for p in ps),
                                      f"with Open MPI's ROMIO of today, {sum(p < compare.LEVEL for p in ps)} of {len(ps)} "
                                      "comparisons by MPI-IO differ (Dunn, Holm)"))  # fmt: skip
        else:
            result.append(claims.untested("IV-B", quote, "no Intel MPI is here"))
        return [*result, self.misaligned(rows), self.by_api(rows), self.normality(rows)]

    def misaligned(self, rows):
        """Rates, since the two sizes do not give the same number of bytes."""
        factors = {}
        for name in self.implementations:
            slow, fast = (self.seconds(rows, "write", "MPI-IO", size, name) for size in LARGE)
            if slow and fast:
                bytes_of = [size * SEGMENTS[size] for size in LARGE]
                factors[name] = (median(slow) / bytes_of[0]) / (median(fast) / bytes_of[1])
        worst = max(factors, key=factors.get)
        only_ompio = all(factor < DIFFER for name, factor in factors.items() if not name.endswith("OMPIO"))
        return claims.held("IV-B", "The misaligned access only presented a large negative impact on versions 2.0 and 2.1 of "
                           "OpenMPI with OMPIO, using the MPI-IO API and large request sizes", only_ompio,
                           f"58,864 against 65,536 bytes, time per byte: {listed(factors, '{:.2f}')}; the worst is "
                           f"{worst}. The file system here has no stripes")  # fmt: skip

    def by_api(self, rows):
        slower, confirmed, cases = 0, 0, 0
        for operation, size, name in itertools.product(OPERATIONS, SEGMENTS, self.implementations):
            straight, hdf5 = (self.seconds(rows, operation, api, size, name) for api in APIS)
            if not straight or not hdf5:
                continue
            cases += 1
            slower += median(hdf5) > median(straight)
            confirmed += median(hdf5) > median(straight) and compare.mann_whitney(straight, hdf5).p < compare.LEVEL
        return claims.held("IV-B", "HDF5 presented an inferior performance than MPI-IO, due to its added overhead",
                           slower > 0.9 * cases, f"slower in {slower} of {cases} cases, significantly in {confirmed}")  # fmt: skip

    def normality(self, rows):
        sets = [values for operation, api, size in itertools.product(OPERATIONS, APIS, SEGMENTS)
                for values in self.sets(rows, operation, api, size).values()]  # fmt: skip
        not_normal = sum(compare.shapiro(values) < compare.LEVEL for values in sets)
        return claims.held("III-C", "We could not conclude all these results follow a normal distribution", not_normal > 0,
                           f"Shapiro and Wilk reject it for {not_normal} of {len(sets)} sets")  # fmt: skip

    def of_steps(self, rows):
        names = [name for name in self.implementations if rows.values("requests", steps=STEP_CALLS, by=name)]
        times = {name: {step: median(rows.values(step, steps=STEP_CALLS, by=name)) for step in two_phase.NAMES}
                 for name in names}  # fmt: skip
        most = {name: max(steps, key=steps.get) for name, steps in times.items()}
        shares = {name: steps["write"] / sum(steps.values()) for name, steps in times.items()}
        told = "; ".join(f"{name}: " + ", ".join(f"{each:.1f}" for each in steps.values())
                         for name, steps in times.items())  # fmt: skip
        return [
            claims.held("IV-C", "Most of the time was spent in Step 3, where processes communicate request information "
                        "(offset and size) to their aggregators", all(step == "requests" for step in most.values()),
                        f"µs of steps 1 to 5 by {told}. Two ranks on one node exchange one message"),
            claims.held("IV-C", "Performing the operation to the remote parallel file system […] does not account for most "
                        "of the time", all(share < 0.5 for share in shares.values()),
                        ", ".join(f"{name}: {share:.0%}" for name, share in shares.items()) +
                        " of the time writes to the local file system"),
        ]  # fmt: skip

    def table(self, rows):
        """Markdown: MB/s of all ranks, medians."""
        lines = head("MPI", *(f"{operation} {size}" for operation in OPERATIONS for size in SEGMENTS))
        for api, name, pmio in itertools.product(APIS, self.implementations, (False, True)):
            cells = []
            for operation, size in itertools.product(OPERATIONS, SEGMENTS):
                seconds = self.seconds(rows, operation, api, size, name, pmio)
                amounts = rows.values("bytes", api=api, size=size, by=name, pmio=pmio)
                cells.append(f"{amounts[0] / median(seconds) / 1e6:,.0f}" if seconds else "–")
            if any(cell != "–" for cell in cells):
                who = f"{name.removesuffix(' OMPIO')} with pmio" if pmio else name
                lines.append(line(f"{api}, {who}", *cells))
        return lines

    def draw(self, rows, pyplot):
        ways = list(itertools.product(OPERATIONS, APIS))
        figure, panels = pyplot.subplots(2, 2, figsize=(11, 7.5), layout="constrained", sharex=True)
        width = 0.8 / len(self.implementations)
        for axes, (operation, api) in zip(panels.flat, ways):
            for number, name in enumerate(self.implementations):
                for pmio in (False, True):
                    at, rates = [], []
                    for place, size in enumerate(SEGMENTS):
                        seconds = self.seconds(rows, operation, api, size, name, pmio)
                        if seconds:
                            at.append(place + (number - len(self.implementations) / 2 + 0.5) * width)
                            rates.append(rows.values("bytes", api=api, size=size, by=name, pmio=pmio)[0] / median(seconds) / 1e6)
                    if pmio:
                        axes.plot(at, rates, "k_", markersize=9, label="with pmio" if number == 0 else None)
                    else:
                        axes.bar(at, rates, width, color=pyplot.cm.tab10(number), label=name)
            figures.log_scale(axes)
            axes.set_xticks(range(len(SEGMENTS)), [f"{size:,} B" for size in SEGMENTS])
            axes.set_title(f"{operation}, {api}", loc="left", fontsize=10)
            axes.set_ylabel("MB/s, all ranks")
            plain(axes)
        handles, labels = panels.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=4, fontsize=8, frameon=False, loc="outside upper center")
        return figure
