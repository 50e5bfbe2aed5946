#!/usr/bin/env python3
"""What `pmio run --stats` and `pmio stats` tell is true.

Times are compared with the program's own clock, system calls with strace. Files that are not logged have a
reason, and killed jobs are shown as such.
"""

import json
import os
import re
import shutil
import subprocess

from pmiolab import command_line, mpi_libraries, places

PROGRAM = """\
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static MPI_File made(const char* name, int amode, MPI_Info info) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | amode, info, &file);
  return file;
}
static void write_all(int calls, int bytes) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* data = calloc(1, (size_t)bytes);
  MPI_File file = made("data", MPI_MODE_RDWR, MPI_INFO_NULL);
  double writing = 0, begin;
  for (int i = 0; i < calls; i++) {
    begin = MPI_Wtime();
    MPI_File_write_at(file, ((MPI_Offset)rank * calls + i) * bytes, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    writing += MPI_Wtime() - begin;
  }
  begin = MPI_Wtime();
  MPI_File_close(&file);
  printf("writing %.0f closing %.0f\\n", writing * 1e9, (MPI_Wtime() - begin) * 1e9);
  free(data);
}
static void write_together(int calls, int bytes) {
  char* data = calloc(1, (size_t)bytes);
  MPI_File file = made("data", MPI_MODE_RDWR, MPI_INFO_NULL);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < calls; i++)
    MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * bytes, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  free(data);
}
static void not_logged(void) {
  MPI_File files[4];
  MPI_Info off;
  MPI_Info_create(&off);
  MPI_Info_set(off, "pmio_mode", "off");
  files[0] = made("log.dat", MPI_MODE_WRONLY, MPI_INFO_NULL);
  files[1] = made("x.dat", MPI_MODE_WRONLY, MPI_INFO_NULL);
  MPI_File_set_atomicity(files[1], 1);
  files[2] = made("off.dat", MPI_MODE_WRONLY, off);
  files[3] = made("seq.dat", MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL);
  for (int i = 0; i < 4; i++) MPI_File_close(&files[i]);
  MPI_Info_free(&off);
}
int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, getenv("THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (strcmp(argv[1], "write") == 0) write_all(atoi(argv[2]), atoi(argv[3]));
  if (strcmp(argv[1], "together") == 0) write_together(atoi(argv[2]), atoi(argv[3]));
  if (strcmp(argv[1], "files") == 0) not_logged();
  if (strcmp(argv[1], "killed") == 0) {
    MPI_File file = made("data", MPI_MODE_RDWR, MPI_INFO_NULL);
    MPI_File_write(file, "data", 4, MPI_BYTE, MPI_STATUS_IGNORE);
    raise(SIGKILL);
  }
  if (strcmp(argv[1], "exit") == 0) {
    MPI_File file = made("data", MPI_MODE_RDWR, MPI_INFO_NULL);
    MPI_File_write(file, "data", 4, MPI_BYTE, MPI_STATUS_IGNORE);
    exit(0);
  }
  return MPI_Finalize();
}
"""


class Statistics:
    def __init__(self, build, scratch, mpi):
        self.pmio, self.mpi = places.pmio(build), mpi
        scratch.mkdir(exist_ok=True)
        self.scratch, self.logs = scratch, scratch / "logs"
        (scratch / "program.c").write_text(PROGRAM)
        subprocess.run([self.mpi.mpicc, "program.c", "-o", "program"], cwd=scratch, check=True)

    def run(self, *words, ranks=1, wrapper=(), logs=(), **settings):
        """Runs a job with a log directory of its own, or one of each rank; how it ended, and what it printed."""
        for old in (self.logs, *logs):
            shutil.rmtree(old, ignore_errors=True)
        # Small files are logged, too.
        own = {"PMIO_REGISTRY": str(self.scratch), "PMIO_MODE": "log"}
        env = {**mpi_libraries.environment(self.mpi), **own, **settings}
        parts = [(ranks, self.logs)] if not logs else [(1, own_logs) for own_logs in logs]
        command = [self.mpi.mpiexec]
        for part_ranks, part_logs in parts:
            command += [":"] if len(command) > 1 else []
            pmio = [self.pmio, "run", "--dir", part_logs, "--stats", "--"]
            command += ["-n", part_ranks, *wrapper, *pmio, self.scratch / "program", *words]
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.scratch,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        for line in done.stderr.splitlines():
            assert not line.startswith("pmio:") or str(self.scratch) in line or len(line) <= 80, f"too wide: {line}"
        return done

    def told(self, *words, logs=()):
        directories = [word for directory in logs or [self.logs] for word in ("--dir", directory)]
        done = subprocess.run(
            [self.pmio, "stats", *directories, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done
        return done.stdout


def check_times(statistics):
    """The times of calls that wait for room, of few calls, and of very many."""
    for calls, size, log, least in ((200, 1 << 20, "4M", 0.5), (20, 64, "4M", 0.2), (20000, 64, "64M", 0)):
        done = statistics.run("write", calls, size, PMIO_LOG_SIZE=log, PMIO_DIRECT_FROM="off")
        assert done.returncode == 0, done
        writing, closing = (int(number) for number in re.search(r"writing (\d+) closing (\d+)", done.stdout).groups())
        told = json.loads(statistics.told("--json"))
        to_log, to_file, total = told["time_to_log_ns"], told["time_to_file_ns"], told["total"]
        case = f"{calls} of {size}: writing {writing}, closing {closing}, told {to_log} and {to_file}"
        assert total["append_calls"] == calls and total["append_bytes"] == calls * size, case
        assert least * writing <= to_log <= 1.5 * writing + 1e6, case
        assert least * (writing + closing) <= to_file <= 1.5 * (writing + closing) + 1e6, case
        assert to_file <= told["wall_ns"], case
        if size == 1 << 20:
            assert 0 < told["wait_ns"] <= to_log and 0.5 < told["peak_fill"] <= 1, case
            assert told["drain_bytes_per_second"] > 0, case


def check_late_open(statistics):
    """A large write of one rank alone joins the job, which is part of its time."""
    done = statistics.run("write", 1, 1 << 20, PMIO_MODE="auto", PMIO_DIRECT_FROM="off")
    assert done.returncode == 0, done
    writing = int(re.search(r"writing (\d+)", done.stdout)[1])
    told = json.loads(statistics.told("--json"))
    total, to_log = told["total"], told["time_to_log_ns"]
    case = f"writing {writing}, told {to_log}: {total}"
    assert total["late_opens"] == 1 and 0 < total["late_open_ns"] < to_log, case
    assert total["append_ns"] + total["late_open_ns"] == to_log and total["append_calls"] == 1, case
    assert 0.5 * writing <= to_log <= writing, case


def check_straight(statistics):
    """Large pieces: past the log, timed exactly, and told to the user."""
    done = statistics.run("write", 100, 1 << 20)
    assert done.returncode == 0, done
    assert "100.0 MiB went straight to the files" in done.stderr, done.stderr
    writing = int(re.search(r"writing (\d+)", done.stdout)[1])
    told = json.loads(statistics.told("--json"))
    total, to_log = told["total"], told["time_to_log_ns"]
    assert (total["direct_calls"], total["direct_bytes"], total["append_calls"]) == (100, 100 << 20, 0), total
    assert 0.5 * writing <= to_log <= 1.5 * writing + 1e6, f"writing {writing}, told {to_log}"


def check_system_calls(statistics):
    trace, data = statistics.scratch / "trace", statistics.scratch / "data"
    data.touch()
    wrapper = ("strace", "-f", "-o", trace, "-e", "trace=write,pwrite64,pwritev,pwritev2", "-P", data)
    done = statistics.run("write", 50, 1 << 18, wrapper=wrapper, PMIO_LOG_SIZE="4M")
    if done.returncode != 0 and "ptrace" in done.stderr:
        return
    assert done.returncode == 0, done
    calls = [
        line
        for line in trace.read_text().splitlines()
        if re.search(r"write(64|v|v2)?\(|write(64|v|v2)? resumed", line) and "unfinished" not in line
    ]
    total = json.loads(statistics.told("--json"))["total"]
    counted = sum(total[f"target_writes_{size}"] for size in ("1k", "1m", "large"))
    assert counted == len(calls) > 0, f"{counted} counted, {len(calls)} traced"


def check_files(statistics):
    for settings, lines in (
        (
            {},
            [
                "pmio: 1 file logged, 3 not:",
                "pmio:   off.dat (pmio_mode=off)",
                "pmio:   seq.dat (MPI_MODE_SEQUENTIAL)",
                "pmio:   x.dat (atomic mode)",
            ],
        ),
        ({"PMIO_MODE": "off"}, ["pmio: 0 files logged, 4 not:", "pmio:   log.dat (PMIO_MODE=off)"]),
    ):
        done = statistics.run("files", ranks=2, **settings)
        assert done.returncode == 0 and all(f"{line}\n" in done.stderr for line in lines), done
    for settings in ({}, {"PMIO_MODE": "off"}):
        done = statistics.run("nothing", ranks=2, **settings)
        assert done.stderr == "pmio: no file was opened through MPI-IO\n", done


def check_jobs(statistics):
    statistics.run("killed")
    shown = statistics.told()
    assert "program, killed, 1 ranks" in shown and "pmio recover" in shown and os.uname().nodename in shown, shown
    assert "took" not in shown, shown  # nobody saw its end
    [job] = json.loads(statistics.told("--list", "--json"))["jobs"]
    assert job["state"] == "killed" and job["bytes_in_log"] == 4 and not job["ranks"], job
    assert " killed  program\n" in statistics.told("--list")
    subprocess.run(
        [statistics.pmio, "recover", "--dir", statistics.logs],
        env={**os.environ, "PMIO_REGISTRY": str(statistics.scratch)},
        check=True,
        capture_output=True,
    )
    assert "not there any more" in statistics.told()
    statistics.run("exit")
    [job] = json.loads(statistics.told("--list", "--json"))["jobs"]
    assert job["state"] == "ended" and job["wall_ns"] > 0 and job["total"]["append_bytes"] == 4, job


def check_directory(statistics):
    """Statistics in a directory of their own, which is made; in one that cannot be."""
    kept = statistics.scratch / "kept"
    for ranks in (1, 2):
        assert statistics.run("write", 1, 64, ranks=ranks, PMIO_STATS_DIR=str(kept)).returncode == 0
        [told, *_] = json.loads(statistics.told("--list", "--json", logs=[kept]))["jobs"]
        assert len(told["ranks"]) == ranks and told["state"] == "ended", told
    assert not list(statistics.logs.glob("stats-*"))
    statistics.run("killed", PMIO_STATS_DIR=str(kept))
    told = json.loads(statistics.told("--json", logs=[kept]))
    assert told["state"] == "killed" and told["bytes_in_log"] == 4, told  # which is in the log directory
    done = statistics.run("write", 1, 64, PMIO_STATS_DIR=str(kept / "none" / "none"))
    assert done.returncode == 0 and "statistics are not kept: pmio_stats_dir" in done.stderr, done


def check_nodes(statistics):
    """What the nodes of a job have kept is one job's, in one directory or in one of each."""
    nodes = mpi_libraries.TWO_NODES
    apart, kept = ([statistics.scratch / name for name in names] for names in (("log0", "log1"), ("one",)))
    for settings, directories in (({"PMIO_STATS_DIR": str(kept[0])}, kept), ({}, apart)):
        done = statistics.run("together", 100, 1000, logs=apart, **nodes, **settings)
        assert done.returncode == 0, done
        told = json.loads(statistics.told("--json", logs=directories))
        assert [rank["rank"] for rank in told["ranks"]] == [0, 1] and told["state"] == "ended", told
        assert {rank["job"] for rank in told["ranks"]} == {told["job"]}, told
        total = told["total"]
        assert total["append_calls"] == 200 and total["drain_bytes"] > 0 and total["drain_ns"] > 0, total
    # Independent writes, of a program whose threads may make calls at once, each rank in a window of its own.
    done = statistics.run("write", 128, 1 << 15, logs=apart, **nodes, PMIO_DIRECT_FROM="off", THREADS="1")
    assert done.returncode == 0, done
    total = json.loads(statistics.told("--json", logs=apart))["total"]
    assert (total["append_calls"], total["direct_calls"]) == (256, 0), total
    told = json.loads(statistics.told("--json", logs=apart[1:]))
    assert [rank["rank"] for rank in told["ranks"]] == [1] and told["state"] == "1 of 2 ranks", told


def main():
    build = command_line.parser(__doc__, mpi=False).parse_args().build
    with places.temporary("statistics", places.memory()) as directory:
        statistics = Statistics(build, directory.resolve(), mpi_libraries.choose(build, None))
        check_times(statistics)
        check_late_open(statistics)
        check_straight(statistics)
        check_files(statistics)
        check_jobs(statistics)
        check_directory(statistics)
        for mpi in mpi_libraries.load(build):
            if mpi.tag.startswith("mpich-5"):  # which can be told that a host is two
                check_nodes(Statistics(build, directory.resolve() / "nodes", mpi))
        if shutil.which("strace"):
            check_system_calls(statistics)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
