"""One run of each cell, on an emulated device, and what it tells."""

import devices
import posix_io
from pmiolab import contestants, mpi_jobs, mpi_libraries, places

from . import io_nodes
from .workload import (
    BLOCK_BYTES,
    BLOCK_CALLS,
    CLIENT_CALLS,
    DEVICE_MIB,
    DEVICES,
    IOR_BYTES,
    MPI,
    POSIX,
    SERVER_CALLS,
    STRIPE,
    STRIPE_CALLS,
    STRIPED_CALLS,
    TRANSFER,
    VARIABLES,
    WAYS,
)


class Measuring:
    def __init__(self, options):
        self.options = options

    def calls(self, cell):
        """Of each rank."""
        wanted = {"checkpoint": VARIABLES, "clients": CLIENT_CALLS, "stripes": STRIPE_CALLS,
                  "servers": SERVER_CALLS, "striped": STRIPED_CALLS,
                  "methods": IOR_BYTES // TRANSFER // cell["tasks"],
                  "blocks": min(BLOCK_CALLS[cell["cache"]], BLOCK_BYTES // cell["block"])}  # fmt: skip
        return max(2, round(wanted[cell["question"]] * self.options.scale))

    def block(self, cell):
        """A checkpoint has always nine variables; smaller ones if scaled down."""
        if cell["question"] != "checkpoint":
            return cell["block"]
        return max(8, round(cell["block"] * self.options.scale) // 8 * 8)

    def measure(self, cell):
        """Not repeated if others use the machine: the kernel's threads, who do the device's work, count as others."""
        profile = devices.PROFILES[DEVICES[cell["device"]]]
        if "servers" in cell:
            with io_nodes.started(profile, cell["servers"], self.options.work) as bed:
                words = [*self.words(cell, io_nodes.TARGET), "--bytes", self.calls(cell) * cell["block"]]
                words += ["--segmented"] if cell["question"] == "servers" else []
                return io_nodes.measure(bed, self.options, cell, words)
        with devices.mounted(profile, DEVICE_MIB, self.options.work) as device:
            if cell["question"] == "device":
                return devices.checked(device)
            if cell["cache"] == "through":
                devices.run("chattr", "+S", device)  # its files get that too: a write returns when the device has it
            calls = VARIABLES if cell["question"] == "checkpoint" else self.calls(cell)
            amount = self.block(cell) * calls
            contestants.touch_memory(contestants.COPIES * cell["tasks"] * amount)
            if cell["way"] == POSIX:
                told = posix_io.measure([device / "target"] * cell["tasks"], TRANSFER, amount // TRANSFER,
                                        self.options.timeout, dealt=True)  # fmt: skip
                seconds = told["open_s"] + told["write_s"] + told["close_s"]
                return {"seconds": seconds, "bytes": amount * cell["tasks"]}
            return self.by_mpi(cell, amount, device / "target")

    def words(self, cell, target):
        program = places.benchmark(self.options.build, "mpiio", mpi_libraries.choose(self.options.build, MPI))
        return [program, "--file", target, "--block", self.block(cell), *WAYS[cell["way"]]]

    def by_mpi(self, cell, amount, target):
        mpi = mpi_libraries.choose(self.options.build, MPI)
        words = [*self.words(cell, target), "--bytes", amount]
        words += ["--hint", f"striping_unit={STRIPE}"] if cell["question"] == "stripes" else []
        with places.temporary("study", "/dev/shm") as logs:
            more = {"settings": {"PMIO_DIR": logs}, "preload": [mpi.runtime]} if cell["pmio"] else {}
            if cell["pmio"] and cell["way"] == "two-phase":
                more["settings"]["PMIO_MODE"] = "twophase"
            more["timeout"] = self.options.timeout
            [told] = mpi_jobs.measure(mpi, cell["tasks"], words, name=words[0].name, **more)
        return {"seconds": told["open_s"] + told["write_s"] + told["close_s"], "bytes": told["bytes"]}
