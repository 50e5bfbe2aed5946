#!/usr/bin/env python3
"""Runs one test program plain and under pmio and compares all that it leaves in its directory, byte for byte.

Under pmio it must go through the log, or where that is --handed-on not, and leave no log behind.

  compare_runs.py --mpi mpich-5.0.2 --program threads multiple
"""

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "programs")]
import checks
import harness

ATTEMPTS = 5


def files_in(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def differences(plain, logged):
    for name in sorted(plain.keys() | logged.keys()):
        if name not in plain or name not in logged:
            yield f"{name} is there {'with' if name in logged else 'without'} pmio only"
        elif plain[name] != logged[name]:
            yield f"{name}: {len(plain[name])} bytes without pmio, {len(logged[name])} with it, and not the same"


def parse_options():
    parser = checks.parser(__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--program", required=True)
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--handed-on", action="store_true", help="nothing is expected to go through the log")
    parser.add_argument("--log-size", help="of a rank; default: pmio's")
    parser.add_argument("--descriptors", help="that a rank may have, as of ulimit -n")
    parser.add_argument("--says", default="", help="what the run under pmio must say, among other things")
    parser.add_argument("--again", help="what the MPI library says where it fails by itself now and then: then the run is repeated")
    parser.add_argument("--plain", action="append", default=[], help="one more argument, without pmio only")
    return parser.parse_args()


def main():
    options = parse_options()
    mpi = harness.choose_mpi(options.build, options.mpi)
    left = {}
    program = options.build / "tests" / "mpi" / f"{options.program}-{mpi.tag}"
    preload = [options.build / "lib" / "libpmio_yield.so"]
    with tempfile.TemporaryDirectory(prefix="pmio-compare-") as scratch:
        for name, pmio, more in (("plain", None, options.plain), ("log", options.build / "bin" / "pmio", [])):
            work = Path(scratch) / name
            work.mkdir()
            wrapper = ["env", f"PMIO_LOG_SIZE={options.log_size}"] if pmio and options.log_size else []
            if options.descriptors:
                wrapper += ["sh", "-c", f'ulimit -n {options.descriptors}; exec "$@"', "sh"]
            words = [str(program), str(work), *options.arguments, *more]
            for _ in range(ATTEMPTS):
                run = harness.run(
                    mpi, options.ranks, words, directory=scratch, pmio=pmio, preload=preload, timeout=60, wrapper=wrapper
                )
                if run.verdict == "pass" or not options.again or options.again not in run.output:
                    break
                print(f"{name}: {run.verdict}, once more: {options.again}")
                shutil.rmtree(work)
                work.mkdir()
            if run.code == harness.SKIPPED:
                harness.skip(f"{mpi.tag} cannot do {' '.join(options.arguments)}")
            print(f"{name}: {run.verdict}, {run.logged_bytes} bytes through the log")
            wanted = not pmio or ((run.logged_bytes == 0) == options.handed_on and options.says in run.output)
            if run.verdict != "pass" or not wanted:
                print(run.output)
                return 1
            left[name] = files_in(work)
    found = list(differences(left["plain"], left["log"]))
    print("\n".join(found) or f"{len(left['log'])} files are the same")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
