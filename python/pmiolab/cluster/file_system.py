"""The parallel file system of a testbed. A module per kind has check, prepare, start, ready, mount, after_first_mount, SERVERS."""

import os
import signal
from pathlib import Path

from . import ceph, moosefs
from .host import processes
from .system import TestbedError, wait_for

KINDS = {"moosefs": moosefs, "ceph": ceph}


def check(kind):
    if kind in KINDS:
        KINDS[kind].check()


def start_all(settings):
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


def host_is_back(settings, host):
    """What a host that was booted again has of the file system."""
    if settings.file_system == "none":
        return
    action = KINDS[settings.file_system].mount if host in settings.compute else start
    action(settings, host)


def start(settings, host):
    if servers(settings, host):
        raise TestbedError(f"{host}: its servers are running; stop them with testbed/testbed fs-kill {host}")
    KINDS[settings.file_system].start(settings, host)


def kill(settings, host):
    for number in servers(settings, host):
        os.kill(number, signal.SIGKILL)
    wait_for(f"the end of the servers of {host}", lambda: not servers(settings, host))


def servers(settings, host):
    """The processes of the file system's servers on that host."""
    found = []
    for number in processes(settings.namespace(host)):
        try:
            if Path(f"/proc/{number}/comm").read_text().strip() in KINDS[settings.file_system].SERVERS:
                found.append(number)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return found
