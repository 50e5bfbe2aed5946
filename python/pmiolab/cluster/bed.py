"""The testbed as a whole: up, down, and what it looks like."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator

from . import file_system, host, network
from .settings import PLACE, Settings
from .system import TestbedError, require_commands, run, wait_for


def require_root() -> None:
    """TestbedError if this process is not root's."""
    if os.geteuid() != 0:
        raise TestbedError("namespaces need root; run it as root")


def check(kind: str, local_size: str = "") -> None:
    """TestbedError with the reason if there can be no testbed here."""
    require_root()
    require_commands(
        ["ip", "tc", "ss", "nsenter", "unshare", "losetup"], "install iproute2 and util-linux with scripts/setup"
    )
    try:
        run("unshare", "--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt")
    except TestbedError as error:
        raise TestbedError(
            f"no namespaces or mounts are allowed here ({error}); a container needs --privileged"
        ) from None
    if kind != "none" and not os.path.exists("/dev/fuse"):
        raise TestbedError("there is no /dev/fuse, which the file system's clients need; load the module fuse")
    if local_size and not os.path.exists("/dev/loop-control"):
        raise TestbedError(
            "there are no loop devices, which /mnt/local needs; load the module loop, or leave --local out"
        )
    file_system.check(kind)


def up(settings: Settings) -> None:
    """Starts all of it, or nothing."""
    check(settings.file_system, settings.local_size)
    settings.create()
    try:
        network.create_switch(settings)
        for name in settings.hosts:
            host.boot(settings, name)
        for name in settings.hosts:
            host.ready(settings, name)
        file_system.start_all(settings)
    except BaseException:
        down(settings.name)
        raise


def down(name: str) -> None:
    """Ends and removes whatever there is of it, also if it came up by half, or if there is nothing."""
    settings = Settings(name)
    for namespace in network.namespaces(name):
        host.end_namespace(namespace)
    disks = [disk.name for disk in (settings.directory / "disk").glob("*")]
    wait_for("the end of the mounts", lambda: not host.loop_devices(settings, disks))
    if settings.directory.exists():
        shutil.rmtree(settings.directory)
    if PLACE.exists() and not any(PLACE.iterdir()):
        PLACE.rmdir()


def boot(settings: Settings, name: str) -> None:
    """Starts a host that crashed. TestbedError if it is running."""
    if host.pid(settings, name) is not None:
        raise TestbedError(f"{name} is running; end it with testbed/testbed crash {name}")
    host.crash(settings, name)  # what may be left of it
    host.boot(settings, name)
    host.ready(settings, name)
    file_system.host_is_back(settings, name)


def set_rate(settings: Settings, rate: str, names: Iterable[str]) -> None:
    """The rate of the links of these hosts, or of all, from now on; as tc writes it, or none."""
    for name in names or settings.hosts:
        settings.check_host(name)
        settings.rates[name] = rate
        if settings.namespace(name) in network.namespaces(settings.name):
            network.limit(settings, name)
    settings.save()


def status(settings: Settings) -> Iterator[str]:
    """Lines of text, one a host."""
    yield f"testbed {settings.name} in {settings.directory}, file system {settings.file_system}"
    yield f"{'host':6} {'address':12} {'state':6} {'link':5} {'rate':8} {'processes':>9}  servers"
    for name in settings.hosts:
        if host.pid(settings, name) is None:
            yield f"{name:6} {settings.address(name):12} down"
            continue
        link, rate = network.link_state(settings, name), settings.rates.get(name, "none")
        running = len(host.processes(settings.namespace(name)))
        servers = len(file_system.servers(settings, name)) if name in settings.servers else ""
        yield f"{name:6} {settings.address(name):12} up     {link:5} {rate:8} {running:9}  {servers}".rstrip()
