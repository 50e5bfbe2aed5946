"""Several hosts for a test: a testbed of its own, and the certainty that nothing is left of it.

  with hosts.testbed(compute=2, servers=2) as bed:
      code, output = bed.run("mpiexec", "-n", 4, program)
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from . import checks, places, processes
from .cluster import bed as beds
from .cluster import network, slurm
from .cluster.settings import load
from .cluster.system import TestbedError
from .processes import Ended

COMMAND = places.ROOT / "testbed" / "testbed"


class Bed:
    """One testbed, whose name no other process uses."""

    def __init__(self) -> None:
        self.name = f"test{os.getpid()}"
        # By inode number, open: as long as they are, nothing else gets that number.
        self.namespaces: dict[int, int] = {}
        self.images: dict[int, int] = {}  # the files behind loop devices

    def command(self, *words: object) -> list[object]:
        """The words of a command of testbed/testbed."""
        return [COMMAND, "--name", self.name, *words]

    def start(self, *words: object, **more: Any) -> subprocess.Popen:
        """Starts a command of testbed/testbed; further arguments are those of processes.start()."""
        return processes.start(self.command(*words), dict(os.environ), **more)

    def run(self, *words: object, timeout: float = 120) -> Ended:
        """Runs a command of testbed/testbed, for at most `timeout` seconds."""
        return processes.finish(self.start(*words), timeout)

    def must(self, *words: object, timeout: float = 120) -> str:
        """The output; ends the test if the command fails."""
        ended = self.run(*words, timeout=timeout)
        if ended.code != 0:
            raise SystemExit(f"testbed {' '.join(map(str, words))}: {ended.how}\n{ended.output}")
        return ended.output

    def down(self) -> list[str]:
        """Takes it down; the list of what it left."""
        self.remember()
        self.must("down")
        try:
            return [*self._left()]
        finally:
            for descriptor in [*self.namespaces.values(), *self.images.values()]:
                os.close(descriptor)
            self.namespaces, self.images = {}, {}

    def remember(self) -> None:
        """Notes what identifies its parts: once it is down they have other names, or none."""
        _hold(self.namespaces, [Path("/run/netns") / name for name in network.namespaces(self.name)])
        with contextlib.suppress(TestbedError):
            settings = load(self.name)
            for host in settings.hosts:
                _hold(self.images, settings.disk(host).glob("*.img"))

    def _left(self) -> Iterator[str]:
        yield from network.namespaces(self.name)
        directory = beds.PLACE / self.name
        if directory.exists():
            yield str(directory)
        for line in Path("/proc/self/mounts").read_text().splitlines():
            if str(directory) in line or f"pmio-{self.name}-" in line:
                yield f"mount {line}"
        backing = subprocess.run(
            ["losetup", "--list", "--noheadings", "--output", "BACK-INO"], capture_output=True, text=True, check=True
        )
        looped = set(backing.stdout.split())
        yield from (f"loop device on inode {inode}" for inode in self.images if str(inode) in looped)
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.stat(process / "ns" / "net").st_ino in self.namespaces:
                    yield f"process {process.name}: {(process / 'cmdline').read_text()}"


def _hold(held: dict[int, int], paths: Iterable[Path]) -> None:
    """Opens those that are not held yet; a descriptor by inode number."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if held.setdefault(os.fstat(descriptor).st_ino, descriptor) != descriptor:
            os.close(descriptor)


@contextlib.contextmanager
def testbed(*, compute: int = 2, servers: int = 2, file_system: str = "moosefs", local: str = "") -> Iterator[Bed]:
    """Skips the test if there can be no testbed here; fails it if something is left of the testbed.

    compute, servers: how many hosts. local: size of each compute host's own file system, as 64m; empty: it has none.
    """
    skip_unless_possible(file_system, local)
    bed = Bed()
    try:
        bed.must("up", "--hosts", compute, "--servers", servers, "--fs", file_system, "--local", local)
        yield bed
    finally:
        left = bed.down()
    if left:
        raise SystemExit("left by the testbed: " + "; ".join(left))


def skip_unless_possible(file_system: str, local: str) -> None:
    """Skips the test, with the reason, if there can be no such testbed here."""
    try:
        beds.check(file_system, local)
    except TestbedError as error:
        checks.skip(str(error))


def skip_without_slurm() -> None:
    """Skips the test if Slurm is not installed."""
    try:
        slurm.check()
    except TestbedError as error:
        checks.skip(str(error))
