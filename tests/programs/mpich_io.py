#!/usr/bin/env python3
"""MPICH's own I/O test programs, plain and under pmio, with every MPI: none may fail that passes without pmio.

The sources come from scripts/fetch-mpich-tests; without them this test is skipped.
"""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pmiolab import checks, command_line, mpi_libraries, places, real_programs, tables

SOURCES = places.ROOT / ".deps" / "mpich-tests"
# Their configure script would write this; it is the same on every 64-bit Linux.
CONFIGURATION = """\
#define HAVE_STDARG_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_GETRUSAGE 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
"""

UNPORTABLE = {"async"}  # has a name of MPICH 4's own


def programs():
    """(name, ranks, arguments, GiB of memory), as the suite's own list has them."""
    for line in (SOURCES / "io" / "testlist.in").read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith(("#", "@")) or not (SOURCES / "io" / f"{words[0]}.c").exists():
            continue
        options = [word.split("=", 1) for word in words[2:] if "=" in word]
        arguments = [value for key, value in options if key == "arg"]
        memory = max([float(value) for key, value in options if key == "mem"], default=0.0)
        yield words[0], int(words[1]), arguments, memory


def compile_all(mpi, names, directory):
    """The names that this MPI compiles: a name of MPICH 4's own is in one of them."""
    include = directory / "include"
    include.mkdir(parents=True, exist_ok=True)
    (include / "mpitestconf.h").write_text(CONFIGURATION)
    flags = ["-w", "-O1", "-pthread", f"-I{include}", f"-I{SOURCES / 'include'}", f"-I{SOURCES / 'util'}"]
    objects = []
    for helper in ("mtest", "mtest_common", "mtest_thread"):
        objects.append(str(directory / f"{helper}.o"))
        subprocess.run([mpi.mpicc, *flags, "-c", str(SOURCES / "util" / f"{helper}.c"), "-o", objects[-1]], check=True)

    def compiles(name):
        command = [mpi.mpicc, *flags, SOURCES / "io" / f"{name}.c", *objects, "-o", directory / name]
        return subprocess.run(command, capture_output=True).returncode == 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return {name for name, good in zip(names, pool.map(compiles, names)) if good}


def judge(run):
    """The suite's convention: exactly one line, ' No Errors', and nothing on stderr."""
    if run.passed and run.output.strip() != "No Errors":
        return "output"
    return run.verdict


def available_gib():
    """GiB of memory, with what the page cache would give back; sysconf leaves that out."""
    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(facts["MemAvailable"].split()[0]) / 2**20


def run_once(mpi, binary, ranks, arguments, pmio, timeout):
    with places.temporary("io") as scratch:
        run = real_programs.run(mpi, ranks, [binary, *arguments], directory=scratch, pmio=pmio, timeout=timeout)
        return judge(run), run.output.strip()


def run_mpi(mpi, pmio, selected, options):
    """The complaints about one MPI."""
    regressions, rows = [], []
    with places.temporary(mpi.tag) as directory:
        compiled = compile_all(mpi, [name for name, *_ in selected], directory)
        for name, ranks, arguments, memory in selected:
            if memory > options.memory_gib or memory * 2 > available_gib():
                rows.append((name, ranks, "-", "-", "skipped: needs much memory"))
                continue
            if name not in compiled:
                rows.append((name, ranks, "-", "-", "skipped: does not compile"))
                if name not in UNPORTABLE:
                    regressions.append(f"{mpi.tag} {name}: does not compile")
                continue
            plain, _ = run_once(mpi, directory / name, ranks, arguments, None, options.timeout)
            under, output = "-", ""
            if pmio:
                under, output = run_once(mpi, directory / name, ranks, arguments, pmio, options.timeout)
            broken = pmio and plain == "pass" and under != "pass"
            if broken:
                regressions.append(f"{mpi.tag} {name}: {under}\n{output[:2000]}")
            rows.append((name, ranks, plain, under, "REGRESSION" if broken else ""))
    tables.print_table(("program", "ranks", "plain", "pmio", ""), rows)
    passing = f"{sum(r[2] == 'pass' for r in rows)} pass plain, {sum(r[3] == 'pass' for r in rows)} under pmio"
    failures = f"{len(regressions)} new failures" if regressions else "no new failure"
    left_out = ", ".join(f"{r[0]} ({r[4].removeprefix('skipped: ')})" for r in rows if r[2] == "-") or "none"
    print(f"{mpi.tag}: {passing}, {failures}; not run: {left_out}\n")
    return regressions


def main():
    parser = command_line.parser(__doc__, mpi=False)
    parser.add_argument("--mpi", action="append", help="tag of an MPI; every one by default")
    parser.add_argument("--only", action="append", help="name of a program; every one by default")
    parser.add_argument("--plain-only", action="store_true", help="show the baseline")
    parser.add_argument("--timeout", type=float, default=60, help="seconds per run")
    parser.add_argument("--memory-gib", type=float, default=4, help="leave out programs that need more than this")
    options = parser.parse_args()
    if subprocess.run([places.ROOT / "scripts" / "fetch-mpich-tests"], check=False).returncode != 0:
        checks.skip("MPICH's test programs cannot be had")
    mpis = [mpi for mpi in mpi_libraries.load(options.build) if not options.mpi or mpi.tag in options.mpi]
    if not mpis:
        checks.skip("no runtime library is built for the MPIs asked for")
    selected = [p for p in programs() if not options.only or p[0] in options.only]
    pmio = None if options.plain_only else places.pmio(options.build)
    regressions = [r for mpi in mpis for r in run_mpi(mpi, pmio, selected, options)]
    return checks.conclude(f"new failure: {regression}" for regression in regressions)


if __name__ == "__main__":
    raise SystemExit(main())
