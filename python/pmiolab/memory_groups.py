"""Memory cgroups of version 1 or 2, which need root."""

import time
from pathlib import Path

from pmiolab import process_table


class Group:
    """One below `parent`; remove() it at the end. Limits have the names and the meaning of version 2, in bytes."""

    V1 = {"memory.max": "memory.limit_in_bytes", "memory.swap.max": "memory.memsw.limit_in_bytes"}

    def __init__(self, parent: Path, name: str) -> None:
        self.path = parent / name
        self.path.mkdir()
        self.is_v1 = (self.path / "memory.limit_in_bytes").exists()

    def _file(self, key: str) -> Path:
        return self.path / (self.V1.get(key, key) if self.is_v1 else key)

    def has(self, key: str) -> bool:
        return self._file(key).exists()

    def set(self, key: str, number: int) -> None:
        """memory.max goes before memory.swap.max, as version 1 limits both together."""
        if self.is_v1 and key == "memory.swap.max":
            number += int(self._file("memory.max").read_text())
        self._file(key).write_text(str(number))

    def kills(self) -> int:
        """Processes that the kernel has killed in it for want of memory."""
        text = (self.path / ("memory.oom_control" if self.is_v1 else "memory.events")).read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.split()[0] == "oom_kill")

    def remove(self) -> None:
        for _ in range(100):  # the kernel counts a process for a moment after its end
            process_table.kill(int(pid) for pid in (self.path / "cgroup.procs").read_text().split())
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.05)


def own_group() -> Path | None:
    """The directory of a memory cgroup that may have children: this process's own if it may, the root, or None."""
    hierarchies = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, options = line.split()[:4]
        if kind == "cgroup" and "memory" in options.split(","):
            named = next((path for names, path in hierarchies.items() if "memory" in names.split(",")), None)
        elif kind == "cgroup2" and "memory" in (Path(point) / "cgroup.subtree_control").read_text().split():
            named = "/"  # a group with processes of its own may have none below it
        else:
            continue
        if named is not None and (Path(point) / named.lstrip("/")).is_dir():
            return Path(point) / named.lstrip("/")
    return None
