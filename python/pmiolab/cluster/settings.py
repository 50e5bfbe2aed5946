"""What one testbed consists of, and the directory that holds all of it and is removed as a whole.

The directory holds the disks of the hosts, so it is on a disk, not in /run. It is not in $TMPDIR: `down` must
find it from any shell.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .system import TestbedError

PLACE = Path("/var/lib/pmio-testbed")
LOGIN = "login"
NETWORK = "10.77.0"  # without its last number


@dataclass
class Settings:
    """A testbed, by its name; what it consists of, once it is up."""

    name: str
    compute: list[str] = field(default_factory=list)  # host names
    storage: list[str] = field(default_factory=list)  # without the metadata server's host
    metadata: list[str] = field(default_factory=list)  # one, or none without a file system
    file_system: str = "none"
    mount_options: list[str] = field(default_factory=list)  # words for the client of the file system
    shm_size: str = "2g"  # of each host's /dev/shm
    local_size: str = ""  # of each compute host's own disk; empty: none
    rates: dict[str, str] = field(default_factory=dict)  # host: as `tc` writes it, or none

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z][a-z0-9]{0,15}", self.name):
            raise TestbedError(f"{self.name}: the name of a testbed has up to 16 lower-case letters and digits")

    @property
    def hosts(self) -> list[str]:
        """All but the login host."""
        return self.compute + self.servers

    @property
    def servers(self) -> list[str]:
        """The hosts of the file system's servers."""
        return self.metadata + self.storage

    @property
    def directory(self) -> Path:
        """It holds all of the testbed."""
        return PLACE / self.name

    @property
    def hosts_file(self) -> Path:
        """The hosts' /etc/hosts."""
        return self.directory / "hosts"

    @property
    def slurm_configuration(self) -> Path:
        """A file that is there when Slurm has been started."""
        return self.directory / "slurm" / "slurm.conf"

    def pid_file(self, host: str) -> Path:
        """It holds the number of the host's process 1."""
        return self.directory / f"{host}.pid"

    def disk(self, host: str) -> Path:
        """The directory that is the host's disk: what survives its crash."""
        return self.directory / "disk" / host

    def namespace(self, host: str) -> str:
        """The name of the host's network namespace."""
        return f"pmio-{self.name}-{host}"

    def address(self, host: str) -> str:
        """By the host's letter and number."""
        number = 1 if host == LOGIN else {"c": 10, "m": 100, "s": 200}[host[0]] + int(host[1:])
        return f"{NETWORK}.{number}"

    def check_host(self, host: str) -> None:
        """TestbedError if there is no such host."""
        if host not in self.hosts:
            raise TestbedError(f"{host}: no such host; there are {' '.join(self.hosts)}")

    def check_server(self, host: str) -> None:
        """TestbedError if the host has no server of the file system."""
        if host not in self.servers:
            raise TestbedError(f"{host}: no server of a file system; there are {' '.join(self.servers) or 'none'}")

    def create(self) -> None:
        """Makes the directory. TestbedError if this testbed is there already, up or half up."""
        PLACE.mkdir(mode=0o755, exist_ok=True)
        try:
            self.directory.mkdir(mode=0o755)
        except FileExistsError:
            raise TestbedError(
                f"testbed {self.name} is there already; take it down first (testbed/testbed down)"
            ) from None
        lines = ["127.0.0.1 localhost", *(f"{self.address(host)} {host}" for host in [LOGIN, *self.hosts])]
        self.hosts_file.write_text("\n".join(lines) + "\n")
        for host in self.hosts:
            self.disk(host).mkdir(parents=True)
        self.save()

    def save(self) -> None:
        """For the commands that follow."""
        (self.directory / "settings.json").write_text(json.dumps(asdict(self), indent=1) + "\n")


def load(name: str) -> Settings:
    """The settings of a testbed that is up. TestbedError if it is not."""
    settings = Settings(name)
    try:
        return Settings(**json.loads((settings.directory / "settings.json").read_text()))
    except FileNotFoundError:
        raise TestbedError(f"testbed {name} is not up; start it with testbed/testbed up") from None
