"""CephFS: all but the OSDs on the metadata host, an OSD on each storage host, ceph-fuse on each compute host.

One copy of each object and no authentication: striping is of interest here. A directory's stripes are set by
setfattr -n ceph.dir.layout -v "stripe_unit=1048576 stripe_count=3 object_size=4194304" DIRECTORY
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from .host import DISK, PFS, on
from .settings import NETWORK, Settings
from .system import require_commands, wait_for

SERVERS = {"ceph-mon", "ceph-mgr", "ceph-mds", "ceph-osd"}
# Without a page cache in the client's kernel, another client reads what was written last.
CONFIGURATION = """[global]
fsid = {fsid}
mon host = {monitor}
mon initial members = {metadata}
public network = {network}.0/24
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon warn on pool no redundancy = false
mon data avail warn = 2
mon data avail crit = 1
mon cluster log to file = false
mgr initial modules =
osd objectstore = bluestore
osd memory target = 1073741824
bluestore block size = {osd_bytes}
fuse disable pagecache = true
mon data = {disk}/mon
mgr data = {disk}/mgr
mds data = {disk}/mds
osd data = {disk}/osd
crash dir = {disk}/crash
log file = {disk}/$name.log
run dir = /run
admin socket = /run/$name.$pid.asok
pid file = /run/$name.pid
"""
OSD_BYTES = 6 << 30  # of a sparse file


def check() -> None:
    """TestbedError if Ceph is not installed."""
    require_commands(
        ["ceph-mon", "ceph-mgr", "ceph-mds", "ceph-osd", "ceph-fuse", "ceph"], "install Ceph with testbed/setup-ceph"
    )


def configuration(settings: Settings) -> Path:
    """The file that all of Ceph reads."""
    return settings.directory / "ceph.conf"


def run_ceph(settings: Settings, *words: object) -> str:
    """The output of Ceph's command."""
    return on(settings, settings.metadata[0], "ceph", "-c", configuration(settings), *words)


def daemon(settings: Settings, host: str, kind: str, identity: object, *words: object) -> None:
    """Runs ceph-<kind> on the host."""
    on(settings, host, f"ceph-{kind}", "-c", configuration(settings), "-i", identity, *words)


def prepare(settings: Settings) -> None:
    """The configuration, and the monitor's disk."""
    (metadata,) = settings.metadata
    address, fsid = settings.address(metadata), str(uuid.uuid4())
    monitor = f"[v2:{address}:3300,v1:{address}:6789]"
    values = {
        "fsid": fsid,
        "monitor": monitor,
        "metadata": metadata,
        "network": NETWORK,
        "disk": DISK,
        "osd_bytes": OSD_BYTES,
    }
    configuration(settings).write_text(CONFIGURATION.format(**values))
    for folder in ["mon", "mgr", "mds"]:
        (settings.disk(metadata) / folder).mkdir()
    on(settings, metadata, "monmaptool", "--create", "--fsid", fsid, "--addv", metadata, monitor, f"{DISK}/monmap")
    daemon(settings, metadata, "mon", metadata, "--mkfs", "--monmap", f"{DISK}/monmap")


def start(settings: Settings, host: str) -> None:
    """Starts the host's servers; a storage host's first start makes its OSD."""
    if host in settings.metadata:
        for kind in ["mon", "mgr", "mds"]:
            daemon(settings, host, kind, host)
        return
    identity = settings.storage.index(host)
    if not (settings.disk(host) / "osd").exists():
        make_osd(settings, host, identity)
    daemon(settings, host, "osd", identity)


def make_osd(settings: Settings, host: str, identity: int) -> None:
    """Makes an empty OSD on the host's disk."""
    (settings.disk(host) / "osd").mkdir()
    name = str(uuid.uuid4())
    run_ceph(settings, "osd", "new", name, identity)
    daemon(settings, host, "osd", identity, "--mkfs", "--osd-uuid", name)


def ready(settings: Settings) -> None:
    """Makes the file system when the OSDs are there; returns when it is served."""
    wait_for(
        "Ceph's OSDs",
        lambda: json.loads(run_ceph(settings, "osd", "stat", "-f", "json"))["num_up_osds"] == len(settings.storage),
        60,
    )
    run_ceph(settings, "osd", "pool", "create", "metadata", "8")
    run_ceph(settings, "osd", "pool", "create", "data", "32")
    run_ceph(settings, "fs", "new", "pfs", "metadata", "data")
    wait_for("Ceph's metadata server", lambda: "up:active" in run_ceph(settings, "mds", "stat"), 60)


def mount(settings: Settings, host: str) -> None:
    """On a compute host."""
    on(settings, host, "ceph-fuse", "-c", configuration(settings), PFS, *settings.mount_options)


def after_first_mount(settings: Settings) -> None:
    """What is set through a mount."""
    on(settings, settings.compute[0], "chmod", "1777", PFS)
