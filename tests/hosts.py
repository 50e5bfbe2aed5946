"""Several hosts for a test: a testbed of its own, and the certainty that nothing is left of it.

  with hosts.testbed(compute=2, servers=2) as bed:
      code, output = bed.run("mpiexec", "-n", 4, program)
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "programs"), str(ROOT / "testbed")]
import harness
import mpi_processes
from cluster import bed as beds
from cluster import network, slurm
from cluster.settings import load
from cluster.system import TestbedError

COMMAND = ROOT / "testbed" / "testbed"


class Bed:
    def __init__(self):
        self.name = f"test{os.getpid()}"
        self.namespaces, self.loops = set(), set()

    def run(self, *words, timeout=120):
        """(exit code or None after the time-out, output) of a command of testbed/testbed."""
        command = [COMMAND, "--name", self.name, *words]
        return mpi_processes.run([str(word) for word in command], dict(os.environ), timeout)

    def must(self, *words, timeout=120):
        """The output; ends the test if the command fails."""
        code, output = self.run(*words, timeout=timeout)
        if code != 0:
            raise SystemExit(f"testbed {' '.join(map(str, words))}: {'timed out' if code is None else f'exit {code}'}\n{output}")
        return output

    def down(self):
        """Takes it down; the list of what it left."""
        self.remember()
        self.must("down")
        return [*self._left()]

    def remember(self):
        """What identifies its parts, for they have other names, or none, when it is down."""
        names = network.namespaces(self.name)
        self.namespaces |= {os.stat(f"/run/netns/{name}").st_ino for name in names}
        with contextlib.suppress(TestbedError):
            settings = load(self.name)
            images = [image.stat() for name in settings.hosts for image in settings.disk(name).glob("*.img")]
            self.loops |= {str(image.st_ino) for image in images}

    def _left(self):
        yield from network.namespaces(self.name)
        directory = beds.PLACE / self.name
        if directory.exists():
            yield str(directory)
        for line in Path("/proc/self/mounts").read_text().splitlines():
            if str(directory) in line or f"pmio-{self.name}-" in line:
                yield f"mount {line}"
        backing = subprocess.run(["losetup", "--list", "--noheadings", "--output", "BACK-INO"], capture_output=True, text=True, check=True)
        yield from (f"loop device on inode {inode}" for inode in self.loops & set(backing.stdout.split()))
        # The number of a namespace that is gone may be that of one of another testbed by now.
        others = set()
        for namespace in Path("/run/netns").glob("*"):
            with contextlib.suppress(OSError):
                others.add(namespace.stat().st_ino)
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.stat(process / "ns" / "net").st_ino in self.namespaces - others:
                    yield f"process {process.name}: {(process / 'cmdline').read_text()}"


@contextlib.contextmanager
def testbed(*, compute=2, servers=2, file_system="moosefs", local=""):
    """Skips the test where there can be no testbed; fails it if something is left of it."""
    skip_unless_possible(file_system, local)
    bed = Bed()
    try:
        bed.must("up", "--hosts", compute, "--servers", servers, "--fs", file_system, "--local", local)
        yield bed
    finally:
        left = bed.down()
    if left:
        raise SystemExit("left by the testbed: " + "; ".join(left))


def skip_unless_possible(file_system, local):
    try:
        beds.check(file_system, local)
    except TestbedError as error:
        harness.skip(str(error))


def skip_without_slurm():
    try:
        slurm.check()
    except TestbedError as error:
        harness.skip(str(error))
