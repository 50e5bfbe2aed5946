#!/usr/bin/env python3
"""Random MPI-IO scenarios, plain and under pmio: every value that MPI gave back and every file must be the same.

One launch runs many seeds. The reference is plain MPICH where there is one, whatever MPI is tested: Open MPI's own I/O is
not always right. Its records are kept in the build directory and used again while the program is the same.

  differential.py --seeds 1-1000 --ranks 4 --mpi mpich-5.0.2          more than CTest runs
  differential.py --seeds 1-200 --torture                             logs of 1 to 4 MiB
  differential.py --seeds 17-17 --keep DIRECTORY                      leaves files and records for a look
"""

import hashlib
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "programs"))
import checks
import harness
import mpi_processes

ROOT = Path(__file__).resolve().parents[1]


class Contestant:
    """One MPI, plain (with --reference) or under pmio."""

    def __init__(self, mpi, options, pmio):
        self.mpi, self.options, self.pmio = mpi, options, pmio
        build = options.build if pmio else options.reference_build or options.build
        self.program = build / "tests" / "mpi" / f"differential-{mpi.tag}"
        self.preload = ([mpi.runtime] if pmio else []) + [build / "lib" / "libpmio_yield.so"]

    def run(self, first, count, hints, keep=None):
        """Returns (records by rank, what went wrong or '')."""
        options = self.options
        with tempfile.TemporaryDirectory(prefix="pmio-differential-", dir=options.work) as scratch:
            directory = keep or Path(scratch)
            directory.mkdir(parents=True, exist_ok=True)
            command = [self.mpi.mpiexec, "-n", str(options.ranks), *mpi_processes.with_environment(hints, self.preload)]
            command += [self.program, "--dir", directory, "--record", directory / "record"]
            command += ["--seed", first, "--seeds", count, "--ops", options.ops]
            command += [*options.restrictions, *([] if self.pmio else ["--reference"]), *(["--keep"] if keep else [])]
            timeout = 60 + options.timeout * count
            code, output = mpi_processes.run([str(word) for word in command], harness.environment(self.mpi), timeout)
            records = [read_lines(directory / f"record.{rank}") for rank in range(options.ranks)]
        if code is None:
            return records, "timed out"
        return records, "" if code == 0 else f"exit {code}\n{output}"


def read_lines(path):
    return path.read_text().splitlines() if path.exists() else []


def reference_records(contestant, first, count):
    """The plain run's, from the cache where it is there."""
    options = contestant.options
    what = contestant.program.read_bytes() + repr((contestant.mpi, options.restrictions)).encode()
    key = hashlib.sha256(what).hexdigest()[:16]
    cache = options.build / "tests" / "differential-reference" / f"{key}-{options.ranks}-{options.ops}-{first}-{count}"
    if cache.exists():
        return [rank.splitlines() for rank in cache.read_text().split("\f")]
    records, trouble = contestant.run(first, count, {})
    if trouble:
        raise SystemExit(f"plain {contestant.mpi.tag}, seeds from {first}: {trouble}\n{last_lines(records)}")
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.with_suffix(f".{id(records)}").write_text("\f".join("\n".join(rank) for rank in records))
    cache.with_suffix(f".{id(records)}").rename(cache)
    return records


def last_lines(records):
    return "\n".join(f"rank {rank} ended with: {lines[-1] if lines else 'nothing'}" for rank, lines in enumerate(records))


def of_seed(records, seed):
    return [[line for line in rank if line.startswith(f"{seed}:")] for rank in records]


def first_difference(expected, found):
    """(rank, line number) of the first line that differs; the lowest operation of all ranks. None if there is none."""
    differences = []
    for rank, (wanted, got) in enumerate(zip(expected, found)):
        for number in range(max(len(wanted), len(got))):
            if wanted[number : number + 1] != got[number : number + 1]:
                line = (wanted[number : number + 1] or got[number : number + 1])[0]
                differences.append((int(line.split()[0].split(":")[1]), rank, number))
                break
    return min(differences)[1:] if differences else None


def describe(expected, found, where):
    rank, number = where
    text = [f"  rank {rank}:", *(f"      {line}" for line in expected[rank][max(0, number - 6) : number])]
    text += [f"    - {line}" for line in expected[rank][number : number + 2]]
    text += [f"    + {line}" for line in found[rank][number : number + 2]]
    return "\n".join(text)


def random_hints(seed, options, logs):
    chooser = random.Random(seed)
    sizes = ["1M", "2M", "4M"] if options.torture else ["16M", "16M", "24M", "64M", "256M"]
    return {
        "PMIO_DIR": str(logs),
        "PMIO_LOG_SIZE": chooser.choice(sizes),
        "PMIO_BACKGROUND": chooser.choice(["on", "on", "off"]),
        "PMIO_MODE": chooser.choice(["log", "log", "auto"]),
    }


def compare_batch(reference, subject, first, count):
    """The complaints about the seeds from first on."""
    expected = reference_records(reference, first, count)
    logs = Path(tempfile.mkdtemp(prefix="pmio-differential-", dir=harness_memory()))
    hints = random_hints(first, subject.options, logs) if subject.pmio else {}
    found, trouble = subject.run(first, count, hints, subject.options.keep)
    complaints = []
    for seed in range(first, first + count):
        wanted, got = of_seed(expected, seed), of_seed(found, seed)
        where = first_difference(wanted, got)
        if where and not trouble:
            # Plain MPI-IO under load is not always the same twice; a second reference run decides.
            wanted = of_seed(reference.run(seed, 1, {})[0], seed)
            where = first_difference(wanted, got)
        if where:
            complaints.append(f"seed {seed}: plain (-) and pmio (+) differ\n{describe(wanted, got, where)}")
            if trouble:
                break
    if trouble:
        complaints.append(f"seeds {first}-{first + count - 1}: {trouble}\n{last_lines(found)}")
    elif leftovers := sorted(path.name for path in logs.glob("job-*")):
        complaints.append(f"seeds {first}-{first + count - 1}: logs are left over: {leftovers}")
    shutil.rmtree(logs, ignore_errors=True)
    if complaints:
        complaints.append("  with " + " ".join(f"{key}={value}" for key, value in hints.items()))
    return complaints


def harness_memory():
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def parse_options():
    parser = checks.parser(__doc__)
    parser.add_argument("--reference-build", type=Path, help="for the plain runs, where --build has sanitizers")
    parser.add_argument("--reference-mpi", help="tag of the plain MPI; default: the newest MPICH, else the same")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seeds", default="1-40", help="first-last")
    parser.add_argument("--ops", type=int, default=40, help="operations per seed")
    parser.add_argument("--per-launch", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=30, help="seconds per seed")
    parser.add_argument("--work", type=Path, help="where the files are written; default: the temporary directory")
    parser.add_argument("--torture", action="store_true", help="tiny logs")
    parser.add_argument("--plain", action="store_true", help="no pmio: compare an MPI with the reference")
    parser.add_argument("--keep", type=Path, help="leave the files and records of the run under pmio here")
    options = parser.parse_args()
    if options.reference_build:
        options.reference_build = options.reference_build.resolve()
    return options


def choose_mpis(options):
    subject = harness.choose_mpi(options.build, options.mpi)
    mpis = harness.load_mpis(options.build)
    mpich = sorted((mpi for mpi in mpis if mpi.tag.startswith("mpich-")), key=lambda mpi: mpi.tag)
    references = [mpi for mpi in mpis if mpi.tag == options.reference_mpi] or mpich[-1:] or [subject]
    return references[-1], subject


def main():
    options = parse_options()
    plain, tested = choose_mpis(options)
    # Handed on: Open MPI hangs in atomic mode, and preallocates rubbish.
    # MPICH 4.0 itself, without pmio, writes outside of a memory type whose lower bound is not 0 when it reads into it.
    options.restrictions = [] if tested.tag.startswith("mpich-5") else ["--portable"]
    if tested.tag.startswith("intel-"):
        options.restrictions += ["--no-darray"]  # Intel MPI misplaces cyclic shares that end within a block
    reference, subject = Contestant(plain, options, False), Contestant(tested, options, not options.plain)
    first, last = (int(number) for number in options.seeds.split("-"))
    batches = [(seed, min(options.per_launch, last + 1 - seed)) for seed in range(first, last + 1, options.per_launch)]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda batch: compare_batch(reference, subject, *batch), batches)
        complaints = []
        for complaint in results:
            complaints += complaint
            print("\n".join(complaint), flush=True) if complaint else None
    what = "plain" if options.plain else "under pmio"
    verdict = "DIFFERENT" if complaints else "equal"
    print(f"{tested.tag} {what} against plain {plain.tag}, {options.ranks} ranks, seeds {options.seeds}: {verdict}")
    return 1 if complaints else 0


if __name__ == "__main__":
    raise SystemExit(main())
