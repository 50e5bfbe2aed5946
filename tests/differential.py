#!/usr/bin/env python3
"""Random MPI-IO scenarios, plain and under pmio: every value that MPI gave back and every file must be the same.

One launch runs many seeds. The reference is plain MPICH if there is one, whatever MPI is tested: Open MPI's own I/O is
not always right. Its records are kept in the build directory and used again while the program is the same.

  differential.py --seeds 1-1000 --ranks 4 --mpi mpich-5.0.2          more than CTest runs
  differential.py --seeds 1-200 --torture                             logs of 1 to 4 MiB
  differential.py --seeds 1-200 --mode independent                    without a log
  differential.py --seeds 1-300 --mode twophase --set PMIO_CB_ALIGN=2 one alignment
  differential.py --seeds 1-200 --ranks 4 --two-nodes                 also files of groups of both (MPICH 5)
  differential.py --seeds 17-17 --keep DIRECTORY                      leaves files and records for a look
"""

import argparse
import random
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pmiolab import command_line, differential, mpi_libraries, places


def random_settings(seed, torture, logs, modes):
    """pmio's settings for a launch; torture: logs that are always too small."""
    chooser = random.Random(seed)
    sizes = ["1M", "2M", "4M"] if torture else ["16M", "16M", "24M", "64M", "256M"]
    settings = {
        "PMIO_DIR": str(logs),
        "PMIO_LOG_SIZE": chooser.choice(sizes),
        "PMIO_BACKGROUND": chooser.choice(["on", "on", "off"]),
        "PMIO_MODE": chooser.choice(modes),
        "PMIO_DIRECT_FROM": chooser.choice(["auto", "off", "64", "1K", "16K"]),
        "PMIO_CLOSE": chooser.choice(["complete", "background"]),
        "PMIO_GATHER": chooser.choice(["auto", "on", "on"]),
    }
    return settings | buffering(chooser) if settings["PMIO_MODE"] == "twophase" else settings


def buffering(chooser):
    """Settings of collective buffering, also tiny buffers."""
    hints = {
        "cb_buffer_size": chooser.choice(["8K", "20000", "256K", "16M"]),
        "romio_cb_write": chooser.choice(["enable", "enable", "automatic", "disable"]),
        "romio_cb_read": chooser.choice(["enable", "enable", "automatic", "disable"]),
        "cb_config_list": chooser.choice(["*:*", "*:1", "*:2"]),
        "striping_unit": chooser.choice(["65536", "1M"]),
    }
    values = "".join(f":{key}={value}" for key, value in hints.items())
    return {
        "PMIO_CB_ALIGN": chooser.choice("012"),
        "PMIO_CB_MEMORY": chooser.choice(["dram", "pmem"]),
        "PMIO_CB_BUFFERING": chooser.choice(["off", "on"]),
        "MPICH_MPIIO_HINTS": "*" + values,
    }


def setting(text):
    name, equals, value = text.partition("=")
    if not name.startswith("PMIO_") or not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not PMIO_NAME=VALUE")
    return name, value


def compare_seed(seed, reference, expected, found, trouble):
    """The complaint, or ''."""
    wanted, got = differential.of_seed(expected, seed), differential.of_seed(found, seed)
    where = differential.first_difference(wanted, got)
    if where and not trouble:
        # Plain MPI-IO under load is not always the same twice; a second reference run decides.
        wanted = differential.of_seed(reference.run(seed, 1, {})[0], seed)
        where = differential.first_difference(wanted, got)
    return f"seed {seed}: plain (-) and pmio (+) differ\n{differential.describe(wanted, got, where)}" if where else ""


def compare_batch(reference, subject, options, first, count):
    """The complaints about `count` seeds from the first on, which run in one launch."""
    expected = differential.reference_records(reference, first, count)
    logs = Path(tempfile.mkdtemp(prefix="pmio-differential-", dir=places.memory()))
    # By `auto` the library has small files, and only the reference's is known to be right.
    modes = ["log", "log", "auto"] if subject.mpi.tag == reference.mpi.tag else ["log"]
    modes = [options.mode] if options.mode else modes
    settings = random_settings(first, options.torture, logs, modes) if subject.pmio else {}
    settings |= dict(options.set)
    if options.two_nodes:
        settings |= mpi_libraries.TWO_NODES
    found, trouble = subject.run(first, count, settings, options.keep)
    complaints = []
    for seed in range(first, first + count):
        if complaint := compare_seed(seed, reference, expected, found, trouble):
            complaints.append(complaint)
            if trouble:
                break
    seeds = f"seeds {first}-{first + count - 1}"
    if trouble:
        complaints.append(f"{seeds}: {trouble}\n{differential.last_lines(found)}")
    elif leftovers := sorted(path.name for path in logs.glob("job-*")):
        complaints.append(f"{seeds}: logs are left over: {leftovers}")
    shutil.rmtree(logs, ignore_errors=True)
    if complaints:
        complaints.append("  with " + " ".join(f"{key}={value}" for key, value in settings.items()))
    return complaints


def parse_options():
    parser = command_line.parser(__doc__)
    command_line.add_ranks(parser)
    differential.add_operations(parser)
    parser.add_argument(
        "--reference-build", type=command_line.resolved, help="for the plain runs, if --build has sanitizers"
    )
    parser.add_argument("--reference-mpi", help="tag of the plain MPI; default: the newest MPICH, else the same")
    parser.add_argument("--seeds", default="1-40", help="first-last")
    parser.add_argument("--per-launch", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=30, help="seconds per seed")
    parser.add_argument("--work", type=Path, help="where the files are written; default: the temporary directory")
    parser.add_argument("--torture", action="store_true", help="tiny logs")
    parser.add_argument("--mode", help="PMIO_MODE; default: log, and auto if the reference is of the same MPI")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=setting,
        metavar="NAME=VALUE",
        help="a setting of pmio's that is not chosen at random",
    )
    parser.add_argument("--two-nodes", action="store_true", help="the MPI takes this host for two")
    parser.add_argument("--plain", action="store_true", help="no pmio: compare an MPI with the reference")
    parser.add_argument("--keep", type=Path, help="leave the files and records of the run under pmio here")
    return parser.parse_args()


def scenarios_of(options, tested):
    restrictions = differential.restrictions(tested)
    if tested.tag.startswith("intel-"):
        restrictions.append("--no-darray")  # Intel MPI misplaces cyclic shares that end within a block
    if options.two_nodes:
        restrictions.append("--consecutive")  # each half has ranks of both nodes
    return differential.Scenarios(
        options.build, options.reference_build, options.ranks, options.ops, options.timeout, options.work, restrictions
    )


def main():
    options = parse_options()
    plain, tested = differential.choose_mpis(options.build, options.mpi, options.reference_mpi)
    scenarios = scenarios_of(options, tested)
    reference = differential.Contestant(plain, scenarios, False)
    subject = differential.Contestant(tested, scenarios, not options.plain)
    first, last = (int(number) for number in options.seeds.split("-"))
    batches = [(seed, min(options.per_launch, last + 1 - seed)) for seed in range(first, last + 1, options.per_launch)]
    equal = True
    with ThreadPoolExecutor(options.jobs) as pool:
        for complaints in pool.map(lambda batch: compare_batch(reference, subject, options, *batch), batches):
            if complaints:
                equal = False
                print("\n".join(complaints), flush=True)
    what = "plain" if options.plain else f"under pmio {options.mode or ''}".rstrip()
    verdict = "equal" if equal else "DIFFERENT"
    print(f"{tested.tag} {what} against plain {plain.tag}, {options.ranks} ranks, seeds {options.seeds}: {verdict}")
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
