"""Slower devices than this machine's: file systems on loop devices that the kernel throttles.

The image lies in memory. A cgroup's limits of bytes and operations per second act below the page cache, as a
device would: a write that the cache takes costs nothing until it is written back. What is not emulated is latency
that grows with the distance of a seek, and a device's own queue.
"""

import contextlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pmiolab import places
from pmiolab.places import MIB

CGROUPS = Path("/sys/fs/cgroup")
FIO_S = 2  # of each of its measurements


@dataclass(frozen=True)
class Profile:
    """0: no limit."""

    read_mbps: float  # 10^6 bytes a second
    write_mbps: float
    read_iops: float
    write_iops: float
    source: str


PROFILES = {
    "HDD": Profile(204.30, 200.25, 659, 1484,
                   "wu-2017, Table II: sequential bandwidths, random ones of 4 KiB as operations per second"),
    "SSD": Profile(550, 270, 86_000, 56_000, "liu-2017, III: Intel SSD 730 of 240 GB, by its maker's data sheet"),
    "NVM": Profile(2568.53, 2172.62, 0, 0, "wu-2017, Table II: Optane, sequential; random is as fast"),
}  # fmt: skip


def run(*words):
    """What it said. SystemExit if it failed."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {ended.stderr.strip()}")
    return ended.stdout.strip()


def write(path, text):
    """SystemExit if the kernel does not want it."""
    try:
        path.write_text(text)
    except OSError as failure:
        raise SystemExit(f"no device can be throttled here: {path}: {failure.strerror}")


def limits_of(profile):
    """By the names of cgroup version 1."""
    return {"read_bps": profile.read_mbps * 1e6, "write_bps": profile.write_mbps * 1e6,
            "read_iops": profile.read_iops, "write_iops": profile.write_iops}  # fmt: skip


def throttle(number, profile):
    """The device of that number, "7:0", for every process. 0, or no profile, takes a limit away."""
    for name, limit in limits_of(profile).items():
        write(CGROUPS / "blkio" / f"blkio.throttle.{name}_device", f"{number} {round(limit)}")


@contextlib.contextmanager
def mounted(profile, mib, work):
    """The directory of an ext4 of that size, in MiB, on a device like that; work is where it is mounted."""
    if not (CGROUPS / "blkio").is_dir():
        raise SystemExit(f"no device can be throttled here: {CGROUPS}/blkio is not there")
    with places.temporary("study-device", "/dev/shm") as store, places.temporary("study-device", work) as place:
        image, point = store / "image", place / "mounted"
        point.mkdir()
        with image.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, mib * MIB)  # memory that is there is as fast as it will be
        device = run("losetup", "--find", "--show", image)
        number = (Path("/sys/block") / Path(device).name / "dev").read_text().strip()
        try:
            run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
            run("mount", device, point)
            try:
                throttle(number, profile)
                yield point
            finally:
                throttle(number, Profile(0, 0, 0, 0, ""))  # or unmounting would wait for what nobody reads
                run("umount", "--lazy", point)  # a job that is being stopped may still have files open
        finally:
            run("losetup", "--detach", device)


def drop_caches():
    """So that reads come from the devices."""
    run("sync")
    write(Path("/proc/sys/vm/drop_caches"), "3")


def checked(directory):
    """What a device gives, by fio past the page cache: MB/s one after the other, and operations of 4 KiB anywhere."""
    if not shutil.which("fio"):
        raise SystemExit("fio is not here: apt-get install fio")
    found = {}
    for operation in ("read", "write"):
        for pattern, block in ((operation, "1M"), (f"rand{operation}", "4k")):
            told = json.loads(run("fio", "--name=check", f"--filename={directory}/check", "--size=64M", "--direct=1",
                                  f"--rw={pattern}", f"--bs={block}", "--ioengine=psync", "--time_based",
                                  f"--runtime={FIO_S}", "--output-format=json"))["jobs"][0][operation]  # fmt: skip
            if block == "1M":
                found[f"{operation}_mbps"] = told["bw_bytes"] / 1e6
            else:
                found[f"{operation}_iops"] = told["iops"]
    (directory / "check").unlink()
    return found
