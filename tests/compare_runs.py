#!/usr/bin/env python3
"""Runs one test program plain and under pmio and compares all that it leaves in its directory, byte for byte.

Under pmio its data must be written by pmio, or not with --handed-on, and no log may be left behind.

  compare_runs.py --mpi mpich-5.0.2 --program threads multiple
"""

import shutil
import sys

from pmiolab import checks, command_line, mpi_libraries, places, real_programs

ATTEMPTS = 5
HANGS_S = 300  # two ranks that wait on their processors, beside the compilers of two sanitizers, took 100 s


def files_in(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def differences(plain, logged):
    for name in sorted(plain.keys() | logged.keys()):
        if name not in plain or name not in logged:
            yield f"{name} is there {'with' if name in logged else 'without'} pmio only"
        elif plain[name] != logged[name]:
            yield f"{name}: {len(plain[name])} bytes without pmio, {len(logged[name])} with it, and not the same"


def parse_options():
    parser = command_line.parser(__doc__)
    command_line.add_ranks(parser)
    parser.add_argument("--program", required=True)
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--handed-on", action="store_true", help="pmio is expected to write nothing")
    parser.add_argument("--mode", default="log", help="auto: files that are expected to be small are not logged at first")
    parser.add_argument("--log-size", help="of a rank; default: pmio's")
    parser.add_argument("--descriptors", help="that a rank may have, as of ulimit -n")
    parser.add_argument("--says", default="", help="what the run under pmio must say, among other things")
    parser.add_argument(
        "--again", help="what the MPI library says if it fails by itself now and then: then the run is repeated"
    )
    parser.add_argument("--plain", action="append", default=[], help="one more argument, without pmio only")
    return parser.parse_args()


def run(options, mpi, work, pmio):
    """Runs the program in the new directory `work`, and again as long as the MPI library is seen to fail by itself."""
    wrapper = ["env", f"PMIO_MODE={options.mode}"] if pmio else []
    if pmio and options.log_size:
        wrapper.append(f"PMIO_LOG_SIZE={options.log_size}")
    if options.descriptors:
        wrapper += ["sh", "-c", f'ulimit -n {options.descriptors}; exec "$@"', "sh"]
    words = [
        places.test_program(options.build, options.program, mpi),
        work,
        *options.arguments,
        *([] if pmio else options.plain),
    ]
    for attempt in range(ATTEMPTS):
        work.mkdir()
        done = real_programs.run(mpi, options.ranks, words, directory=work.parent, pmio=pmio,
                                 preload=[places.yielding(options.build)], timeout=HANGS_S, wrapper=wrapper)  # fmt: skip
        if done.verdict == "pass" or not options.again or options.again not in done.output or attempt + 1 == ATTEMPTS:
            break
        print(f"{work.name}: {done.verdict}, once more: {options.again}")
        shutil.rmtree(work)
    return done


def is_as_expected(options, done, pmio):
    if done.verdict != "pass":
        return False
    return not pmio or ((done.written_bytes == 0) == options.handed_on and options.says in done.output)


def main():
    options = parse_options()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    left = {}
    with places.temporary("compare") as scratch:
        for name, pmio in (("plain", None), ("log", places.pmio(options.build))):
            done = run(options, mpi, scratch / name, pmio)
            if done.code == checks.SKIPPED:
                checks.skip(f"{mpi.tag} cannot do {' '.join(options.arguments)}")
            print(f"{name}: {done.verdict}, {done.written_bytes} bytes by pmio")
            if not is_as_expected(options, done, pmio):
                print(done.output)
                return 1
            left[name] = files_in(scratch / name)
    return checks.conclude(differences(left["plain"], left["log"]), f"{len(left['log'])} files are the same")


if __name__ == "__main__":
    sys.exit(main())
