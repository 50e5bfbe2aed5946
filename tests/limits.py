#!/usr/bin/env python3
"""Jobs under limits of memory and other resources: if plain MPI-IO survives, a job under pmio does too, and
its file is right.

  limits.py --mpi mpich-5.0.2            one case of each kind of limit, about half a minute
  limits.py --matrix                     memory limits x ranks x sizes of writes instead, some minutes
  limits.py --table                      with a table of the outcomes and the commands
  limits.py --emulated                   in an emulated machine (testbed/emulated): version 2, and swap; 15 minutes

Makes memory cgroups of version 1 or 2, which needs root; exits with 77 if it may not.
"""

import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from pmiolab import checks, command_line, mpi_libraries, places, processes
from pmiolab.memory_groups import Group, own_group
from pmiolab.places import MIB


@dataclass
class Case:
    name: str
    ranks: int = 1
    mib: int = 48  # of each rank
    kib: int = 4096
    memory: int = 0  # MiB by which each rank grows
    limits: dict = field(default_factory=dict)  # of the job's own group, in MiB
    above: int = 0  # MiB of the group above it
    shell: str = ""  # run before the launcher
    container: bool = False  # mount and cgroup namespaces of its own
    settings: dict = field(default_factory=dict)
    user: bool = False  # not as root, since some limits do not bind root; one process, without a launcher
    lines: int = 1  # that pmio may say at most
    killed_before: int = 0  # jobs that write so many MiB to the same file, and are killed


CASES = [
    Case("memory cgroup of 300 MiB", mib=400, limits={"memory.max": 300}),
    Case("memory cgroup of 300 MiB, two ranks", ranks=2, mib=200, kib=64, limits={"memory.max": 300}),
    Case("a limit of the group above", mib=400, above=300),
    Case("the program grows to most of it", mib=100, memory=170, limits={"memory.max": 300}),
    Case("memory and swap together", mib=400, limits={"memory.max": 300, "memory.swap.max": 0}),
    Case("more than fits without swap", mib=100, memory=350, limits={"memory.max": 300, "memory.swap.max": 300}),
    Case("memory.high (version 2)", mib=200, limits={"memory.max": 400, "memory.high": 300}),
    Case("/dev/shm of 32 MiB", mib=100, shell="mount -t tmpfs -o size=32m none /dev/shm", container=True),
    Case("a cgroup namespace", mib=400, limits={"memory.max": 300}, container=True,
         shell="{remount}"),
    Case("PMIO_LOG_SIZE of 64 GiB", mib=400, limits={"memory.max": 300}, settings={"PMIO_LOG_SIZE": "64G"}),
    Case("what a killed job has left", mib=200, limits={"memory.max": 300}, killed_before=25),
    Case("ulimit -v", ranks=2, mib=40, kib=64, shell="ulimit -v 230000"),
    Case("ulimit -f", ranks=2, mib=5, kib=64, shell="ulimit -f 12000"),
    Case("ulimit -f, smaller than a segment", mib=0, kib=64, shell="ulimit -f 128"),
    Case("ulimit -l", mib=48, shell="ulimit -l 64"),
    Case("ulimit -s", mib=48, shell="ulimit -s 128"),
    Case("ulimit -s unlimited", mib=48, shell="ulimit -s unlimited"),
    Case("ulimit -n", mib=48, shell="ulimit -n 40"),
    Case("ulimit -u", mib=20, kib=64, shell="ulimit -u 2", user=True),
]  # fmt: skip

MATRIX = [
    Case(
        f"{limit} MiB, {ranks} ranks, {kib} KiB, growing by {memory} MiB",
        ranks,
        mib=limit,
        kib=kib,
        memory=memory // ranks,
        limits={"memory.max": limit},
    )
    for limit in (150, 300, 1024)
    for ranks in (1, 2)
    for kib in (4, 64, 4096)
    for memory in (0, limit // 2)
    if kib > 4 or limit < 1024
]


EMULATED = str(places.ROOT / "testbed/emulated")


class Limits(checks.Checks):
    def __init__(self, options, mpi, scratch, parent):
        super().__init__()
        self.mpi, self.scratch, self.parent, self.table = mpi, scratch, parent, options.table
        self.program = places.test_program(options.build, "limits", mpi)
        self.logs = Path(f"/dev/shm/{scratch.name}")
        self.rows = []

    def command(self, case, group, under_pmio, dying=False):
        remount = f"mkdir -p {self.scratch}/c; mount -t {'cgroup -o memory' if group.is_v1 else 'cgroup2'} none {self.scratch}/c"
        shell = case.shell.format(remount=remount)
        words = [self.mpi.mpiexec, *(["--oversubscribe"] if self.mpi.family == "openmpi" else []), "-n", case.ranks]
        if case.user:
            words = ["exec"]
        if under_pmio:
            settings = {"PMIO_DIR": self.logs, "PMIO_REGISTRY": self.scratch / "registry",
                        "PMIO_DIRECT_FROM": "off"} | case.settings  # fmt: skip
            words += processes.with_environment(settings, [self.mpi.runtime])
        words += [self.program, self.scratch / "file", case.killed_before if dying else case.mib, case.kib, case.memory]
        words += ["die"] if dying else []
        launch = " ".join(map(str, words))
        inner = f"{shell}\n{launch}" if shell else launch
        if case.user:
            inner = f"exec setpriv --reuid 12345 --regid 12345 --clear-groups bash -c '{inner}'"
        enter = f"echo $$ > {group.path}/cgroup.procs"
        if not case.container:
            return ["bash", "-c", f"{enter}\n{inner}"]
        return ["bash", "-c", f"{enter}\nexec unshare -C -m bash -c '{inner}'"]

    def run(self, case, under_pmio):
        """(exit code, output, processes that the kernel killed)."""
        above = Group(self.parent, f"pmio-limits-{os.getpid()}")
        if case.above:
            above.set("memory.max", case.above * MIB)
        if not above.is_v1:
            (above.path / "cgroup.subtree_control").write_text("+memory")
        group = Group(above.path, "job")
        try:
            for key, mib in case.limits.items():
                group.set(key, mib * MIB)
            (self.scratch / "file").unlink(missing_ok=True)
            for dying in [True, False] if case.killed_before else [False]:
                command = self.command(case, group, under_pmio, dying)
                code, output = processes.run(command, mpi_libraries.environment(self.mpi), 300)
            return code, output, group.kills() + (above.kills() if above.is_v1 else 0)
        finally:
            group.remove()
            above.remove()

    def works_here(self, case):
        probe = Group(self.parent, f"pmio-limits-{os.getpid()}")
        try:
            may_swap = len(Path("/proc/swaps").read_text().splitlines()) > 1
            return all(probe.has(key) for key in case.limits) and (may_swap or not case.limits.get("memory.swap.max"))
        finally:
            probe.remove()

    def compare(self, case):
        if not self.works_here(case):
            print(f"       {case.name}: not on this machine")
            return self.rows.append((case, "not on this machine", ""))
        code, output, kills = self.run(case, False)
        plain = "right" if code == 0 and "right" in output else f"exit {code}, {kills} killed"
        if plain != "right":
            print(f"       {case.name}: plain: {plain}")
            return self.rows.append((case, plain, "not tried"))
        code, output, kills = self.run(case, True)
        said = [line for line in output.splitlines() if line.startswith("pmio:")]
        right = code == 0 and "right" in output and kills == 0
        self.check(f"{case.name}: as plain", right, output)
        self.check(f"{case.name}: at most {case.lines} line", len(said) <= case.lines, output)
        left = list(self.logs.glob("job-*"))
        self.check(f"{case.name}: nothing is left", not left, str(left))
        shutil.rmtree(self.logs, ignore_errors=True)
        return self.rows.append(
            (
                case,
                plain,
                ("right" if right else f"exit {code}, {kills} killed") + "".join(f"; {line}" for line in said),
            )
        )

    def print_table(self):
        print("\n| limit | plain | under pmio |\n|---|---|---|")
        for case, plain, logged in self.rows:
            print(f"| {case.name} | {plain} | {logged} |")


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--matrix", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--emulated", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    options = parser.parse_args()
    if options.emulated:
        if not (places.ROOT / ".deps/emulated/version").exists():
            checks.skip("testbed/setup-emulated has not been run")
        rest = [word for word in sys.argv if word != "--emulated"]
        os.execv(EMULATED, [EMULATED, sys.executable, *rest])
    mpi = mpi_libraries.choose(options.build, options.mpi)
    parent = own_group()
    if os.geteuid() != 0 or parent is None or not os.access(parent, os.W_OK):
        return checks.SKIPPED
    with places.temporary("limits") as scratch:
        scratch.chmod(0o777)
        limits = Limits(options, mpi, scratch, parent)
        for case in MATRIX if options.matrix else CASES:
            if options.only in case.name:
                limits.compare(case)
    if options.table:
        limits.print_table()
    return limits.conclude()


if __name__ == "__main__":
    sys.exit(main())
