"""Runs MPI programs plain and under pmio, for the MPIs that a build directory serves.

A program passes when it exits with 0 in time. Plain means: nothing preloaded. Each run gets a log directory of its own,
which must be empty of jobs afterwards: a program that ends well leaves nothing behind.
"""

import atexit
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

SKIPPED = 77  # what CTest is told to take as "skipped"


@dataclass(frozen=True)
class Mpi:
    tag: str
    family: str
    mpicc: str
    mpiexec: str
    runtime: Path


@dataclass
class Run:
    code: int
    output: str
    timed_out: bool
    leftovers: list
    logged_bytes: int = 0  # what went through the log, where statistics were asked for

    @property
    def passed(self):
        return self.code == 0 and not self.timed_out

    @property
    def verdict(self):
        if self.timed_out:
            return "timeout"
        if self.code != 0:
            return f"exit {self.code}"
        return "leftovers" if self.leftovers else "pass"


def load_mpis(build):
    """The MPIs that have a runtime library in the build directory."""
    library_directory = Path(build) / "lib"
    entries = json.loads((library_directory / "pmio-mpi.json").read_text())
    mpis = [
        Mpi(e["tag"], e["family"], e["mpicc"], e["mpiexec"], library_directory / e["runtime"])
        for e in entries
    ]
    return [mpi for mpi in mpis if mpi.runtime.exists()]


def choose_mpi(build, tag):
    """The MPI of that tag, or the first one there is; ends as skipped where there is none."""
    mpis = [mpi for mpi in load_mpis(build) if tag in (None, mpi.tag)]
    if not mpis:
        skip(f"no runtime library for {tag or 'any MPI'} in {build}")
    return mpis[0]


@functools.cache
def launchers_directory():
    """Of this process, gone when it ends. The path is short: that of a socket must not exceed 107 bytes."""
    directory = tempfile.TemporaryDirectory(prefix="omp-", dir="/tmp")
    atexit.register(directory.cleanup)
    os.chmod(directory.name, 0o711)
    return directory.name


def launcher_directory():
    directory = tempfile.mkdtemp(prefix="", dir=launchers_directory())
    os.chmod(directory, 0o1777)  # a test may start the job as another user
    return directory


def environment(mpi):
    env = dict(os.environ)
    for name in [name for name in env if name.startswith("PMIO_")]:
        del env[name]
    if mpi.family == "openmpi":
        # More ranks than cores, which then must not spin; through the environment, for 4.1 and 5 name the options differently.
        env.update(
            OMPI_MCA_rmaps_base_oversubscribe="1",
            OMPI_MCA_mpi_yield_when_idle="1",
            PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
            OMPI_MCA_btl_vader_single_copy_mechanism="none",
            # What one node needs: Open MPI 5 looks for fabrics, and sleeps a second, at every start.
            OMPI_MCA_pml="ob1",
            OMPI_MCA_btl="^ofi",
            OMPI_MCA_mtl="^ofi",
            OMPI_MCA_osc="^ucx",
        )
        # A launcher's own: one that was killed leaves sockets at which a later one with the same process id stumbles.
        env["TMPDIR"] = launcher_directory()
        if os.geteuid() == 0:
            env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return env


def memory():
    """A directory in memory, or None for the default."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def run(mpi, ranks, program, *, directory, pmio=None, timeout=120, statistics=False, preload=(), wrapper=(),
        chosen=None, settings=None):
    """Runs program (a list of words) on ranks ranks in directory; under pmio where its path is given.

    preload: libraries that the ranks have beside pmio's. wrapper: words before `pmio run`. chosen: what --mpi names.
    settings: the environment of the launcher has them, and PMIO_DIR and PMIO_STATS as pmio's options would set them.
    """
    logs = tempfile.mkdtemp(prefix="pmio-programs-", dir=memory())
    command = [mpi.mpiexec, "-n", str(ranks)]
    if preload:
        command += ["env", "LD_PRELOAD=" + ":".join(map(str, preload))]
    command += wrapper
    if pmio:
        command += [str(pmio), "run", "--dir", logs, *(["--stats"] if statistics else [])]
        command += [*(["--mpi", chosen.tag] if chosen else []), "--"]
    try:
        env = environment(mpi)
        if settings is not None:
            env.update(settings, PMIO_DIR=logs, PMIO_STATS="1" if statistics else "0")
        result = _start(command + program, directory, env, timeout)
        result.leftovers = sorted(path.name for path in Path(logs).glob("job-*"))
        result.logged_bytes = _logged_bytes(Path(logs))
        return result
    finally:
        shutil.rmtree(logs, ignore_errors=True)


def _logged_bytes(logs):
    files = logs.glob("stats-*/rank-*.json")
    return sum(json.loads(path.read_text())["counters"]["append_bytes"] for path in files)


def _start(command, directory, env, timeout):
    # A session of its own, so that a time-out ends the launcher and every rank, and nothing else.
    process = subprocess.Popen(
        command, cwd=directory, env=env, text=True, errors="replace", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    timed_out = False
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGTERM)  # the launcher takes its ranks with it
        try:
            output, _ = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    return Run(process.returncode, output, timed_out, leftovers=[])


def print_table(header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())


def _client_record(build, client, mpi):
    return Path(build) / "tests" / "clients" / f"{client}.{mpi.tag}.json"


def record_client(build, client, mpi, results):
    """Leaves for clients_page.py what became of a client's cases: {case: "identical", "equal" or what else}."""
    record = _client_record(build, client, mpi)
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps(results, indent=1))


def read_client(build, client, mpi):
    """What record_client left; empty where it did not."""
    record = _client_record(build, client, mpi)
    return json.loads(record.read_text()) if record.exists() else {}


def skip(reason):
    print(f"skipped: {reason}")
    raise SystemExit(SKIPPED)
