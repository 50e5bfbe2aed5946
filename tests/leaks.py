#!/usr/bin/env python3
"""Opens and closes many files (tests/mpi/opens.c): descriptors, mappings, threads and files of the log must not grow.

  leaks.py --mpi mpich-5.0.2 --times 10000
"""

import sys
from pathlib import Path

from pmiolab import checks, command_line, mpi_jobs, mpi_libraries, places


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--times", type=int, default=10000)
    options = parser.parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    if not Path("/dev/shm").is_dir():
        return checks.SKIPPED
    with places.temporary("leaks", "/dev/shm") as scratch:
        logs = scratch / "logs"
        logs.mkdir(mode=0o700)
        settings = {"PMIO_DIR": logs, "PMIO_REGISTRY": scratch}
        program = [places.test_program(options.build, "opens", mpi), scratch, options.times]
        code, output = mpi_jobs.run(mpi, 2, program, settings=settings, preload=[mpi.runtime], timeout=1500)
        left = [path.name for path in logs.glob("job-*")]
    print(output.strip() or f"{options.times} files opened and closed")
    if left:
        print(f"left in the log directory: {left}")
    return 1 if code != 0 or left else 0


if __name__ == "__main__":
    sys.exit(main())
