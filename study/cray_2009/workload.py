"""What is measured: benchmarks, the ways to write, and the cells of the study."""

from typing import NamedTuple

MPI = "mpich-5.0.2"
RANKS, AGGREGATORS = 2, 2
STRIPE, STRIPES = 1 << 20, 16
BLOCK = 64 << 10  # what the paper calls a physical I/O block
DUMP_RANKS, VARIABLE = (2, 4, 8), 2_048_000  # bytes of all ranks: 256,000 of each of 8, as of the paper's 1,000
FIELD = 674_592  # of a writer: 4500 x 3298 reals, HYCOM's global grid of 1/12 degree, by 88 writers

ALIGNED = ("0", "1", "2")
ENGINE = ("none", *ALIGNED)  # of pmio's collective buffering: the paper's four modes
# How each way differs from the plain program. pmio: its settings, if it is preloaded.
BUFFERED = ["romio_cb_write=enable", "romio_ds_write=disable", f"cb_nodes={AGGREGATORS}", "cb_config_list=*:*"]
STRIPED = [f"striping_unit={STRIPE}", f"striping_factor={STRIPES}"]
UNBUFFERED = ["romio_cb_write=disable", "romio_ds_write=disable", *STRIPED]


class Way(NamedTuple):
    label: str
    hints: tuple = ()
    pmio: dict | None = None
    independent: bool = False


def two_phase(label, hints=BUFFERED, **settings):
    return Way(label, (*hints, *STRIPED), {"PMIO_MODE": "twophase", **settings})


WAYS = {
    "posix": Way("POSIX, shared file"),
    "files": Way("POSIX, a file each"),
    "independent": Way("MPICH, independent calls", independent=True),
    "mpich": Way("MPICH, no buffering", tuple(UNBUFFERED)),
    "mpich 0": Way("MPICH, CB", tuple(BUFFERED)),
    "mpich 1": Way("MPICH, CB, striping_unit", (*BUFFERED, *STRIPED)),
    "none": two_phase("pmio, no buffering", UNBUFFERED[:2]),
    **{a: two_phase(f"pmio, CB = {a}", PMIO_CB_ALIGN=a) for a in ALIGNED},
    "over calls": two_phase("pmio, CB = 2, over calls", PMIO_CB_ALIGN="2", PMIO_CB_BUFFERING="on"),
    "log": Way("pmio, its default", tuple(STRIPED), {}),
}
WITH_FILES = tuple(WAYS)
COLLECTIVE = ("mpich", "mpich 0", "mpich 1", *ENGINE, "log")
FEW = ("mpich", "none", "2", "log")


class Benchmark(NamedTuple):
    title: str
    record: int  # bytes of a rank's call
    calls: int
    counted: int  # calls of the run whose system writes are counted
    ways: tuple
    ranks: int = RANKS
    writers: int = RANKS
    arguments: tuple = ()
    program: str = "mpiio"

    @property
    def call_bytes(self):
        """Of all ranks, if those of a call are together in the file; else 0."""
        return 0 if "--segmented" in self.arguments or self.program == "hdf5" else self.record * self.writers


def dump(ranks):
    return Benchmark(f"3: HDF5 dump, {ranks} ranks", VARIABLE // ranks, 12, 6, COLLECTIVE, ranks, ranks,
                     program="hdf5")  # fmt: skip


BENCHMARKS = {
    "1": Benchmark("1: records of 1,000,000 B", 1_000_000, 96, 32, WITH_FILES),
    "2": Benchmark("2: records of 10,000 B", 10_000, 9600, 800, WITH_FILES),
    **{f"3 of {ranks}": dump(ranks) for ranks in DUMP_RANKS},
    "4": Benchmark("4: HYCOM, 4 of 8 ranks write", FIELD, 12, 6, COLLECTIVE, 8, 4, ("--writers", 4)),
    "apart": Benchmark("Records of 10,000 B, far apart", 10_000, 3200, 800, FEW, arguments=("--segmented",)),
    "large": Benchmark("Records of 8 MiB", 8 << 20, 12, 4, FEW),
}
ALL = {"1": ("1",), "2": ("2",), "3": tuple(f"3 of {ranks}" for ranks in DUMP_RANKS), "4": ("4",)}


def cells():
    """Each is measured once in a repetition."""
    return [{"benchmark": name, "way": way} for name, benchmark in BENCHMARKS.items() for way in benchmark.ways]
