#!/usr/bin/env python3
"""Opens and closes many files (tests/mpi/opens.c): descriptors, mappings, threads and files of the log must not grow.

  leaks.py --mpi mpich-5.0.2 --times 10000
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "programs")]
import checks
import harness
import mpi_processes


def main():
    parser = checks.parser(__doc__)
    parser.add_argument("--times", type=int, default=10000)
    options = parser.parse_args()
    mpi = harness.choose_mpi(options.build, options.mpi)
    if not Path("/dev/shm").is_dir():
        return harness.SKIPPED
    with tempfile.TemporaryDirectory(prefix="pmio-leaks-", dir="/dev/shm") as scratch:
        logs = Path(scratch) / "logs"
        logs.mkdir(mode=0o700)
        settings = {"PMIO_DIR": logs, "PMIO_REGISTRY": scratch}
        command = [mpi.mpiexec, "-n", "2", *mpi_processes.with_environment(settings, [mpi.runtime])]
        command += [options.build / "tests" / "mpi" / f"opens-{mpi.tag}", scratch, options.times]
        code, output = mpi_processes.run([str(word) for word in command], harness.environment(mpi), 1500)
        left = [path.name for path in logs.glob("job-*")]
    print(output.strip() or f"{options.times} files opened and closed")
    if left:
        print(f"left in the log directory: {left}")
    return 1 if code != 0 or left else 0


if __name__ == "__main__":
    sys.exit(main())
