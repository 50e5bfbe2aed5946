#!/usr/bin/env python3
"""`pmio run` takes the runtime library of a program's own MPI; for an interpreter, that of the launcher's MPI."""

import argparse
import subprocess
import tempfile
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  puts(getenv("LD_PRELOAD"));
  return MPI_Finalize();
}
"""
SCRIPT = 'echo "$LD_PRELOAD"'


def preloaded(mpi, program, pmio, directory):
    """What a program says of its own LD_PRELOAD; the complaint where it fails."""
    run = harness.run(mpi, 1, program, directory=directory, pmio=pmio, timeout=60)
    return run.output.strip() if run.passed else f"{run.verdict}: {run.output.strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    options = parser.parse_args()
    mpis = harness.load_mpis(options.build.resolve())
    if not mpis:
        harness.skip("no runtime library is built")
    pmio, wrong = options.build.resolve() / "bin" / "pmio", []
    with tempfile.TemporaryDirectory(prefix="pmio-choose-") as scratch:
        source = Path(scratch) / "preloaded.c"
        source.write_text(PROGRAM)
        for mpi in mpis:
            program = str(Path(scratch) / mpi.tag)
            subprocess.run([mpi.mpicc, str(source), "-o", program], check=True)
            # No launcher is of the ABI: it starts programs of its MPI's own handles.
            by_launcher = next(other for other in mpis if other.mpiexec == mpi.mpiexec and other.family != "abi")
            for words, expected in (([program], mpi), (["sh", "-c", SCRIPT], by_launcher)):
                found = preloaded(mpi, words, pmio, scratch)
                print(f"{mpi.tag}, {Path(words[0]).name}: {Path(found).name}")
                wrong += [] if Path(found.split(":")[0]).name == expected.runtime.name else [(mpi.tag, words[0], found)]
    for complaint in wrong:
        print("wrong:", *complaint)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
