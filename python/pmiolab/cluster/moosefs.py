"""MooseFS: the master on the metadata host, a chunk server on each storage host, a FUSE client on each compute host.

One copy of each chunk: striping is of interest here, not redundancy. A chunk server or the master may be
killed while clients write; they go on when it is back. If both are killed at once, a chunk is lost: therefore
they share no host.
"""

from __future__ import annotations

from .host import DISK, PFS, on
from .settings import NETWORK, Settings
from .system import require_commands, run, wait_for

SERVERS = {"mfsmaster", "mfschunkserver"}
CHUNK_SERVER_PORT = 9420  # of the master, for its chunk servers

MASTER = """WORKING_USER = root
WORKING_GROUP = root
DATA_PATH = {disk}/master
EXPORTS_FILENAME = {disk}/mfsexports.cfg
"""
CHUNK_SERVER = """WORKING_USER = root
WORKING_GROUP = root
DATA_PATH = {disk}/chunkserver
HDD_CONF_FILENAME = {disk}/mfshdd.cfg
MASTER_HOST = {master}
"""


def check() -> None:
    """TestbedError if MooseFS is not installed."""
    require_commands(["mfsmaster", "mfschunkserver", "mfsmount"], "install MooseFS with scripts/setup")


def prepare(settings: Settings) -> None:
    """Empty disks with the servers' configuration."""
    master = settings.metadata[0]
    for host in settings.storage:
        disk = settings.disk(host)
        for folder in ["chunkserver", "chunks"]:
            (disk / folder).mkdir()
        (disk / "mfshdd.cfg").write_text(f"{DISK}/chunks\n")
        (disk / "mfschunkserver.cfg").write_text(CHUNK_SERVER.format(disk=DISK, master=master))
    disk = settings.disk(master)
    (disk / "master").mkdir()
    (disk / "master" / "metadata.mfs").write_text("MFSM NEW")  # an empty file system, as the package has it
    (disk / "mfsexports.cfg").write_text(f"{NETWORK}.0/24 / rw,alldirs,admin,maproot=0:0\n")
    (disk / "mfsmaster.cfg").write_text(MASTER.format(disk=DISK))


def start(settings: Settings, host: str) -> None:
    """Starts the host's servers, from what a crash has left if there was one."""
    if host in settings.metadata:
        on(settings, host, "mfsmaster", "-c", f"{DISK}/mfsmaster.cfg", "-a", "start")
    else:
        on(settings, host, "mfschunkserver", "-c", f"{DISK}/mfschunkserver.cfg", "start")


def ready(settings: Settings) -> None:
    """Returns when the master knows all chunk servers: before that there is no place for data."""
    master = settings.namespace(settings.metadata[0])
    words = ["ip", "netns", "exec", master, "ss", "-Htn", "state", "established", f"sport = :{CHUNK_SERVER_PORT}"]
    wait_for("MooseFS's chunk servers", lambda: len(run(*words).splitlines()) >= len(settings.storage), seconds=30)


def mount(settings: Settings, host: str) -> None:
    """On a compute host."""
    on(settings, host, "mfsmount", PFS, "-H", settings.metadata[0], *settings.mount_options)


def after_first_mount(settings: Settings) -> None:
    """What is set through a mount."""
    on(settings, settings.compute[0], "mfssetgoal", "1", PFS)
    on(settings, settings.compute[0], "mfssettrashtime", "0", PFS)  # a deleted file takes no room on the machine's disk
