"""The MPIs that a build directory serves, and the environment in which their launchers start jobs on this machine."""

from __future__ import annotations

import atexit
import functools
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import checks

# Settings by which MPICH 5 takes this host for two nodes, its ranks in turn, and pmio logs across them.
TWO_NODES = {"MPIR_CVAR_NUM_CLIQUES": "2", "PMIO_ACROSS_NODES": "on"}


@dataclass(frozen=True)
class Mpi:
    """One MPI library; the paths are absolute if the build directory's is."""

    tag: str  # as mpich-5.0.2
    family: str  # mpich, openmpi or abi
    mpicc: str
    mpiexec: str
    runtime: Path  # pmio's runtime library for it


def load(build: Path | str) -> list[Mpi]:
    """The MPIs that have a runtime library in the build directory. FileNotFoundError if it is no build of pmio."""
    libraries = Path(build) / "lib"
    entries = json.loads((libraries / "pmio-mpi.json").read_text())
    mpis = [Mpi(e["tag"], e["family"], e["mpicc"], e["mpiexec"], libraries / e["runtime"]) for e in entries]
    return [mpi for mpi in mpis if mpi.runtime.exists()]


def _first(mpis: list[Mpi], wanted: str) -> Mpi:
    if not mpis:
        checks.skip(f"no runtime library for {wanted}")
    return mpis[0]


def choose(build: Path | str, tag: str | None) -> Mpi:
    """The MPI of that tag, the first one without a tag; ends the script as skipped if there is none."""
    return _first([mpi for mpi in load(build) if tag in (None, mpi.tag)], f"{tag or 'any MPI'} in {build}")


def choose_of_distribution(build: Path | str, program: str) -> Mpi:
    """The Open MPI that the distribution builds such a program with; ends the script as skipped if there is none."""
    mpis = [mpi for mpi in load(build) if mpi.tag.startswith("openmpi-4")]
    return _first(mpis, f"the Open MPI that {program} is built with")


@functools.cache
def _launchers_directory() -> str:
    """One for this process, gone when it ends. Its path is short: a socket's path has at most 107 bytes."""
    directory = tempfile.TemporaryDirectory(prefix="omp-", dir="/tmp")
    atexit.register(directory.cleanup)
    os.chmod(directory.name, 0o711)
    return directory.name


def _launcher_directory() -> str:
    directory = tempfile.mkdtemp(prefix="", dir=_launchers_directory())
    os.chmod(directory, 0o1777)  # a test may start the job as another user
    return directory


def environment(mpi: Mpi) -> dict[str, str]:
    """This process's environment without pmio's settings, and with what the launcher needs; anew for each launcher."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PMIO_")}
    if mpi.family == "openmpi":
        # There are more ranks than cores, so ranks must not spin. The options of 4.1 and 5 have different
        # names, these have not.
        env.update(
            OMPI_MCA_rmaps_base_oversubscribe="1",
            OMPI_MCA_mpi_yield_when_idle="1",
            PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
            OMPI_MCA_btl_vader_single_copy_mechanism="none",
            # What one node needs: otherwise Open MPI 5 looks for fabrics, and sleeps a second, at every start.
            OMPI_MCA_pml="ob1",
            OMPI_MCA_btl="^ofi",
            OMPI_MCA_mtl="^ofi",
            OMPI_MCA_osc="^ucx",
        )
        # Each launcher has its own: a killed one leaves sockets that break a later one with the same process id.
        env["TMPDIR"] = _launcher_directory()
        if os.geteuid() == 0:
            env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return env
