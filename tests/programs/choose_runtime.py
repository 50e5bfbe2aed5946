#!/usr/bin/env python3
"""`pmio run` takes the runtime library of a program's own MPI; for an interpreter, that of the launcher's MPI.

A program behind a shell is logged by its own MPI's too, whatever was taken for the shell: with the arguments, the open
files and the other preloaded libraries that it would have had.
"""

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
#include <unistd.h>
int main(int argc, char** argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write(file, "data", 4, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  printf("%s", getenv("LD_PRELOAD"));
  for (int i = 0; i < argc; ++i) printf("|%s", argv[i]);
  char input[5] = "";
  if (argc > 2 && read(STDIN_FILENO, input, 4) > 0) printf("|%s", input);
  puts("");
  return MPI_Finalize();
}
"""
BEHIND_SHELL = "PATH=.:$PATH; {name} 'a b' '' --again <input; exit $?"
ARGUMENTS = ["a b", "", "--again", "read"]  # and what it reads


class Chooser:
    def __init__(self, build, scratch):
        self.mpis = harness.load_mpis(build)
        self.pmio = build / "bin" / "pmio"
        self.other = build / "lib" / "libpmio_yield.so"
        self.scratch = Path(scratch)
        (self.scratch / "input").write_text("read")
        for mpi in self.mpis:
            self.compile(mpi)

    def compile(self, mpi):
        source = self.scratch / "program.c"
        source.write_text(PROGRAM)
        subprocess.run([mpi.mpicc, str(source), "-o", str(self.scratch / mpi.tag)], check=True)

    def run(self, mpi, words, **more):
        return harness.run(mpi, 1, words, directory=self.scratch, pmio=self.pmio, timeout=60, **more)

    def launchers_own(self, mpi):
        """No launcher is of the ABI: it starts programs of its MPI's own handles, which None may serve."""
        own = (other for other in self.mpis if other.mpiexec == mpi.mpiexec and other.family != "abi")
        return next(own, None)

    def of_each_family(self, mpi):
        """Nobody's choice, then one of each other family."""
        families = {other.family: other for other in self.mpis if other.family != mpi.family}
        return [None, *families.values()]

    def complaints(self, mpi):
        if own := self.launchers_own(mpi):
            shell = self.run(mpi, ["sh", "-c", 'echo "$LD_PRELOAD"'])
            yield from differs(mpi, "a shell", shell, str(own.runtime))
        told = self.run(mpi, ["sh", "-c", 'echo "$PMIO_STATS $PMIO_MODE"'], wrapper=["env", "PMIO_STATS=1", "PMIO_MODE=log"])
        yield from differs(mpi, "with settings in the environment", told, "1 log")
        alone = self.run(mpi, [f"./{mpi.tag}", "argument"])
        yield from differs(mpi, "alone", alone, f"{mpi.runtime}|./{mpi.tag}|argument", logged=4)
        for chosen in self.of_each_family(mpi):
            run = self.run(mpi, ["sh", "-c", BEHIND_SHELL.format(name=mpi.tag)], chosen=chosen, preload=[self.other])
            expected = "|".join([f"{self.other}:{mpi.runtime}", mpi.tag, *ARGUMENTS])
            where = f"behind a shell that has {chosen.tag if chosen else 'what was found'}"
            yield from differs(mpi, where, run, expected, logged=4)


def differs(mpi, where, run, expected, logged=0):
    found = run.output.strip()
    wrong = run.verdict != "pass" or found != expected or run.logged_bytes != logged
    print(f"{mpi.tag}, {where}: {'wrong' if wrong else 'as expected'}")
    if wrong:
        yield f"{mpi.tag}, {where}: {run.verdict}, {run.logged_bytes} bytes logged, {found}\n  instead of {expected}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pmio-choose-") as scratch:
        chooser = Chooser(options.build.resolve(), scratch)
        if not chooser.mpis:
            harness.skip("no runtime library is built")
        wrong = [complaint for mpi in chooser.mpis for complaint in chooser.complaints(mpi)]
    for complaint in wrong:
        print(complaint)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
