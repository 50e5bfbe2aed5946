#!/usr/bin/env python3
"""What pmio does at the start of a program, by its system calls.

If the program opens no file, pmio leaves nothing and looks for nothing. If it opens one, no call waits for
long. The kernel waits for an RCU grace period, 3 to 30 ms, if a process of several threads makes its table of
descriptors grow or registers for membarrier(2). dlopen of a library that is not there searches all
directories.
"""

import re
import shutil
import subprocess

from pmiolab import checks, command_line, mpi_libraries, places

PROGRAM = """\
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  if (argc > 1) {
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write(file, "12345678", 8, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  }
  return MPI_Finalize();
}
"""
CALLS = "clone,clone3,fcntl,membarrier,mkdir,mkdirat,open,openat"
SMALLEST_TABLE = 64  # descriptors, with which every process begins


class Traced:
    """The system calls of one run, in their order."""

    def __init__(self, mpi, pmio, scratch, *words):
        self.logs, self.registry = scratch / "logs", scratch / "registry"
        for directory in (self.logs, self.registry):
            shutil.rmtree(directory, ignore_errors=True)
        trace = scratch / "trace"
        wrapper = ("strace", "-f", "-qq", "-o", trace, "-e", f"trace={CALLS}")
        command = [mpi.mpiexec, "-n", 1, pmio, "run", "--dir", self.logs, "--", *wrapper, scratch / "program", *words]
        env = {**mpi_libraries.environment(mpi), "PMIO_REGISTRY": str(self.registry), "PMIO_MODE": "log"}  # a small file is logged, too
        done = subprocess.run(
            [str(word) for word in command],
            cwd=scratch,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode != 0 and "ptrace" in done.stderr:
            checks.skip(f"strace may not trace: {done.stderr}")
        assert done.returncode == 0, done
        self.calls = trace.read_text(errors="replace").splitlines()

    def with_threads(self):
        """The calls since the process has more than one thread."""
        first = next((i for i, call in enumerate(self.calls) if "CLONE_THREAD" in call), len(self.calls))
        return self.calls[first:]

    def grow_table(self):
        asked = (
            (int(match[1]), call) for call in self.with_threads() if (match := re.search(r"F_DUPFD\w*, (\d+)", call))
        )
        return [call for least, call in asked if least >= SMALLEST_TABLE]


def check_no_file(mpi, pmio, scratch):
    run = Traced(mpi, pmio, scratch)
    assert not run.logs.exists() and not run.registry.exists(), "a job without files has left something"
    looked = [call for call in run.calls if str(run.logs) in call or str(run.registry) in call]
    assert not looked, f"a job without files needs no log directory: {looked}"
    shared = [call for call in run.calls if "/dev/shm/pmio-" in call]
    assert not shared, f"one process shares nothing with others: {shared}"


def check_one_file(mpi, pmio, scratch):
    run = Traced(mpi, pmio, scratch, scratch / "data")
    assert (scratch / "data").read_bytes() == b"12345678"
    assert any(str(run.logs) in call for call in run.calls), "nothing was logged"
    registers = [call for call in run.with_threads() if "MEMBARRIER_CMD_REGISTER" in call]
    assert not registers and not run.grow_table(), f"these wait for an RCU grace period: {registers} {run.grow_table()}"
    searched = [call for call in run.calls if re.search(r"lib(cuda|amdhip64|ze_loader|pmem2)\.so", call)]
    assert not searched, f"libraries that the program has not loaded are looked for: {searched}"


def main():
    build = command_line.parser(__doc__, mpi=False).parse_args().build
    if not shutil.which("strace"):
        checks.skip("there is no strace")
    if not places.pmio(build).exists():
        checks.skip("there is no pmio command")
    newest = {mpi.family: mpi for mpi in mpi_libraries.load(build) if mpi.family in ("mpich", "openmpi")}
    if not newest:
        checks.skip("there is no runtime library for MPICH or Open MPI")
    for mpi in newest.values():
        with places.temporary("start", places.memory()) as scratch:
            (scratch / "program.c").write_text(PROGRAM)
            subprocess.run([mpi.mpicc, "program.c", "-o", "program"], cwd=scratch, check=True)
            check_no_file(mpi, places.pmio(build), scratch)
            check_one_file(mpi, places.pmio(build), scratch)
        print(f"{mpi.tag}: as it should be")


if __name__ == "__main__":
    main()
