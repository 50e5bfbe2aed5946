"""I/O nodes: the storage hosts of a test-bed with MooseFS, whose disks are emulated devices behind its network.

One compute host. A chunk of MooseFS, 64 MiB, is on one I/O node. A chunk server's writes return when the device has
the bytes.
"""

import contextlib

import devices
from pmiolab import hosts, mpi_jobs, mpi_libraries, places, spanning_jobs

from .workload import MPI

DEVICE_MIB = 768  # MooseFS leaves 256 MiB free
COMPUTE = ("c1",)
CHUNKS = "/mnt/disk/chunks"  # of a storage host
TARGET = "/mnt/pfs/target"


@contextlib.contextmanager
def started(profile, number, work):
    """The test-bed. SystemExit, and why, where there can be none."""
    with contextlib.ExitStack() as stack:
        disks = [stack.enter_context(devices.mounted(profile, DEVICE_MIB, work)) for _ in range(number)]
        bed = stack.enter_context(hosts.testbed(compute=len(COMPUTE), servers=number))
        for host, disk in enumerate(disks, start=1):
            devices.run("chattr", "+S", disk)
            device = devices.run("findmnt", "--noheadings", "--output", "SOURCE", disk)
            bed.must("fs-kill", f"s{host}")
            bed.must("on", f"s{host}", "mount", device, CHUNKS)
            bed.must("fs-start", f"s{host}")
        yield bed


def measure(bed, options, cell, words):
    mpi = mpi_libraries.choose(options.build, MPI)
    launch = spanning_jobs.launch(options.build, mpi, cell["tasks"], COMPUTE)
    wrapper = [places.pmio(options.build), "run", "--"] if cell["pmio"] else []
    ended = bed.run(*launch, *wrapper, *words, timeout=options.timeout)
    [told] = mpi_jobs.results(ended, name=f"{cell['question']}, {cell['servers']} I/O nodes")
    return {"seconds": told["open_s"] + told["write_s"] + told["close_s"], "bytes": told["bytes"]}
