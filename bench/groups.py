#!/usr/bin/env python3
"""Files of fewer than all ranks, on several hosts of the test-bed. Of one rank each: small ones (100 bytes), and ones of
2,000 records of 1,312 bytes by a call each (own). Of all ranks but the last one: 2,000 such records of each by a
collective call each (some), and small ones (some-small). Beside these, small ones of all ranks (shared). Plain and
under pmio take turns, each run a new job and a new directory.

  bench/groups.py --mpi openmpi-5.0.11 --hosts 2 --ranks 4 --repetitions 5 --json results.json
"""

import json
import statistics

from pmiolab import command_line, hosts, mpi_libraries, places, spanning_jobs, tables

FILES = {"alone": 100, "own": 3, "shared": 100, "some": 3, "some-small": 100}
CONTESTANTS = ("plain", "pmio")
SECONDS = 300


def run(bed, options, kind, contestant, number):
    """The seconds of the slowest rank."""
    directory = f"/mnt/pfs/{kind}-{contestant}-{number}"
    bed.must("on", options.hosts[0], "mkdir", directory)
    wrapper = [places.pmio(options.build), "run", "--"] if contestant == "pmio" else []
    program = places.benchmark(options.build, "files", options.mpi)
    ended = bed.run(*spanning_jobs.launch(options.build, options.mpi, options.ranks, options.hosts), *wrapper, program,
                    directory, FILES[kind], kind, timeout=options.timeout)  # fmt: skip
    found = [line for line in ended.output.splitlines() if line.startswith("{")]
    if ended.code != 0 or not found:
        raise SystemExit(f"{kind}, {contestant}: {ended.how}\n{ended.output}")
    bed.must("on", options.hosts[0], "rm", "-r", directory)
    return json.loads(found[-1])["wall_s"]


def measure(bed, options):
    times = {(kind, contestant): [] for kind in FILES for contestant in CONTESTANTS}
    for number in range(options.repetitions):
        for kind, contestant in times:
            times[kind, contestant].append(run(bed, options, kind, contestant, number))
    return times


def main():
    parser = command_line.benchmark_parser(__doc__, repetitions=5, timeout=SECONDS)
    parser.add_argument("--hosts", default=2, type=int)
    parser.add_argument("--ranks", default=4, type=int, help="on all hosts together")
    parser.add_argument("--fs", default="moosefs", help="file system of the testbed")
    options = parser.parse_args()
    options.mpi = mpi_libraries.choose(options.build, options.mpi)
    options.hosts = [f"c{number + 1}" for number in range(options.hosts)]
    with hosts.testbed(compute=len(options.hosts), servers=2, file_system=options.fs) as bed:
        times = measure(bed, options)
    print(f"{options.mpi.tag}, {options.ranks} ranks on {len(options.hosts)} hosts, {options.fs}; ms per file of a rank")
    for kind, files in FILES.items():
        plain, pmio = ([1e3 * wall / files for wall in times[kind, contestant]] for contestant in CONTESTANTS)
        print(f"{kind:10} plain {statistics.median(plain):8.2f} ({min(plain):.2f} to {max(plain):.2f})   "
              f"pmio {statistics.median(pmio):8.2f} ({min(pmio):.2f} to {max(pmio):.2f})   "
              f"{statistics.median(plain) / statistics.median(pmio):.2f} times plain's speed")  # fmt: skip
    results = [{"kind": kind, "contestant": contestant, "files": FILES[kind], "wall_s": wall}
               for (kind, contestant), wall in times.items()]  # fmt: skip
    tables.write_json(options.json, {"mpi": options.mpi.tag, "ranks": options.ranks, "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
