"""Wu et al., "Early Evaluation of Intel Optane Non-Volatile Memory with HPC I/O Workloads" (2017).

Does MPI-IO cost more on a fast device than on a slow one, and does collective I/O still pay? Table II and figures 2 to
8, but 7, on emulated devices. Written bytes pass the page cache ("through"), as in the paper those of NFS do at the
latest when a file is closed. A part is also measured with bytes that may stay there ("back").
"""

import itertools
import os
from statistics import median

import claims
import compare
import devices
import posix_io
from pmiolab import contestants, figures, mpi_jobs, mpi_libraries, places
from pmiolab.places import KIB, MIB

MPI = "mpich-5.0.2"
DEVICES = {"Optane": "NVM", "HDD": "HDD"}  # the paper's names, and those of devices.PROFILES
DEVICE_MIB = 256
RANKS = 2
TASKS = (1, 2, 4, 8)  # of a node; the paper has up to 16 on each of three
VARIABLE, VARIABLES = 2 * MIB, 9  # HACC-IO: 524,288 particles of each task
FEW, MANY = (1, 4), 8  # the paper: 1 and 4, and 16
TRANSFER, IOR_BYTES = 256 * KIB, 64 * MIB  # IOR's default; of all tasks
BLOCKS = (8 * KIB, 32 * KIB, 128 * KIB, 512 * KIB, 2 * MIB, 8 * MIB)
DIP = (128 * KIB, 2 * MIB)  # the paper: 120 KB and 2 MB
BLOCK_BYTES, BLOCK_CALLS = 32 * MIB, {"through": 128, "back": 4096}  # of a rank: whichever is less
CLIENT_BLOCK, CLIENT_CALLS = 256 * KIB, 64
STRIPE, STRIPE_CALLS = 64 * KIB, 256  # PVFS2's default stripe
POSIX = "POSIX"
WAYS = {
    "individual": ["--independent"],
    "collective": [],
    "two-phase": ["--hint", "romio_cb_write=enable"],  # ROMIO's default does it only where ranges overlap
}
ALIKE = 1.1  # medians that are not farther apart
STABLE = 1.5


class Study:
    title = "Wu et al. 2017: MPI-IO on Optane and on a hard disk"

    def __init__(self, options):
        self.options = options

    def cells(self):
        """Each is measured once in a repetition."""

        def some(question, of=DEVICES, cache=("through",), tasks=(RANKS,), way=("individual",), block=(None,),
                 pmio=(False, True)):  # fmt: skip
            return [{"question": question, "device": d, "cache": c, "tasks": t, "way": w, "block": b, "pmio": p}
                    for d, c, t, w, b, p in itertools.product(of, cache, tasks, way, block, pmio)]  # fmt: skip

        return [
            *({"question": "device", "device": device} for device in DEVICES),
            *some("checkpoint", tasks=TASKS, block=(VARIABLE,)),
            *some("checkpoint", cache=("back",), block=(VARIABLE,)),
            *some("methods", tasks=TASKS, way=(POSIX,), block=(TRANSFER,), pmio=(False,)),
            *some("methods", tasks=TASKS, way=("individual", "collective"), block=(TRANSFER,)),
            # Not by more: ranks that share a processor mostly wait for each other, by polling.
            *some("methods", way=("two-phase",), block=(TRANSFER,)),
            *some("blocks", block=BLOCKS),
            *some("blocks", of=("Optane",), cache=("back",), block=BLOCKS),
            *some("clients", tasks=TASKS, block=(CLIENT_BLOCK,)),
            *some("stripes", way=WAYS, block=(STRIPE,)),
        ]

    def calls(self, cell):
        """Of each rank."""
        wanted = {"checkpoint": VARIABLES, "clients": CLIENT_CALLS, "stripes": STRIPE_CALLS,
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

    def by_mpi(self, cell, amount, target):
        mpi = mpi_libraries.choose(self.options.build, MPI)
        words = [places.benchmark(self.options.build, "mpiio", mpi), "--file", target, "--block", self.block(cell)]
        words += ["--bytes", amount, *WAYS[cell["way"]]]
        words += ["--hint", f"striping_unit={STRIPE}"] if cell["question"] == "stripes" else []
        with places.temporary("study", "/dev/shm") as logs:
            more = {"settings": {"PMIO_DIR": logs}, "preload": [mpi.runtime]} if cell["pmio"] else {}
            if cell["pmio"] and cell["way"] == "two-phase":
                more["settings"]["PMIO_MODE"] = "twophase"
            more["timeout"] = self.options.timeout
            [told] = mpi_jobs.measure(mpi, cell["tasks"], words, name=words[0].name, **more)
        return {"seconds": told["open_s"] + told["write_s"] + told["close_s"], "bytes": told["bytes"]}

    # --- what it shows ---

    def rates(self, rows, question, device, tasks=RANKS, way="individual", cache="through", pmio=False, **cell):
        """MB/s of all ranks, in each repetition."""
        cell |= {"question": question, "device": device, "tasks": tasks, "way": way, "cache": cache, "pmio": pmio}
        return [amount / seconds / 1e6 for amount, seconds in
                zip(rows.values("bytes", **cell), rows.values("seconds", **cell))]  # fmt: skip

    def rate(self, *which, **cell):
        """StatisticsError if there is none."""
        return median(self.rates(*which, **cell))

    def raw(self, rows, device, key):
        """MB/s or operations per second by fio."""
        return median(rows.values(key, question="device", device=device))

    def claims(self, rows):
        return [*self.of_devices(rows), *self.of_checkpoints(rows), *self.of_methods(rows), *self.of_blocks(rows),
                *self.of_clients(rows), self.of_stripes(rows)]  # fmt: skip

    def of_devices(self, rows):
        def told(device, operation):
            in_turn, random = (self.raw(rows, device, f"{operation}_{key}") for key in ("mbps", "iops"))
            return f"{device} {operation} {in_turn:,.0f}, {random * 4 * KIB / 1e6:,.0f}"

        def judge():
            every = "; ".join(told(*each) for each in itertools.product(DEVICES, ("write", "read")))
            return None, ("the devices are limited to this table's figures. fio's MB/s in sequence, and of 4 KiB at "
                          f"random, one request at a time: {every}")  # fmt: skip

        def judge_random():
            return None, f"the limits of these devices know no place. As above, {told('Optane', 'write')} MB/s"

        return [
            claims.judged("IV-A", "both read and write bandwidths of Optane device are much higher than those of HDD", judge),
            claims.judged("IV-A", "Optane has no big performance difference between random and sequential read/write",
                  judge_random),
        ]  # fmt: skip

    def of_checkpoints(self, rows):
        def gain(tasks, cache="through"):
            fast, slow = (self.rate(rows, "checkpoint", device, tasks, cache=cache) for device in DEVICES)
            return fast / slow

        def gains():
            raw = self.raw(rows, "Optane", "write_mbps") / self.raw(rows, "HDD", "write_mbps")
            most = max(gain(tasks) for tasks in TASKS)
            return most, raw, f"Optane writes checkpoints up to {most:.1f} times as fast as HDD, raw {raw:.1f} times"

        def smaller():
            most, raw, told = gains()
            return most < raw, f"{told}. With bytes left in the page cache: {gain(RANKS, 'back'):.1f} times"

        def network():
            most, raw, told = gains()
            return most > raw / ALIKE, f"{told}, without any network"

        def per_task():
            few, many = ([rate / tasks for rate in self.rates(rows, "checkpoint", "Optane", tasks)] for tasks in (4, 8))
            shares = ", ".join(f"{self.rate(rows, 'checkpoint', 'Optane', tasks) / tasks:,.0f}" for tasks in TASKS)
            p = compare.mann_whitney(few, many).p
            return median(many) < median(few) and p < compare.LEVEL, (
                f"MB/s per task with {', '.join(map(str, TASKS))}: {shares}; from 4 to 8 p = {p:.3f}. "
                f"They share {os.cpu_count()} processors")  # fmt: skip

        return [
            claims.judged("IV-B", "the performance difference between Optane and HDD is smaller than the bandwidth difference "
                  "we get in the basic performance evaluation", smaller),
            claims.judged("IV-B", "We attribute such smaller performance difference to the network effect when doing remote "
                  "I/O with NFS", network),
            claims.judged("IV-B", "we see slightly decrease of the bandwidth per MPI task when the number of MPI tasks is "
                  "larger than four", per_task),
        ]  # fmt: skip

    def of_methods(self, rows):
        def more(device, tasks, way, than, question="methods"):
            """How many times as long it takes, and the probability."""
            first, second = (self.rates(rows, question, device, tasks, each) for each in (way, than))
            factor = median(second) / median(first)
            return factor, compare.mann_whitney(first, second).p

        def few():
            factors = {(d, tasks): more(d, tasks, "individual", POSIX)[0] for d in DEVICES for tasks in FEW}
            told = ", ".join(f"{device} {factor:.2f} by {tasks}" for (device, tasks), factor in factors.items())
            holds = all(abs(factors["Optane", tasks] - 1) > abs(factors["HDD", tasks] - 1) for tasks in FEW)
            return holds, f"MPI-IO's time over that of POSIX I/O: {told} tasks"

        def many():
            found = {device: more(device, MANY, "individual", POSIX) for device in DEVICES}
            alike = all(1 / ALIKE < factor < ALIKE for factor, _ in found.values())
            told = ", ".join(f"{device} {factor:.2f} (p = {p:.3f})" for device, (factor, p) in found.items())
            return alike, f"with {MANY} tasks on {os.cpu_count()} processors the times' ratio is: {told}"

        def collective():
            found = [more(device, tasks, "collective", "individual") for device in DEVICES for tasks in TASKS]
            slower = [(factor, p) for factor, p in found if factor > 1]
            return len(slower) == len(found), (
                f"slower in {len(slower)} of {len(found)} cases, significantly in {sum(p < compare.LEVEL for _, p in slower)}; "
                f"its time is {min(found)[0]:.2f} to {max(found)[0]:.2f} of the other's. By default ROMIO shuffles "
                f"nothing where ranges do not overlap; {', '.join(map(str, TASKS))} tasks share {os.cpu_count()} "
                "processors")  # fmt: skip

        def shuffle():
            cases = {"methods": TRANSFER, "stripes": STRIPE}
            factors = {(device, block // KIB): more(device, RANKS, "two-phase", "individual", question)[0]
                       for device, (question, block) in itertools.product(DEVICES, cases.items())}  # fmt: skip
            told = ", ".join(f"{device} {factor:.2f} of {kib} KiB" for (device, kib), factor in factors.items())
            return all(factor < ALIKE for factor in factors.values()), (
                f"two-phase I/O, which shuffles through this node's memory, takes so many times as long: {told}")

        return [
            claims.judged("IV-C", "when the number of MPI tasks per node is smaller (i.e., 1 or 4), the performance difference "
                  "between POSIX I/O and MPI individual I/O on Optane is larger than that on HDD", few),
            claims.judged("IV-C", "when the number of MPI tasks per node is larger (i.e., 16), we see almost no performance "
                  "difference between POSIX I/O and MPI individual I/O", many),
            claims.judged("IV-D", "MPI collective I/O always performs worse than MPI individual I/O", collective),
            claims.judged("IV-D", "We attribute such result to the bad network performance in our test platform", shuffle),
        ]  # fmt: skip

    def by_block(self, rows, device, cache="through"):
        """Medians, told, and between which sizes they fall significantly."""
        sets = {block: self.rates(rows, "blocks", device, cache=cache, block=block) for block in BLOCKS}
        rates = {block: median(values) for block, values in sets.items()}
        falls = [(one, other) for one, other in itertools.combinations(BLOCKS, 2)
                 if rates[other] < rates[one] and compare.mann_whitney(sets[one], sets[other]).p < compare.LEVEL]  # fmt: skip
        return rates, ", ".join(f"{rate:,.0f}" for rate in rates.values()), falls

    def of_blocks(self, rows):
        sizes = ", ".join(f"{block // KIB}" for block in BLOCKS)

        def growing():
            rates, told, falls = self.by_block(rows, "HDD")
            return not falls and rates[BLOCKS[-1]] > STABLE * rates[BLOCKS[0]], f"MB/s with {sizes} KiB: {told}"

        def dip():
            rates, told, falls = self.by_block(rows, "Optane")
            _, cached, _ = self.by_block(rows, "Optane", "back")
            small, large = DIP
            return DIP in falls, (
                f"MB/s with {sizes} KiB: {told}; with {large // KIB} KiB {rates[large] / rates[small]:.2f} times those "
                f"with {small // KIB}. With bytes left in the page cache: {cached}")  # fmt: skip

        def alignment():
            found = {cache: self.by_block(rows, "Optane", cache)[2] for cache in BLOCK_CALLS}
            where = [cache for cache, falls in found.items() if DIP in falls]
            if not where:
                return None, "it does not drop here, where no file is striped"
            return False, f"it drops here too ({', '.join(where)} the page cache), where no file is striped"

        return [
            claims.judged("IV-E", "write bandwidth of HDD continues growing when the block size increases", growing),
            claims.judged("IV-E", "there is an interesting performance drop as we increase the block size from 120 KB to 2MB",
                  dip),
            claims.judged("IV-E", "We suspect such drop is because of the PVFS data alignment problem across multiple I/O "
                  "nodes", alignment),
        ]  # fmt: skip

    def of_clients(self, rows):
        numbers = ", ".join(map(str, TASKS))

        def rates(device):
            found = [self.rate(rows, "clients", device, tasks, block=CLIENT_BLOCK) for tasks in TASKS]
            told = ", ".join(f"{rate:,.0f}" for rate in found)
            return found, f"{device}, MB/s with {numbers} clients, all on one node: {told}"

        def scales():
            found, told = rates("Optane")
            return found == sorted(found), told

        def stable():
            found, told = rates("HDD")
            return max(found) / min(found) < STABLE, told

        return [
            claims.judged("IV-E", "as we increase the number of clients, the write bandwidth keeps increasing", scales),
            claims.judged("IV-E", "HDD does not have such good scalability: the write bandwidth remains relatively stable",
                  stable),
            claims.untested("IV-E", "For Optane, the bandwidth increases less than 15%, while for HDD, the bandwidth "
                            "increases 2.6x", "this machine is one node; I/O nodes are others, behind a network"),
        ]  # fmt: skip

    def of_stripes(self, rows):
        def judge():
            found = {(device, way): self.rate(rows, "stripes", device, way=way, block=STRIPE)
                     for device, way in itertools.product(DEVICES, WAYS)}  # fmt: skip
            told = "; ".join(f"{device} " + ", ".join(f"{way} {found[device, way]:,.0f}" for way in WAYS)
                             for device in DEVICES)  # fmt: skip
            better = [found[device, "collective"] > found[device, "individual"] for device in DEVICES]
            return all(better), (f"MB/s of {RANKS} ranks with blocks of one stripe in turn: {told}. "
                                 "The file system here has no stripes")  # fmt: skip

        return claims.judged("IV-E", "MPI Collective I/O performs better than MPI Independent I/O on both Optane and HDD",
                     judge)  # fmt: skip

    def table(self, rows):
        """Markdown: MB/s of all ranks, medians."""

        def shown(values):
            return f"{median(values):,.0f}" if values else "–"

        heads = [f"{device}, {tasks}" for device in DEVICES for tasks in TASKS]
        sources = [f"{device} is {name} ({devices.PROFILES[name].source})" for device, name in DEVICES.items()]
        lines = [f"Emulated devices: {'; '.join(sources)}. A write returns when the device has the bytes, but where "
                 "they are left in the page cache. Two-phase with pmio is `pmio_mode=twophase`.",
                 "", "MB/s by number of tasks:", ""]  # fmt: skip
        lines += [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
        series = [("checkpoint", "individual"), ("clients", "individual")]
        series += [("methods", way) for way in (POSIX, *WAYS)] + [("stripes", way) for way in WAYS]
        for (question, way), pmio in itertools.product(series, (False, True)):
            sets = [self.rates(rows, question, device, tasks, way, pmio=pmio) for device in DEVICES for tasks in TASKS]
            if any(sets):
                lines.append(f"| {question}, {way}{' with pmio' * pmio} | {' | '.join(map(shown, sets))} |")
        heads = [f"{block // KIB} KiB" for block in BLOCKS]
        lines += ["", "MB/s by size of block, individual:", ""]
        lines += [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
        for device, cache, pmio in itertools.product(DEVICES, BLOCK_CALLS, (False, True)):
            sets = [self.rates(rows, "blocks", device, cache=cache, pmio=pmio, block=block) for block in BLOCKS]
            if any(sets):
                cached = ", left in the page cache" if cache == "back" else ""
                lines.append(f"| {device}{cached}{' with pmio' * pmio} | {' | '.join(map(shown, sets))} |")
        return lines

    def draw(self, rows, pyplot):
        figure, panels = pyplot.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
        of_device = dict(zip(DEVICES, ("tab:blue", "tab:red")))

        def line(axes, places_of, sets, label, color, pmio, marker="o"):
            drawn = [(place, median(values)) for place, values in zip(places_of, sets) if values]
            if drawn:
                axes.plot(*zip(*drawn), "--" if pmio else "-", marker=marker, markersize=5, color=color, linewidth=1.4,
                          markerfacecolor="white" if pmio else color, label=label + " with pmio" * pmio)  # fmt: skip

        def finish(axes, title, ticks, label):
            figures.log_scale(axes)
            axes.set_xticks(range(len(ticks)), ticks)
            axes.set_xlabel(label)
            axes.set_ylabel("MB/s, all ranks")
            axes.set_title(title, loc="left", fontsize=10)
            axes.grid(axis="y", color="#dddddd", linewidth=0.5)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(fontsize=7, frameon=False)

        for axes, question in ((panels[0, 0], "checkpoint"), (panels[1, 1], "clients")):
            for device, pmio in itertools.product(DEVICES, (False, True)):
                sets = [self.rates(rows, question, device, tasks, pmio=pmio) for tasks in TASKS]
                line(axes, range(len(TASKS)), sets, device, of_device[device], pmio)
        finish(panels[0, 0], "As figure 2: checkpoints", TASKS, "tasks")
        finish(panels[1, 1], "As figure 6: clients", TASKS, "clients")
        for axes, device in zip(panels[0, 1:], DEVICES):
            for number, way in enumerate((POSIX, *WAYS)):
                for pmio in (False, True):
                    sets = [self.rates(rows, "methods", device, tasks, way, pmio=pmio) for tasks in TASKS]
                    line(axes, range(len(TASKS)), sets, way, f"C{number}", pmio, "os^v"[number])
            finish(axes, f"As figures 3 and 4: methods, {device}", TASKS, "tasks")
        for device, cache, pmio in itertools.product(DEVICES, BLOCK_CALLS, (False, True)):
            sets = [self.rates(rows, "blocks", device, cache=cache, pmio=pmio, block=block) for block in BLOCKS]
            color = of_device[device] if cache == "through" else "tab:gray"
            name = device if cache == "through" else f"{device}, page cache"
            line(panels[1, 0], range(len(BLOCKS)), sets, name, color, pmio)
        finish(panels[1, 0], f"As figure 5: block sizes, {RANKS} ranks", [f"{block // KIB}" for block in BLOCKS], "KiB")
        self.draw_stripes(rows, panels[1, 2], of_device)
        finish(panels[1, 2], f"As figure 8: methods, blocks in turn, {RANKS} ranks", list(WAYS), "")
        panels[1, 2].set_ylim(top=panels[1, 2].get_ylim()[1] * 3)  # room for the legend
        return figure

    def draw_stripes(self, rows, axes, of_device):
        for number, (device, pmio) in enumerate(itertools.product(DEVICES, (False, True))):
            sets = [self.rates(rows, "stripes", device, way=way, pmio=pmio) for way in WAYS]
            places_of = [place + (number - 1.5) * 0.2 for place, values in enumerate(sets) if values]
            axes.bar(places_of, [median(values) for values in sets if values], 0.2, edgecolor=of_device[device],
                     color="white" if pmio else of_device[device], label=device + " with pmio" * pmio)  # fmt: skip
