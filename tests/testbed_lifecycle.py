#!/usr/bin/env python3
"""The testbed itself: what survives a crash, and that it outlives failures and leaves nothing, not even
after a killed `up`.
"""

import argparse
import os
import signal
import time

from pmiolab import checks, hosts, processes
from pmiolab.places import MIB


def expect(complaints, what, found, expected):
    if found != expected:
        complaints.append(f"{what}: {found!r}, expected {expected!r}")


def crash_compute_host(bed, complaints):
    """Memory is lost, the disk and the file system are kept; a command on a dead host says that it is down."""
    places = ["/dev/shm", "/run/tmp", "/mnt/local", "/var/tmp", "/mnt/pfs"]
    bed.must("on", "c2", "sh", "-c", f"for place in {' '.join(places)}; do echo kept > $place/note; done")
    bed.must("crash", "c2")
    code, output = bed.run("on", "c2", "true")
    expect(complaints, "a command on a dead host", (code, "c2 is down" in output), (1, True))
    bed.must("boot", "c2")
    found = bed.must(
        "on", "c2", "sh", "-c", f"for place in {' '.join(places)}; do test -e $place/note && echo $place; done; true"
    )
    expect(complaints, "what a crash leaves", found.split(), places[2:])


def fail_servers(bed, complaints):
    """Whatever fails for a while, a writer waits for it, and its data are right."""
    failures = [
        (["fs-kill", "s1"], ["fs-start", "s1"]),
        (["fs-kill", "m1"], ["fs-start", "m1"]),
        (["crash", "s2"], ["boot", "s2"]),
        (["link", "s1", "down"], ["link", "s1", "up"]),
    ]
    for number, (fail, repair) in enumerate(failures):
        file = f"/mnt/pfs/file-{number}"
        bed.must(*fail)
        writer = bed.start("on", "c1", "sh", "-c", f"yes | head -c {16 * MIB} | dd of={file} bs=1M conv=fsync")
        time.sleep(0.5)
        bed.must(*repair)
        ended = processes.finish(writer, timeout=120)
        if ended.code != 0:
            complaints.append(f"writing across {' '.join(fail)}: {ended.how}: {ended.output}")
            continue
        same = bed.run("on", "c2", "sh", "-c", f"yes | head -c {16 * MIB} | cmp - {file}")
        expect(complaints, f"what was written across {' '.join(fail)}", same, (0, ""))


def limit_rate(bed, complaints):
    """8 MiB at 40 Mbit/s take 1.7 s; without a limit, far less."""

    def seconds():
        start = time.monotonic()
        bed.must(
            "on", "c1", "sh", "-c", f"head -c {8 * MIB} /dev/zero | dd of=/mnt/pfs/rate bs=1M conv=fsync status=none"
        )
        return time.monotonic() - start

    bed.must("rate", "40mbit", "c1")
    limited = seconds()
    bed.must("rate", "none")
    unlimited = seconds()
    expect(
        complaints,
        f"8 MiB at 40 Mbit/s in {limited:.2f} s, unlimited in {unlimited:.2f} s",
        limited > 1.5 > unlimited,
        True,
    )


def kill_up(complaints):
    """An `up` that is killed, at several moments, leaves nothing after `down`."""
    for seconds in (0.1, 0.3, 0.6):
        bed = hosts.Bed()
        up = bed.start("up", "--local", "64m")
        time.sleep(seconds)
        os.kill(up.pid, signal.SIGKILL)
        left = bed.down()
        processes.finish(up, timeout=20)
        expect(complaints, f"what is left of an up that was killed after {seconds} s", left, [])


def numbers_of_others(complaints):
    """A network namespace that somebody makes while a testbed goes away is not taken for the testbed's."""
    bed = hosts.Bed()
    bed.must("up")
    bed.remember()
    bed.must("down")
    others = [processes.start(["unshare", "-n", "sleep", "60"], dict(os.environ)) for _ in range(100)]
    time.sleep(1)
    left = bed.down()
    for other in others:
        other.kill()
        other.wait()
    expect(complaints, "what is left of a testbed, beside others' namespaces", left, [])


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    complaints = []
    with hosts.testbed(local="64m") as bed:
        for part in (crash_compute_host, fail_servers, limit_rate):
            part(bed, complaints)
    kill_up(complaints)
    numbers_of_others(complaints)
    return checks.conclude(complaints, "the testbed does what it says, and leaves nothing")


if __name__ == "__main__":
    raise SystemExit(main())
