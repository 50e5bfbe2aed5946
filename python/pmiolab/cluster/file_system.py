"""The parallel file system of a testbed.

A module per kind has check, prepare, start, ready, mount, after_first_mount, SERVERS.
"""

from __future__ import annotations

from pathlib import Path

from ..process_table import kill as kill_processes
from . import ceph, moosefs
from .host import processes
from .settings import Settings
from .system import TestbedError, wait_for

KINDS = {"moosefs": moosefs, "ceph": ceph}


def check(kind: str) -> None:
    """TestbedError if the file system is not installed."""
    if kind in KINDS:
        KINDS[kind].check()


def start_all(settings: Settings) -> None:
    """Makes the file system, and mounts it on the compute hosts."""
    if settings.file_system == "none":
        return
    kind = KINDS[settings.file_system]
    kind.prepare(settings)
    for host in settings.servers:
        kind.start(settings, host)
    kind.ready(settings)
    for host in settings.compute:
        kind.mount(settings, host)
    kind.after_first_mount(settings)


def host_is_back(settings: Settings, host: str) -> None:
    """Starts the servers, or mounts the file system, on a host that was booted again."""
    if settings.file_system == "none":
        return
    action = KINDS[settings.file_system].mount if host in settings.compute else start
    action(settings, host)


def start(settings: Settings, host: str) -> None:
    """Starts the servers of a host. TestbedError if they are running."""
    if servers(settings, host):
        raise TestbedError(f"{host}: its servers are running; stop them with testbed/testbed fs-kill {host}")
    KINDS[settings.file_system].start(settings, host)


def kill(settings: Settings, host: str) -> None:
    """Kills the servers of a host; returns when they have ended."""
    kill_processes(servers(settings, host))
    wait_for(f"the end of the servers of {host}", lambda: not servers(settings, host))


def servers(settings: Settings, host: str) -> list[int]:
    """The processes of the file system's servers on that host."""
    found = []
    for number in processes(settings.namespace(host)):
        try:
            if Path(f"/proc/{number}/comm").read_text().strip() in KINDS[settings.file_system].SERVERS:
                found.append(number)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return found
