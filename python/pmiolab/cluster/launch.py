"""The words that start an MPI job across the hosts, from the login host, by each library's own launcher."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .. import mpi_libraries, places
from ..mpi_libraries import Mpi
from .host import FOLDER, TEMPORARY
from .settings import Settings
from .system import TestbedError

REMOTE_SHELL = FOLDER / "rsh"


def choose_mpi(build: Path, tag: str | None) -> Mpi:
    """The MPI of that tag; the newest MPICH without one. TestbedError if the build has no such MPI."""
    try:
        mpis = {mpi.tag: mpi for mpi in mpi_libraries.load(build)}
    except FileNotFoundError:
        raise TestbedError(f"{build} is no build of pmio; build one (scripts/build), or name one by --build") from None
    tag = tag or max((known for known in mpis if known.startswith("mpich-")), default="")
    if tag not in mpis:
        raise TestbedError(f"no MPI {tag}; {build} has {' '.join(mpis) or 'none'}")
    if tag.startswith("mpich-4.0."):
        raise TestbedError(f"{tag} cannot: across hosts it hangs in MPI_Finalize; take another --mpi")
    return mpis[tag]


def quiet(build: Path, command: list) -> list:
    """The command with its MPI library's polling turned into short sleeps."""
    library = places.yielding(build.resolve())
    if not library.exists():
        raise TestbedError(f"{library} is missing; build it (scripts/build release pmio_yield), or add --spin")
    return ["env", f"LD_PRELOAD={library}", *command]


def mpiexec(mpi: Mpi, hosts: list[str], ranks: int, ranks_per_host: int, command: list) -> list:
    """By the library's own launcher. The first host is filled first."""
    words = open_mpi(mpi, hosts, ranks_per_host) if mpi.family == "openmpi" else hydra(hosts, ranks_per_host)
    return [mpi.mpiexec, *words, "-n", str(ranks), *command]


def srun(mpi: Mpi, hosts: list[str], ranks: int, ranks_per_host: int, command: list) -> list:
    """By Slurm."""
    kind = "pmix" if mpi.family == "openmpi" else "pmi2"
    words = [
        "srun",
        f"--mpi={kind}",
        "--nodelist",
        ",".join(hosts),
        "--ntasks",
        ranks,
        "--ntasks-per-node",
        ranks_per_host,
    ]
    return [*words, "--kill-on-bad-exit=1", "--quiet", *command]


def hydra(hosts: list[str], ranks_per_host: int) -> list:
    """The options of the launcher of MPICH and of Intel MPI."""
    words = ["-launcher", "ssh", "-launcher-exec", REMOTE_SHELL, "-iface", "eth0"]
    return [*words, "-hosts", ",".join(hosts), "-ppn", ranks_per_host, "-genv", "TMPDIR", TEMPORARY]


def open_mpi(mpi: Mpi, hosts: list[str], ranks_per_host: int) -> list:
    """The options of Open MPI's launcher."""
    if mpi.tag.startswith("openmpi-4"):
        words = ["--mca", "plm_rsh_agent", REMOTE_SHELL, "--mca", "plm_rsh_no_tree_spawn", "1"]
        words += ["--mca", "oob_tcp_if_include", "eth0"]
    else:
        words = ["--prtemca", "plm_ssh_agent", REMOTE_SHELL, "--prtemca", "plm_ssh_no_tree_spawn", "1"]
        words += ["--prtemca", "prte_if_include", "eth0"]
    return [*words, "--bind-to", "none", "--host", ",".join(f"{host}:{ranks_per_host}" for host in hosts)]


def environment(settings: Settings, mpi: Mpi) -> dict[str, str]:
    """Of the launcher."""
    env = {**os.environ, "PMIO_TESTBED": settings.name}
    if mpi.family == "openmpi":
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        env.update(OMPI_MCA_pml="ob1", OMPI_MCA_btl_tcp_if_include="eth0", OMPI_MCA_mpi_yield_when_idle="1")
        env.update(OMPI_MCA_btl_vader_single_copy_mechanism="none")
        # Each launcher has its own: a killed one leaves sockets behind. `down` removes it.
        env["TMPDIR"] = tempfile.mkdtemp(prefix="tmp-", dir=settings.directory)
    elif mpi.tag.startswith("intel-"):
        env.update(
            I_MPI_FABRICS="shm:ofi",
            FI_PROVIDER="tcp",
            FI_TCP_IFACE="eth0",
            I_MPI_THREAD_YIELD="3",
            I_MPI_THREAD_SLEEP="100",
        )
    return env
