#!/usr/bin/env python3
"""The system calls that `pmio stats` counts for a file are those that strace sees, in every mode.

Writes and reads of the file are compared, by number and by bytes, in the job's totals and in the file's own
numbers.
"""

import json
import re
import shutil
import subprocess

from pmiolab import checks, command_line, mpi_libraries, places

PROGRAM = """\
#include <mpi.h>
#include <stdlib.h>
enum { RECORD = 1312, RECORDS = 400, LARGE = 3 << 20 };
int main(int argc, char** argv) {
  int rank, ranks;
  MPI_File file;
  MPI_Datatype type;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char* data = calloc(1, LARGE);
  const MPI_Offset behind = (MPI_Offset)RECORD * RECORDS * ranks;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  for (int i = 0; i < 20; i++)
    MPI_File_write_at(file, behind + 100 * (i * ranks + rank), data, 50, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, behind + 100000 + (MPI_Offset)rank * LARGE, data, LARGE, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Type_vector(RECORDS, RECORD, RECORD * ranks, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_File_set_view(file, (MPI_Offset)rank * RECORD, MPI_BYTE, type, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, data, RECORD * RECORDS / 2, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_write_all(file, data, RECORD * RECORDS / 2, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at_all(file, 0, data, RECORD * RECORDS, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, 100, data, RECORD * 3, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  MPI_File_close(&file);
  free(data);
  return MPI_Finalize();
}
"""
CALLS = "read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,pwritev2"
SIZES = ("1k", "1m", "large")


def traced(directory):
    """Number of writes and reads, and their bytes, that strace saw: {"write": (calls, bytes), "read": ...}."""
    seen = {"write": [0, 0], "read": [0, 0]}
    for trace in directory.glob("trace.*"):
        for line in trace.read_text(errors="replace").splitlines():
            call = re.match(r"p?(write|read)v?2?(?:64)?\(.* = (-?\d+)", line)
            if call:
                seen[call[1]][0] += 1
                seen[call[1]][1] += max(int(call[2]), 0)
    return {kind: tuple(numbers) for kind, numbers in seen.items()}


def counted(numbers):
    """The same from the numbers of pmio stats."""
    return {
        kind: (sum(numbers[f"target_{kind}s_{size}"] for size in SIZES), numbers[f"target_{kind}_bytes"])
        for kind in ("write", "read")
    }


def check_mode(pmio, mpi, scratch, mode):
    directory = scratch / mode
    directory.mkdir()
    data, logs = directory / "data", directory / "logs"
    data.touch()
    settings = {"PMIO_REGISTRY": str(scratch), "PMIO_LOG_SIZE": "4M"}
    strace = ["strace", "-ff", "-o", directory / "trace", "-e", f"trace={CALLS}", "-P", data]
    run = [pmio, "run", "--mode", mode, "--dir", logs, "--stats", "--", scratch / "program", data]
    done = subprocess.run(
        [str(word) for word in [mpi.mpiexec, "-n", 2, *strace, *run]],
        env={**mpi_libraries.environment(mpi), **settings},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode != 0 and "ptrace" in done.stderr:
        checks.skip("strace may not trace here")
    assert done.returncode == 0, done
    shown = subprocess.run([pmio, "stats", "--dir", logs], capture_output=True, text=True, check=True).stdout
    assert all(len(line) <= 80 for line in shown.splitlines()), shown
    told = json.loads(subprocess.run([pmio, "stats", "--dir", logs, "--json"], capture_output=True, check=True).stdout)
    [file] = told["files"]
    assert file["path"] == str(data) and file["engine"] == mode, file
    assert file["hints_wished"]["pmio_mode"] == file["hints"]["pmio_mode"] == mode, file
    assert (file["why"] if mode == "log" else file["reason"]) == f"pmio_mode={mode}", file
    check_calls(file["total"], mode)
    seen = traced(directory)
    assert seen["write"][0] > 0, seen
    assert seen == counted(told["total"]) == counted(file["total"]), (mode, seen, told["total"], file["total"])
    print(f"{mpi.tag} {mode}: {seen}")


def check_calls(total, mode):
    """What the program has called, and what the engine made of it. Two ranks."""
    made = [total[f"{way}_{kind}"] for kind in ("writes", "reads") for way in ("collective", "independent")]
    assert made == [6, 40, 2, 2], total
    written = 2 * (20 * 50 + (3 << 20) + 400 * 1312)
    assert total["written_bytes"] == written and total["read_bytes"] == 2 * 403 * 1312, total
    if mode == "twophase":
        assert total["exchanged_calls"] > 0 and total["windows"] > 0, total
    if mode != "log":
        assert total["read_modify_writes"] == 0 and total["logged_bytes"] == 0, total
        return
    assert total["logged_bytes"] + total["past_log_bytes"] == written, total


def main():
    options = command_line.parser(__doc__).parse_args()
    if shutil.which("strace") is None:
        checks.skip("no strace")
    mpi = mpi_libraries.choose(options.build, options.mpi)
    with places.temporary("system-calls", places.memory()) as directory:
        scratch = directory.resolve()
        (scratch / "program.c").write_text(PROGRAM)
        subprocess.run([mpi.mpicc, "program.c", "-o", "program"], cwd=scratch, check=True)
        for mode in ("log", "independent", "twophase"):
            check_mode(places.pmio(options.build), mpi, scratch, mode)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
