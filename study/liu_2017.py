"""Liu et al., "Performance Evaluation and Modeling of HPC I/O on Non-Volatile Memory" (2017).

What do the page cache, a layer above POSIX, and collective I/O still give if the device is fast? Figures 4 to 7, 9 and
10, the profile of table II, the model of section IV-C by parameters that are measured here, and its figure 11.
"""

import contextlib
import itertools
import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import StatisticsError, linear_regression, mean, median

import claims
import compare
import devices
import two_phase
from pmiolab import contestants, memory_groups, mpi_jobs, mpi_libraries, places
from pmiolab.places import MIB

HERE = Path(__file__).resolve().parent

MPI = "mpich-5.0.2"
RANKS, MORE_RANKS = 2, 4  # the paper has 1 and 4 on each of 4 nodes
GIB_BYTES = 32 * MIB  # here for 1 GB of the paper, in figures 4 to 6
APPLICATIONS = {"HACC-IO": 2, "MADBench2": 4, "S3aSim": 2}  # GB of their files
CACHES = (1, 3, 11)  # GB of page cache
BLOCK = MIB  # of the applications
AMOUNT = 64 * MIB  # of all ranks, in everything else
TRANSFER = 2 * MIB  # and the collective buffer, as in section IV-D; 16 MB there
INTERLEAVED = 64 << 10  # a request of which the emulated hard drive makes as many MB/s as table IV's bdw_ran of bdw_seq
CACHE_SHARE = 8  # of the amount, the page cache of everything else
LEAST_CACHE = 4 * MIB
STEP_CALLS = 24
MESSAGES = (32 << 10, 2 * MIB, 16 * MIB)  # figure 11
LOOK_S = 0.3  # between two looks at a file that is being written
DIFFER = 1.25  # medians that are farther apart are no "almost the same"
COLLECTIVE_HINTS = {"romio_cb_write": "enable", "romio_cb_read": "enable", "cb_nodes": 1}
POSIX, INDIVIDUAL, COLLECTIVE = "POSIX", "individual", "collective"


def percents(values):
    return ", ".join(f"{name} {value:.1%}" for name, value in values.items())


def is_slower(one, other):
    """Significantly."""
    return median(one) > median(other) and compare.mann_whitney(one, other).p < compare.LEVEL


def is_written(path, amount, seconds):
    """Waits until the whole file is there and nothing has changed it for a moment; False: not within that time."""
    end, before = time.monotonic() + seconds, None
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            facts = path.stat()
            now = facts.st_size, facts.st_mtime_ns
            if now == before and facts.st_size >= amount:
                return True
            before = now
        time.sleep(LOOK_S)
    return False


class Forgetting(threading.Thread):
    """Takes a file that a job has just written out of the page cache, while the job computes for `pause` seconds."""

    def __init__(self, path, amount, pause, timeout):
        super().__init__(daemon=True)
        self.path, self.amount, self.pause, self.timeout, self.in_time = path, amount, pause, timeout, False

    def run(self):
        if not is_written(self.path, self.amount, self.timeout):
            return
        start = time.monotonic()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.in_time = time.monotonic() - start < self.pause - 2 * LOOK_S


def times(cell, told):
    """The seconds that count."""
    if cell.get("application") == "S3aSim":
        return {"seconds": told["read_again_s"]}
    write = told["open_s"] + told["write_s"] + told["close_s"]
    if cell.get("application") == "MADBench2":
        return {"seconds": write + told["read_s"]}
    return {"seconds": write, "read_s": told["read_s"]}


def most_memory(group):
    """Bytes that a group had at most."""
    found = [group.path / name for name in ("memory.max_usage_in_bytes", "memory.peak")]
    return int(next((path.read_text() for path in found if path.exists()), 64 * MIB))


class Study:
    title = "Liu et al. 2017: HPC I/O on non-volatile memory"

    def __init__(self, options):
        self.options, self.mpi, self.memory = options, mpi_libraries.choose(options.build, MPI), {}

    def scaled(self, amount, unit):
        return max(unit, round(amount * self.options.scale / unit) * unit)

    @property
    def transfer(self):
        return self.scaled(TRANSFER, 128 << 10)

    @property
    def amount(self):
        return self.scaled(AMOUNT, 8 * MORE_RANKS * self.transfer)

    def cells(self):
        """Each is measured once in a repetition."""
        both = (False, True)
        pages = [
            {"application": name, "device": device, "cache": cache, "pmio": pmio}
            for name, device, cache, pmio in itertools.product(APPLICATIONS, devices.PROFILES, CACHES, both)
            if not pmio or (cache != CACHES[1] and device != "SSD")
        ]
        ways = [
            {"way": way, "device": device, "ranks": RANKS, "pattern": "large", "pmio": pmio}
            for way, device, pmio in itertools.product((POSIX, INDIVIDUAL, COLLECTIVE), devices.PROFILES, both)
            if not pmio or way != POSIX
        ]
        ways += [
            {"way": way, "device": device, "ranks": MORE_RANKS, "pattern": "large", "pmio": False}
            for way, device in itertools.product((INDIVIDUAL, COLLECTIVE), devices.PROFILES)
        ]
        ways += [
            {"way": way, "device": device, "ranks": RANKS, "pattern": "interleaved", "pmio": pmio}
            for way, device, pmio in itertools.product((INDIVIDUAL, COLLECTIVE), devices.PROFILES, both)
            if not pmio or way == COLLECTIVE
        ]
        rates = [
            {"bandwidth": order, "device": device} for order in ("sequential", "random") for device in devices.PROFILES
        ]
        return [
            *pages,
            *ways,
            *rates,
            *({"steps": STEP_CALLS, "device": device} for device in devices.PROFILES),
            {"messages": RANKS},
        ]

    # --- one run ---

    def measure(self, cell):
        """Not by quiet.measured, which would count the kernel's threads, and they are the device here."""
        if "messages" in cell:
            return self.messages()
        amount, cache = self.sizes(cell)
        limit = self.memory_of(cell) + cache
        contestants.touch_memory(contestants.COPIES * amount)
        profile = devices.PROFILES[cell["device"]]
        with devices.mounted(profile, math.ceil(amount * 1.2 / MIB) + 64, self.options.work) as directory:
            told, _ = self.job(cell, directory / "target", amount, limit)
        return told

    def sizes(self, cell):
        """Bytes of the file, and of page cache."""
        if "application" in cell:
            amount, cache = (
                self.scaled(GIB_BYTES * gb, 2 * MIB) for gb in (APPLICATIONS[cell["application"]], cell["cache"])
            )
        else:
            amount = self.amount // 2 if "bandwidth" in cell else self.amount  # the model predicts the larger one
            cache = self.amount // CACHE_SHARE
        if "steps" in cell:
            amount = STEP_CALLS * self.transfer
        return amount, max(cache, LEAST_CACHE)

    def memory_of(self, cell):
        """Bytes that a cell's job needs without page cache: by a small one, and the data that it has more."""
        ranks, steps = cell.get("ranks", RANKS), "steps" in cell
        if steps:  # a record, and those of all ranks in an aggregator's buffer; pmio's engine has one like that
            like = {"way": INDIVIDUAL, "device": cell["device"], "ranks": RANKS, "pattern": "large", "pmio": True}
            return self.memory_of(like) - self.sizes(like)[0] + 3 * self.transfer
        key = tuple(value for name, value in cell.items() if name not in ("device", "cache"))
        if key not in self.memory:
            small = ranks * self.block(cell)[0]
            with places.temporary("study", "/dev/shm") as scratch:
                _, most = self.job(cell, scratch / "target", small, None)
            self.memory[key] = max(0, most - 2 * small)  # its data, and its file in memory
        return self.memory[key] + self.sizes(cell)[0]

    def block(self, cell):
        """Bytes of a call, and further words for mpiio_bench."""
        independent, apart = "--independent", "--segmented"
        if "application" in cell:
            words = {"HACC-IO": ["--random-order"], "MADBench2": ["--read"], "S3aSim": ["--read-again"]}
            return BLOCK, [independent, apart, *words[cell["application"]]]
        if cell.get("bandwidth") == "sequential":
            return self.transfer, [independent, "--writers", 1]
        if cell.get("bandwidth") == "random":
            return self.transfer, [independent, apart, "--random-order"]
        hints = COLLECTIVE_HINTS | {"cb_buffer_size": self.transfer}
        told = [word for key, value in hints.items() for word in ("--hint", f"{key}={value}")]
        how = [independent] if cell["way"] == INDIVIDUAL else told
        return (
            (INTERLEAVED, [*how, "--read"])
            if cell["pattern"] == "interleaved"
            else (self.transfer, [*how, apart, "--read"])
        )

    def words(self, cell, file, amount):
        """Processes that the launcher starts, and their words."""
        if "steps" in cell:
            block = self.transfer // RANKS
            return RANKS, two_phase.words(self.options.build, self.mpi, file, STEP_CALLS, block)
        ranks, (block, more) = cell.get("ranks", RANKS), self.block(cell)
        if cell.get("way") == POSIX:
            return 1, [sys.executable, HERE / "posix_io.py", file, ranks, block, amount // ranks // block]
        bytes_of = amount if cell.get("bandwidth") == "sequential" else amount // ranks
        words = [places.benchmark(self.options.build, "mpiio", self.mpi), "--file", file, "--block", block]
        return ranks, [*words, "--bytes", bytes_of, *more]

    def job(self, cell, file, amount, limit):
        """What it tells, and the most memory that it had; limit: of its memory and page cache, or None."""
        parent = memory_groups.own_group()
        if parent is None:
            raise SystemExit("no memory cgroup can be made here")
        ranks, words = self.words(cell, file, amount)
        pause, forgetting = 0, None
        if cell.get("application") == "S3aSim" and limit is not None:
            pause = 4 * LOOK_S + 2 * amount / devices.PROFILES[cell["device"]].write_mbps / 1e6
            words += ["--compute", f"{pause:.3f}"]
            forgetting = Forgetting(file, amount, pause, self.options.timeout)
        with places.temporary("study", "/dev/shm") as logs, contextlib.ExitStack() as stack:
            group = memory_groups.Group(parent, logs.name)
            stack.callback(group.remove)
            if limit is not None:
                group.set("memory.max", limit)
            more = {"wrapper": ["sh", "-c", f'echo $$ >{group.path}/cgroup.procs && exec "$@"', "sh"]}
            if cell.get("pmio") or "steps" in cell:
                hints = {"PMIO_HINTS": f"*:cb_buffer_size={self.transfer}"} if "steps" in cell else {}
                more |= {"settings": {"PMIO_DIR": logs, **hints}, "preload": [self.mpi.runtime]}
            if forgetting:
                forgetting.start()
            ended = mpi_jobs.run(self.mpi, ranks, words, timeout=self.options.timeout, **more)
            if forgetting:
                forgetting.join()
                if ended.code == 0 and not forgetting.in_time:
                    raise SystemExit("the device was too slow: the file was read while its pages were dropped")
            if group.kills():
                raise SystemExit(
                    f"{words[0].name}: killed, since {limit / MIB:.0f} MiB were too little\n{ended.output}"
                )
            most = most_memory(group)
        if "steps" in cell:
            return self.steps(ended), most
        [told] = mpi_jobs.results(ended, name=Path(words[0]).name)
        return {"bytes": told["bytes"], **times(cell, told)}, most

    def steps(self, ended):
        """Microseconds of a call: shuffled, and written; of ROMIO's steps, and of pmio's engine."""
        told = two_phase.results(ended)
        parts = {
            "plain": ("steps", two_phase.NAMES[:-1]),
            "pmio": ("pmio", ("ranges_and_counts", "copies", "messages", "waiting")),
        }
        found = {}
        for who, (part, shuffled) in parts.items():
            if part in told:
                found[f"{who}_shuffle_us"] = sum(told[part][step]["median_us"] for step in shuffled)
                found[f"{who}_write_us"] = told[part]["write"]["median_us"]
        return found

    def messages(self):
        """Of ping-pong between ranks: seconds whatever the size, and seconds per byte."""
        words = [self.options.build / "lib" / f"pmio-messages-{self.mpi.tag}", "--rounds", 3, "--seconds", 1]
        [told] = mpi_jobs.measure(self.mpi, RANKS, words, name="messages", timeout=self.options.timeout)
        line = linear_regression(told["bytes"], [median(column) for column in zip(*told["within"])])
        return {"T_s": max(0.0, line.intercept), "T_w": line.slope}

    # --- what it shows ---

    def page(self, rows, name, device, cache, pmio=False):
        return rows.values("seconds", application=name, device=device, cache=cache, pmio=pmio)

    def way(self, rows, way, device, ranks=RANKS, pattern="large", pmio=False, key="seconds"):
        return rows.values(key, way=way, device=device, ranks=ranks, pattern=pattern, pmio=pmio)

    def reduction(self, rows, name, device, less, more):
        """Of the performance, if the page cache has `less` GB instead of `more`."""
        return 1 - median(self.page(rows, name, device, more)) / median(self.page(rows, name, device, less))

    def claims(self, rows):
        return [
            *self.of_page_cache(rows),
            *self.of_layers(rows),
            *self.of_collective(rows),
            *self.of_shuffling(rows),
            *self.of_model(rows),
            *self.of_printed(),
            *self.of_trade_off(rows),
        ]

    def of_page_cache(self, rows):
        least, middle, most = CACHES

        def drops(name, less, more):
            return {device: self.reduction(rows, name, device, less, more) for device in devices.PROFILES}

        def no_difference():
            sets = {device: self.page(rows, "HACC-IO", device, most) for device in devices.PROFILES}
            medians = {device: median(values) for device, values in sets.items()}
            some = [p for p in compare.dunn(sets).values() if p < compare.LEVEL]
            factor = max(medians.values()) / min(medians.values())
            return (
                factor < DIFFER,
                f"the slowest takes {factor:.2f} times as long as the fastest; "
                f"{len(some)} of 3 pairs differ (Dunn, Holm)",
            )

        def hacc():
            found = drops("HACC-IO", least, most)
            return found["NVM"] < min(found["HDD"], found["SSD"]), f"reduced by {percents(found)}"

        def stable():
            found = drops("MADBench2", middle, most)
            return all(
                abs(drop) < 1 - 1 / DIFFER for drop in found.values()
            ), f"from 11 to 3 GB reduced by {percents(found)}"

        def best():
            cases = list(itertools.product(("MADBench2", "S3aSim"), CACHES))
            won = [
                (name, cache)
                for name, cache in cases
                if min(devices.PROFILES, key=lambda device: median(self.page(rows, name, device, cache))) == "NVM"
            ]
            return len(won) == len(cases), f"by the medians it is the fastest in {len(won)} of {len(cases)} cases"

        def accesses():
            mad, s3a = (self.reduction(rows, name, "NVM", least, middle) for name in ("MADBench2", "S3aSim"))
            return (
                mad > s3a,
                f"MADBench2 by {mad:.1%}, S3aSim by {s3a:.1%}. S3aSim's file is read once, from the device",
            )

        def insensitive():
            found = {name: drops(name, least, most) for name in APPLICATIONS}
            holds = all(of["NVM"] < min(of["HDD"], of["SSD"]) for of in found.values())
            return holds, "from 11 to 1 GB reduced: " + "; ".join(
                f"{name} {percents(of)}" for name, of in found.items()
            )

        return [
            claims.judged(
                "III-A",
                "When the page cache size is large (e.g., 9GB and 11GB), there is almost no performance "
                "difference between the three devices",
                no_difference,
            ),
            claims.judged(
                "III-A",
                "and SSD is reduced by 92.7% and 84.8% respectively, while the performance with NVM is only "
                "reduced by 11.5%",
                hacc,
            ),
            claims.judged(
                "III-A",
                "As we decrease the cache size from 11GB to 3GB, the performance on the three devices remains stable",
                stable,
            ),
            claims.judged("III-A", "the NVM has the best performance in all cases", best),
            claims.judged(
                "III-A",
                "MADBench2 on NVM has significant performance reduction, 40.16%, while S3aSim on NVM has only "
                "5.91% performance reduction",
                accesses,
            ),
            claims.judged(
                "III-A",
                "Compared with the traditional HDD and SSD, NVM is relatively insensitive to the page cache size",
                insensitive,
            ),
        ]

    def of_layers(self, rows):
        def overhead(device):
            posix, mpi = (self.way(rows, way, device) for way in (POSIX, INDIVIDUAL))
            return median(mpi) / median(posix) - 1, compare.mann_whitney(mpi, posix).p

        def slow():
            found = {device: overhead(device) for device in ("HDD", "SSD")}
            holds = all(abs(more) < DIFFER - 1 for more, _ in found.values())
            return holds, "MPI-IO takes longer by " + ", ".join(
                f"{device} {more:.1%} (p = {p:.2f})" for device, (more, p) in found.items()
            )

        def fast():
            more, p = overhead("NVM")
            return (
                0 < more < DIFFER - 1,
                f"MPI-IO takes longer by {more:.1%}, p = {p:.2f} (Mann and Whitney), open and close included",
            )

        return [
            claims.judged(
                "III-B",
                "there is almost no performance difference between MPI individual I/O and POSXI I/O on a single "
                "node for HDD and SSD",
                slow,
            ),
            claims.judged(
                "III-B",
                "when we use NVM, we notice that POSIX I/O performs slightly better than MPI individual I/O by 4.87%",
                fast,
            ),
            claims.untested(
                "III-B",
                "MPI individual I/O has almost no performance difference than POSIX I/O in all cases, no "
                "matter whether we use HDD, SSD, and NVM",
                "figure 8 is of four nodes and an NFS server; here is one node",
            ),
        ]

    def benefit(self, rows, device, ranks, pattern, key):
        """Of collective I/O: the time of individual I/O over its own."""
        way = {"device": device, "ranks": ranks, "pattern": pattern, "key": key}
        return median(self.way(rows, INDIVIDUAL, **way)) / median(self.way(rows, COLLECTIVE, **way))

    def of_collective(self, rows):
        cases = [
            ("large", RANKS, "seconds"),
            ("large", RANKS, "read_s"),
            ("large", MORE_RANKS, "seconds"),
            ("large", MORE_RANKS, "read_s"),
            ("interleaved", RANKS, "seconds"),
            ("interleaved", RANKS, "read_s"),
        ]

        def words(case):
            return f"{case[0]}, {case[1]} ranks, {'writes' if case[2] == 'seconds' else 'reads'}"

        def hard_drive():
            found = {case: self.benefit(rows, "HDD", case[1], case[0], case[2]) for case in cases}
            busy = [found[case] for case in cases if case[1] == MORE_RANKS]
            return all(factor > 1 for factor in busy), "individual over collective time: " + "; ".join(
                f"{words(case)} {factor:.2f}" for case, factor in found.items()
            ) + ". The emulation has operations per second, but no seeks"

        def worse():
            all_of_them = list(itertools.product(("SSD", "NVM"), cases))
            found = {
                (device, case): self.benefit(rows, device, case[1], case[0], case[2]) for device, case in all_of_them
            }
            sure = sum(
                is_slower(
                    *(self.way(rows, way, device, case[1], case[0], key=case[2]) for way in (COLLECTIVE, INDIVIDUAL))
                )
                for device, case in all_of_them
            )
            better = [f"{device}, {words(case)} {factor:.2f}" for (device, case), factor in found.items() if factor > 1]
            return not better, f"worse in {len(found) - len(better)} of {len(found)} cases, significantly in {sure}" + (
                f"; better: {'; '.join(better)}" if better else ""
            )

        def processes():
            found = {
                device: [1 / self.benefit(rows, device, ranks, "large", "seconds") for ranks in (RANKS, MORE_RANKS)]
                for device in devices.PROFILES
            }
            return all(
                more > less for less, more in found.values()
            ), "collective over individual time of writes by 2 and 4 ranks of one node: " + ", ".join(
                f"{device} {a:.2f} and {b:.2f}" for device, (a, b) in found.items()
            )

        return [
            claims.judged(
                "III-C",
                "For HDD with intensive I/O operations (i.e., 4 processes per node), the collective I/O performs "
                "better",
                hard_drive,
            ),
            claims.judged("III-C", "for SSD and NVM, MPI collective I/O always performs worse than MPI individual I/O", worse),
            claims.judged(
                "III-C",
                "the performance difference between MPI collective I/O and individual I/O becomes bigger in the "
                "case of 4 processes per node than in the case of 1 process per node",
                processes,
            ),
        ]

    def shuffling(self, rows, device, who="plain"):
        """Microseconds of a call: shuffling, and writing."""
        return [
            median(rows.values(f"{who}_{part}_us", steps=STEP_CALLS, device=device)) for part in ("shuffle", "write")
        ]

    def share(self, rows, device, who="plain"):
        shuffle, write = self.shuffling(rows, device, who)
        return shuffle / (shuffle + write)

    def of_shuffling(self, rows):
        def ratio():
            found = {device: self.share(rows, device) for device in devices.PROFILES}
            return found["HDD"] < found["SSD"] < found[
                "NVM"
            ], f"of the two medians: {percents(found)}; shuffled is within a node"

        def stable():
            found = {device: self.shuffling(rows, device)[0] / 1000 for device in devices.PROFILES}
            return max(found.values()) < DIFFER * min(found.values()), "ms of a call: " + ", ".join(
                f"{device} {took:.2f}" for device, took in found.items()
            )

        return [
            claims.judged(
                "IV-B",
                "from HDD, SSD, to NVM, the ratio of shuffle time to total collective I/O time increases from 7.85% "
                "to 50.16%",
                ratio,
            ),
            claims.judged("IV-B", "the shuffle time remains stable across the cases of HDD, SSD, and NVM", stable),
        ]

    # --- the model; seconds and bytes ---

    def bandwidth(self, rows, order, device):
        amounts = rows.values("bytes", bandwidth=order, device=device)
        return median(amounts) / median(rows.values("seconds", bandwidth=order, device=device))

    def shuffle_cost(self, rows, size, ranks):
        """Equation 2 of one iteration, with one aggregator."""
        first, further = (median(rows.values(name, messages=RANKS)) for name in ("T_s", "T_w"))
        return first + further * size * (ranks - 1) / ranks

    def estimate(self, rows, way, device, ranks):
        """Equations 1 and 4."""
        if way == INDIVIDUAL:
            return self.amount / self.bandwidth(rows, "random", device)
        shuffling = self.amount / self.transfer * self.shuffle_cost(rows, self.transfer, ranks)
        return shuffling + self.amount / self.bandwidth(rows, "sequential", device)

    def trade_off(self, rows, device, size):
        """Figure 11: the cost of shuffling, and the benefit of collective I/O; seconds."""
        cost = self.shuffle_cost(rows, size, RANKS)
        random, sequential = (size / self.bandwidth(rows, order, device) for order in ("random", "sequential"))
        return cost, random - (sequential + cost)

    def of_model(self, rows):
        cases = list(itertools.product((INDIVIDUAL, COLLECTIVE), (RANKS, MORE_RANKS)))

        def both(way, ranks):
            return [
                {device: work(device) for device in devices.PROFILES}
                for work in (
                    lambda device: self.estimate(rows, way, device, ranks),
                    lambda device: median(self.way(rows, way, device, ranks)),
                )
            ]

        def accuracy():
            errors = {
                (way, ranks, device): abs(estimated[device] / measured[device] - 1)
                for way, ranks in cases
                for estimated, measured in [both(way, ranks)]
                for device in estimated
            }
            worst = max(errors, key=errors.get)
            return (
                max(errors.values()) <= 0.144,
                f"by parameters of this machine {mean(errors.values()):.1%} on average; the "
                f"worst, {errors[worst]:.1%}, is {worst[0]} on {worst[2]} with {worst[1]} ranks",
            )

        def trend():
            right = 0
            for case in cases:
                estimated, measured = both(*case)
                right += sorted(estimated, key=estimated.get) == sorted(measured, key=measured.get)
            return right == len(cases), f"the order of the devices is right in {right} of {len(cases)} cases"

        return [
            claims.judged(
                "IV-D",
                "our model achieves high accuracy in 12 validation tests (average error 4.93% and at most 14.4%)",
                accuracy,
            ),
            claims.judged(
                "IV-D",
                "our model correctly captures performance trend across the three devices in different cases",
                trend,
            ),
            claims.untested(
                "IV-C",
                "between SSD and NVM, there is no big difference",
                "the paper's bandwidths end at its network, and here is none",
            ),
        ]

    def of_printed(self):
        """The paper's figures by its own equations."""
        words = [places.pmio(self.options.build), "model", "liu", "--json"]
        told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        figures = [row for section in told["sections"] for row in section.get("rows", ())]
        of = {row["item"]: row for row in figures if "item" in row}
        largest, average = of["largest"], of["mean"]
        taus = [row for row in figures if "tau that gives it" in row.get("item", "")]
        return [
            claims.held(
                "V, VI (tables)",
                "average error 4.93% and at most 14.4%",
                largest["follows"] and average["follows"],
                f"the printed times give {average['recomputed']:.2f}% and {largest['recomputed']:.2f}%; "
                f"{told['follow']} of {told['figures']} printed figures follow from the paper's equations",
            ),
            claims.held(
                "IV-C",
                "has a great match to the real value of τ",
                all(row["follows"] for row in taus),
                "; ".join(
                    f"{row['item']}: {row['recomputed']:.3f}, and it is estimated as {row['paper']}" for row in taus
                ),
            ),
        ]

    def of_trade_off(self, rows):
        def found():
            return {device: [self.trade_off(rows, device, size) for size in MESSAGES] for device in devices.PROFILES}

        def told(of):
            return "; ".join(
                f"{device} " + ", ".join(f"{1e3 * cost:.2f} and {1e3 * gain:.2f}" for cost, gain in points)
                for device, points in of.items()
            )

        def increase():
            of = found()
            grows = all(list(column) == sorted(column) for points in of.values() for column in zip(*points))
            return grows, f"cost and benefit in ms, of 32 KiB, 2 and 16 MiB: {told(of)}"

        def larger():
            of = found()
            case = [device for device in ("SSD", "NVM") if any(cost <= gain for cost, gain in of[device])]
            return not case, f"it is smaller on {' and '.join(case)}" if case else "it is larger with each message"

        def hard_drive():
            of = found()["HDD"]
            holds = of[0][0] > of[0][1] and all(cost < gain for cost, gain in of[1:])
            return holds, "cost and benefit in ms: " + ", ".join(
                f"{1e3 * cost:.2f} and {1e3 * gain:.2f}" for cost, gain in of
            )

        return [
            claims.judged(
                "IV-E",
                "both data shuffling cost and collective I/O benefit increase as the message size increases",
                increase,
            ),
            claims.judged(
                "IV-E",
                "although the data shuffling cost is larger than the benefit when the message size is small (32KB), "
                "the data shuffling cost is smaller than the benefit when the message size is large (2MB and 16MB)",
                hard_drive,
            ),
            claims.judged("IV-E", "for SSD and NVM, the data shuffling cost is always larger than the benefit", larger),
        ]

    def table(self, rows):
        """Markdown: MB/s of all processes, medians."""

        def rate(amount, seconds):
            return f"{amount / median(seconds) / 1e6:,.0f}" if seconds else "–"

        head = " | ".join(
            f"{device}{' with pmio' if pmio else ''}" for device in devices.PROFILES for pmio in (False, True)
        )
        lines = [f"| MB/s | {head} |", "|---|" + "---|" * 6]
        who = list(itertools.product(devices.PROFILES, (False, True)))
        for name, cache in itertools.product(APPLICATIONS, CACHES):
            cell = {"application": name, "device": "", "cache": cache}
            amount = self.sizes(cell)[0] * (2 if name == "MADBench2" else 1)
            rates = [rate(amount, self.page(rows, name, device, cache, pmio)) for device, pmio in who]
            lines.append(f"| {name}, {cache} GB of page cache | " + " | ".join(rates) + " |")
        kinds = [("large", RANKS, way) for way in (POSIX, INDIVIDUAL, COLLECTIVE)]
        kinds += [("large", MORE_RANKS, way) for way in (INDIVIDUAL, COLLECTIVE)]
        kinds += [("interleaved", RANKS, way) for way in (INDIVIDUAL, COLLECTIVE)]
        for (pattern, ranks, way), (key, words) in itertools.product(kinds, (("seconds", "write"), ("read_s", "read"))):
            rates = [rate(self.amount, self.way(rows, way, device, ranks, pattern, pmio, key)) for device, pmio in who]
            lines.append(f"| {words}: {way}, {pattern}, {ranks} ranks | " + " | ".join(rates) + " |")
        for order in ("sequential", "random"):
            rates = [
                rate(self.amount // 2, [] if pmio else rows.values("seconds", bandwidth=order, device=device))
                for device, pmio in who
            ]
            lines.append(f"| write, {order}, as the model has it | " + " | ".join(rates) + " |")
        sizes = (
            f"1 GB of the paper is {self.scaled(GIB_BYTES, 2 * MIB) // MIB} MiB in the rows of applications. "
            f"The others have files of {self.amount // MIB} MiB, and page cache for an eighth of it."
        )
        return [*lines, "", sizes, *self.devices_told()]

    def devices_told(self):
        return ["", "The devices:", "", *(f"- {name}: {profile.source}" for name, profile in devices.PROFILES.items())]

    # --- the figure ---

    def draw(self, rows, pyplot):
        figure, panels = pyplot.subplots(2, 3, figsize=(12, 7), layout="constrained")
        colours = dict(zip(devices.PROFILES, ("#8c564b", "#1f77b4", "#2ca02c")))
        for axes, name in zip(panels[0], APPLICATIONS):
            self.draw_page(axes, rows, name, colours)
        self.draw_ways(panels[1][0], rows, pyplot)
        self.draw_shares(panels[1][1], rows)
        self.draw_trade_off(panels[1][2], rows, colours)
        for axes in panels.flat:
            axes.grid(axis="y", color="#dddddd", linewidth=0.5)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
            if axes.get_legend_handles_labels()[0]:
                axes.legend(fontsize=8, frameon=False)
        return figure

    def draw_page(self, axes, rows, name, colours):
        amount = self.sizes({"application": name, "cache": 1})[0] * (2 if name == "MADBench2" else 1)
        for (device, colour), pmio in itertools.product(colours.items(), (False, True)):
            found = {cache: self.page(rows, name, device, cache, pmio) for cache in CACHES}
            at = [cache for cache in CACHES if found[cache]]
            rates = [amount / median(found[cache]) / 1e6 for cache in at]
            if at:
                axes.plot(
                    at,
                    rates,
                    "s--" if pmio else "o-",
                    color=colour,
                    markersize=5,
                    fillstyle="none" if pmio else "full",
                    linewidth=1,
                    label=f"{device} with pmio" if pmio else device,
                )
        axes.set_xticks(CACHES)
        axes.set_xlabel("page cache, GB of the paper")
        axes.set_ylabel("MB/s, all ranks")
        axes.set_ylim(bottom=0)
        axes.set_title(f"{name}, a file of {APPLICATIONS[name]} GB", loc="left", fontsize=10)

    def draw_ways(self, axes, rows, pyplot):
        bars = [
            ("POSIX", POSIX, "large"),
            ("individual", INDIVIDUAL, "large"),
            ("collective", COLLECTIVE, "large"),
            ("individual, 64 KiB", INDIVIDUAL, "interleaved"),
            ("collective, 64 KiB", COLLECTIVE, "interleaved"),
        ]
        width = 0.8 / len(bars)
        for number, (label, way, pattern) in enumerate(bars):
            for pmio in (False, True):
                found = {
                    place: self.way(rows, way, device, RANKS, pattern, pmio)
                    for place, device in enumerate(devices.PROFILES)
                }
                at = [place + (number - len(bars) / 2 + 0.5) * width for place, seconds in found.items() if seconds]
                rates = [self.amount / median(seconds) / 1e6 for seconds in found.values() if seconds]
                if pmio:
                    axes.plot(
                        at,
                        rates,
                        "k_",
                        markersize=8,
                        label="with pmio" if way == COLLECTIVE and pattern == "large" else None,
                    )
                else:
                    axes.bar(at, rates, width, color=pyplot.cm.tab10(number), label=label)
        axes.set_xticks(range(len(devices.PROFILES)), devices.PROFILES)
        axes.set_ylabel("MB/s, all ranks")
        axes.set_title("Writes of two ranks", loc="left", fontsize=10)

    def draw_shares(self, axes, rows):
        for number, (who, label) in enumerate((("plain", "step by step"), ("pmio", "pmio's engine"))):
            known = [
                (place, device)
                for place, device in enumerate(devices.PROFILES)
                if rows.values(f"{who}_shuffle_us", steps=STEP_CALLS, device=device)
            ]
            axes.bar(
                [place + 0.4 * number - 0.2 for place, _ in known],
                [100 * self.share(rows, device, who) for _, device in known],
                0.4,
                label=label,
            )
        axes.set_xticks(range(len(devices.PROFILES)), devices.PROFILES)
        axes.set_ylabel("% of collective writes")
        axes.set_ylim(0, 100)
        axes.set_title("Shuffling (table II)", loc="left", fontsize=10)

    def draw_trade_off(self, axes, rows, colours):
        try:
            found = {device: [self.trade_off(rows, device, size) for size in MESSAGES] for device in colours}
        except StatisticsError:
            return
        places_of = range(len(MESSAGES))
        axes.plot(places_of, [1e3 * cost for cost, _ in found["HDD"]], "k^--", linewidth=1, label="cost of shuffling")
        for device, points in found.items():
            axes.plot(
                places_of,
                [1e3 * gain for _, gain in points],
                "o-",
                linewidth=1,
                color=colours[device],
                label=f"benefit, {device}",
            )
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_xticks(places_of, [f"{size // MIB} MiB" if size >= MIB else f"{size >> 10} KiB" for size in MESSAGES])
        axes.set_xlabel("message")
        axes.set_ylabel("ms of an iteration")
        axes.set_title("Cost and benefit by the model (figure 11)", loc="left", fontsize=10)
