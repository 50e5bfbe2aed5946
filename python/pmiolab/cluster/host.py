"""A host: a process 1 with namespaces of its own (network, names, mounts, IPC, processes).

Seen from inside: /mnt/disk is the host's disk, /mnt/pfs the parallel file system, /mnt/local a file system of
its own if it was asked for. /dev/shm and /run are empty memory, /var/tmp is on the host's disk, temporary
files are in /run/tmp. All else is the machine's.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import places
from ..process_table import kill
from . import network
from .settings import LOGIN, Settings
from .system import TestbedError, run, wait_for

FOLDER = places.ROOT / "testbed"  # of what the hosts run
DISK, PFS, LOCAL, TEMPORARY = "/mnt/disk", "/mnt/pfs", "/mnt/local", "/run/tmp"
NAMESPACES = ["--net", "--uts", "--mount", "--ipc", "--pid"]


def boot(settings: Settings, host: str) -> None:
    """Starts it; ready() says when it is up. Its disk must be there, and nothing else of it."""
    network.attach(settings, host)
    words: list[object] = ["ip", "netns", "exec", settings.namespace(host)]
    words += ["unshare", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    words += ["setsid", FOLDER / "host-init", host, settings.disk(host), settings.hosts_file, settings.pid_file(host)]
    with open(settings.directory / f"{host}.log", "w", encoding="utf-8") as log:
        subprocess.Popen(
            [*map(str, words), settings.shm_size],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def ready(settings: Settings, host: str) -> None:
    """Returns when its process 1 runs and its own file system is mounted.

    TestbedError, with what it said, if it does not start.
    """
    log = settings.directory / f"{host}.log"
    try:
        wait_for("its process 1", lambda: pid(settings, host))
    except TestbedError as error:
        raise TestbedError(f"{host} did not start: {error}: {log.read_text().strip() or 'it said nothing'}") from None
    if settings.local_size and host in settings.compute:
        mount_local(settings, host)


def mount_local(settings: Settings, host: str) -> None:
    """An ext4 of its own, in a file on the host's disk, so that it is there again after a crash."""
    image = settings.disk(host) / "local.img"
    if not image.exists():
        run("truncate", "--size", settings.local_size, image)
        run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1", image)
    on(settings, host, "mount", "-o", "loop", f"{DISK}/local.img", LOCAL)


def pid(settings: Settings, host: str) -> int | None:
    """The number of its process 1, as the machine numbers it; None if the host is down."""
    try:
        number = int(settings.pid_file(host).read_text())
        mine = os.stat(f"/proc/{number}/ns/net").st_ino
        return number if mine == os.stat(f"/run/netns/{settings.namespace(host)}").st_ino else None
    except (FileNotFoundError, ProcessLookupError):
        return None


def enter(settings: Settings, host: str, command: list) -> list:
    """The words that run a command on the host, in the directory of that name."""
    if host == LOGIN:
        # In the machine's process namespace: from there mpiexec's remote shell can enter the hosts.
        names = 'hostname "$1"; mount --bind "$2" /etc/hosts; shift 2; exec "$@"'
        words: list[object] = ["ip", "netns", "exec", settings.namespace(LOGIN)]
        words += ["unshare", "--uts", "--mount", "--propagation", "private"]
        words += ["sh", "-c", names, "sh", LOGIN, settings.hosts_file]
        return [*words, "env", f"SLURM_CONF={settings.slurm_configuration}", *command]
    settings.check_host(host)
    number = pid(settings, host)
    if number is None:
        raise TestbedError(f"{host} is down; start it with testbed/testbed boot {host}")
    environment = ["env", f"--chdir={os.getcwd()}", f"TMPDIR={TEMPORARY}"]
    return ["nsenter", "--target", number, *NAMESPACES, "--", *environment, *command]


def on(settings: Settings, host: str, *command: object, **options: Any) -> str:
    """The output of a command that is run on the host, in its root directory. TestbedError if it fails."""
    words = enter(settings, host, ["env", "--chdir=/", *command])
    return run(*words, **options)


def processes(namespace: str) -> list[int]:
    """The numbers of the processes in a network namespace."""
    return [int(word) for word in run("ip", "netns", "pids", namespace).split()]


def loop_devices(settings: Settings, hosts: Iterable[str]) -> list[str]:
    """The loop devices whose file is on a disk of these hosts. A mounted one frees itself when its mount ends."""
    images = [image for host in hosts for image in settings.disk(host).glob("*.img")]
    return [
        name
        for image in images
        for name in run("losetup", "--noheadings", "--output", "NAME", "--associated", image).split()
    ]


def mounts_of_pfs(namespace: str) -> set[str]:
    """The numbers by which FUSE knows the mounts of the parallel file system that the namespace's processes have."""
    numbers: set[str] = set()
    for number in processes(namespace):
        try:
            mounts = [line.split() for line in Path(f"/proc/{number}/mountinfo").read_text().splitlines()]
        except OSError:
            continue
        numbers.update(mount[2].split(":")[1] for mount in mounts if mount[4] == PFS)
    return numbers


def break_off(mounts: Iterable[str]) -> None:
    """Gives an error to every process that waits for these FUSE file systems."""
    with tempfile.TemporaryDirectory() as directory:
        run("mount", "-t", "fusectl", "fusectl", directory)
        try:
            for number in mounts:
                with contextlib.suppress(FileNotFoundError):
                    (Path(directory) / number / "abort").write_text("1")
        finally:
            run("umount", directory)


def end_namespace(namespace: str) -> None:
    """Ends all processes of the namespace, and the namespace."""
    mounts = mounts_of_pfs(namespace)

    def ended() -> bool:
        kill(left := processes(namespace))
        return not left

    try:
        wait_for(f"the end of the processes of {namespace}", ended)
    except TestbedError:
        # A FUSE file system whose own process waits for one of its pages cannot be killed.
        break_off(mounts)
        wait_for(f"the end of the processes of {namespace}", ended)
    run("ip", "netns", "delete", namespace)


def crash(settings: Settings, host: str) -> None:
    """As a power failure: no process ends in order, nobody on the network hears of it. Its disk is left."""
    network.detach(settings, host)
    if settings.namespace(host) in network.namespaces(settings.name):
        end_namespace(settings.namespace(host))
    settings.pid_file(host).unlink(missing_ok=True)
    wait_for(f"the end of the mounts of {host}", lambda: not loop_devices(settings, [host]))
