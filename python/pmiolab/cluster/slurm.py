"""Slurm on the hosts: its controller on the login host, a node daemon on each compute host.

One munged makes everybody's credentials. All hosts see its socket, as they see the directory of the testbed.
"""

from __future__ import annotations

import os

from .host import DISK, TEMPORARY, enter, on
from .settings import LOGIN, Settings
from .system import TestbedError, require_commands, run, wait_for

CONFIGURATION = """ClusterName={name}
SlurmctldHost={login}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
StateSaveLocation={place}/state
SlurmctldPidFile={place}/slurmctld.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdPidFile=/run/slurmd.pid
SlurmdLogFile={disk}/slurmd.log
SlurmdSpoolDir={disk}/slurmd
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=5
{scripts}
NodeName={nodes} CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def check() -> None:
    """TestbedError if Slurm is not installed."""
    require_commands(["slurmctld", "slurmd", "srun", "munged"], "install Slurm with testbed/setup-slurm")


def start(settings: Settings, prolog: str | None, epilog: str | None) -> None:
    """Returns when all nodes take jobs. prolog, epilog: scripts that a node runs before and after each job, or None."""
    check()
    file = settings.slurm_configuration
    place = file.parent
    try:
        (place / "state").mkdir(parents=True)
    except FileExistsError:
        raise TestbedError(f"Slurm is running in testbed {settings.name} already") from None
    key = place / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    kinds = {"Prolog": prolog, "Epilog": epilog}
    scripts = "\n".join(f"{kind}={os.path.abspath(script)}" for kind, script in kinds.items() if script)
    nodes = ",".join(settings.compute)
    values = {"name": settings.name, "login": LOGIN, "place": place, "disk": DISK, "scripts": scripts, "nodes": nodes}
    file.write_text(CONFIGURATION.format(**values))
    (place / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # none is used, but slurmd wants to know
    (place / "mpi.conf").write_text(f"PMIxCliTmpDirBase={TEMPORARY}\n")
    daemon = ["munged", "--key-file", key, "--socket", place / "munge.socket", "--pid-file", place / "munged.pid"]
    daemon += ["--seed-file", place / "munged.seed", "--log-file", place / "munged.log", "--force"]
    run(*enter(settings, LOGIN, daemon))
    run(*enter(settings, LOGIN, ["slurmctld", "-f", file]))
    for name in settings.compute:
        (settings.disk(name) / "slurmd").mkdir(exist_ok=True)
        on(settings, name, "slurmd", "-N", name, "-f", file)
    wait_for("Slurm's nodes", lambda: idle(settings) == len(settings.compute), seconds=60)


def idle(settings: Settings) -> int:
    """How many nodes wait for work."""
    try:
        names = run(*enter(settings, LOGIN, ["sinfo", "--noheader", "--Node", "--states", "idle", "--format", "%N"]))
        return len(names.split())
    except TestbedError:
        return 0  # the controller is not there yet


def check_running(settings: Settings) -> None:
    """TestbedError if Slurm was not started."""
    if not settings.slurm_configuration.exists():
        raise TestbedError(f"Slurm is not running in testbed {settings.name}; start it with testbed/testbed slurm")
