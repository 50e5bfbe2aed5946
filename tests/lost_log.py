#!/usr/bin/env python3
"""The log directory is removed under a running job (tests/mpi/lost_log.c), and nothing is lost.

What each rank had logged is read by the others and comes into the files, as in a plain run. One line on
stderr says what has happened.

  lost_log.py --mpi mpich-5.0.2
"""

import sys

from pmiolab import checks, command_line, mpi_jobs, mpi_libraries, places

TIMEOUT = 60


def run(options, mpi, ranks, files, logs=None, removed="directory", settings=None):
    """Runs plain if there is no log directory.

    removed: what the job removes of it, the directory or the files in it.
    """
    files.mkdir()
    program = [places.test_program(options.build, "lost_log", mpi), files]
    if logs is None:
        return mpi_jobs.run(mpi, ranks, program, timeout=TIMEOUT)
    logs.mkdir(mode=0o700)
    all_settings = {"PMIO_DIR": logs, "PMIO_LOG_SIZE": "1M", "PMIO_REGISTRY": files.parent, "PMIO_DIRECT_FROM": "off",
                    **(settings or {})}  # fmt: skip
    program += [logs, removed]
    return mpi_jobs.run(mpi, ranks, program, settings=all_settings, preload=[mpi.runtime], timeout=TIMEOUT)


def contents(files):
    return {path.name: path.read_bytes() for path in sorted(files.iterdir())}


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    all_checks = checks.Checks()
    with places.temporary("lost") as disk, places.temporary("lost", "/dev/shm") as memory:
        for ranks in (2, 4):
            plain = disk / f"plain-{ranks}"
            code, output = run(options, mpi, ranks, plain)
            all_checks.check(f"{ranks} ranks, plain", code == 0, output)
            cases = (("directory", memory, {}), ("files", memory, {}), ("directory", disk, {}),
                     ("directory", memory, {"PMIO_LOG_SIZE": "64M"}))  # fmt: skip
            for number, (removed, where, settings) in enumerate(cases):
                files, logs = disk / f"files-{ranks}-{number}", where / f"logs-{ranks}-{number}"
                code, output = run(options, mpi, ranks, files, logs, removed, settings)
                case = f"{ranks} ranks, {removed} in {'/dev/shm' if where == memory else 'a disk'} {settings or ''}"
                all_checks.check(f"{case}: no error, and right reads", code == 0, output)
                all_checks.check(f"{case}: the files are as in a plain run", contents(files) == contents(plain), output)
                told = output.count("pmio: ") == 1 and "was removed; what was logged is being written" in output
                all_checks.check(f"{case}: one line says so", told, output)
                all_checks.check(
                    f"{case}: nothing is left", not list(logs.glob("job-*/seg*")), str(list(logs.rglob("*")))
                )
    return all_checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
