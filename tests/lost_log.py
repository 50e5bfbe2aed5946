#!/usr/bin/env python3
"""The log directory is removed under a running job (tests/mpi/lost_log.c): what each rank had logged is read by the others and
comes into the files, as in a plain run, and one line on stderr says what has happened.

  lost_log.py --mpi mpich-5.0.2
"""

import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent / "programs")]
import checks
import harness
import mpi_processes

TIMEOUT = 60


def run(options, mpi, ranks, files, logs=None, removed="directory", settings=None):
    files.mkdir()
    program = [options.build / "tests" / "mpi" / f"lost_log-{mpi.tag}", files]
    words = [mpi.mpiexec, "-n", ranks]
    if logs is not None:
        logs.mkdir(mode=0o700)
        all_settings = {"PMIO_DIR": logs, "PMIO_LOG_SIZE": "1M", "PMIO_REGISTRY": files.parent, **(settings or {})}
        words += mpi_processes.with_environment(all_settings, [mpi.runtime])
        program += [logs, removed]
    command = [str(word) for word in (*words, *program)]
    return mpi_processes.run(command, harness.environment(mpi), TIMEOUT)


def contents(files):
    return {path.name: path.read_bytes() for path in sorted(files.iterdir())}


def main():
    options = checks.parser(__doc__).parse_args()
    mpi = harness.choose_mpi(options.build, options.mpi)
    all_checks = checks.Checks()
    with tempfile.TemporaryDirectory(prefix="pmio-lost-") as disk, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        for ranks in (2, 4):
            plain = Path(disk) / f"plain-{ranks}"
            code, output = run(options, mpi, ranks, plain)
            all_checks.check(f"{ranks} ranks, plain", code == 0, output)
            cases = (("directory", memory, {}), ("files", memory, {}), ("directory", disk, {}),
                     ("directory", memory, {"PMIO_LOG_SIZE": "64M"}))  # fmt: skip
            for number, (removed, where, settings) in enumerate(cases):
                files, logs = Path(disk) / f"files-{ranks}-{number}", Path(where) / f"logs-{ranks}-{number}"
                code, output = run(options, mpi, ranks, files, logs, removed, settings)
                case = f"{ranks} ranks, {removed} in {'/dev/shm' if where == memory else 'a disk'} {settings or ''}"
                all_checks.check(f"{case}: no error, and right reads", code == 0, output)
                all_checks.check(f"{case}: the files are as in a plain run", contents(files) == contents(plain), output)
                told = output.count("pmio: ") == 1 and "was removed; what was logged is being written" in output
                all_checks.check(f"{case}: one line says so", told, output)
                all_checks.check(f"{case}: nothing is left", not list(logs.glob("job-*/seg*")), str(list(logs.rglob("*"))))
    return all_checks.conclude()


if __name__ == "__main__":
    sys.exit(main())
