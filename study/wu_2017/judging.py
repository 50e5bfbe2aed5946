"""The paper's claims, and whether they hold."""

import itertools
import os
from statistics import median

import claims
import compare
from pmiolab.places import KIB, MIB

from .workload import (
    BLOCK_CALLS,
    BLOCKS,
    CLIENT_BLOCK,
    DEVICES,
    POSIX,
    RANKS,
    SERVER_TASKS,
    SERVERS,
    STRIPE,
    TASKS,
    TRANSFER,
    WAYS,
)

FEW, MANY = (1, 4), 8  # the paper: 1 and 4, and 16
DIP = (128 * KIB, 2 * MIB)  # the paper: 120 KB and 2 MB
ALIKE = 1.1  # medians that are not farther apart
STABLE = 1.5
LITTLE, MUCH = 1.15, 2.0  # the paper: less than 15 %, and 2.6 times


def claims_of(results):
    return [*of_devices(results), *of_checkpoints(results), *of_methods(results), *of_blocks(results),
            *of_clients(results), of_stripes(results)]  # fmt: skip


def of_devices(results):
    def told(device, operation):
        in_turn, random = (results.raw(device, f"{operation}_{key}") for key in ("mbps", "iops"))
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


def of_checkpoints(results):
    def gain(tasks, cache="through"):
        fast, slow = (results.rate("checkpoint", device, tasks, cache=cache) for device in DEVICES)
        return fast / slow

    def gains():
        raw = results.raw("Optane", "write_mbps") / results.raw("HDD", "write_mbps")
        most = max(gain(tasks) for tasks in TASKS)
        return most, raw, f"Optane writes checkpoints up to {most:.1f} times as fast as HDD, raw {raw:.1f} times"

    def smaller():
        most, raw, told = gains()
        return most < raw, f"{told}. With bytes left in the page cache: {gain(RANKS, 'back'):.1f} times"

    def network():
        most, raw, told = gains()
        return most > raw / ALIKE, f"{told}, without any network"

    def per_task():
        few, many = ([rate / tasks for rate in results.rates("checkpoint", "Optane", tasks)] for tasks in (4, 8))
        shares = ", ".join(f"{results.rate('checkpoint', 'Optane', tasks) / tasks:,.0f}" for tasks in TASKS)
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


def of_methods(results):
    def more(device, tasks, way, than, question="methods"):
        """How many times as long it takes, and the probability."""
        first, second = (results.rates(question, device, tasks, each) for each in (way, than))
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


def of_blocks(results):
    sizes = ", ".join(f"{block // KIB}" for block in BLOCKS)

    def growing():
        rates, told, falls = results.by_block("HDD")
        return not falls and rates[BLOCKS[-1]] > STABLE * rates[BLOCKS[0]], f"MB/s with {sizes} KiB: {told}"

    def dip():
        rates, told, falls = results.by_block("Optane")
        _, cached, _ = results.by_block("Optane", "back")
        small, large = DIP
        return DIP in falls, (
            f"MB/s with {sizes} KiB: {told}; with {large // KIB} KiB {rates[large] / rates[small]:.2f} times those "
            f"with {small // KIB}. With bytes left in the page cache: {cached}")  # fmt: skip

    def alignment():
        found = {cache: results.by_block("Optane", cache)[2] for cache in BLOCK_CALLS}
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


def of_clients(results):
    numbers = ", ".join(map(str, TASKS))

    def rates(device):
        found = [results.rate("clients", device, tasks, block=CLIENT_BLOCK) for tasks in TASKS]
        told = ", ".join(f"{rate:,.0f}" for rate in found)
        return found, f"{device}, MB/s with {numbers} clients, all on one node: {told}"

    def scales():
        found, told = rates("Optane")
        return found == sorted(found), told

    def stable():
        found, told = rates("HDD")
        return max(found) / min(found) < STABLE, told

    def io_nodes():
        found = {device: results.by_servers(device) for device in DEVICES}
        gains = {device: rates[-1] / rates[0] for device, rates in found.items()}
        told = "; ".join(f"{device} {', '.join(f'{rate:,.0f}' for rate in rates)}, {gains[device]:.2f} times"
                         for device, rates in found.items())  # fmt: skip
        return gains["Optane"] < LITTLE and gains["HDD"] > MUCH, (
            f"MB/s of {SERVER_TASKS} tasks of one host, with {', '.join(map(str, SERVERS))} I/O nodes of MooseFS behind "
            f"links of 1 Gbit/s: {told}")  # fmt: skip

    return [
        claims.judged("IV-E", "as we increase the number of clients, the write bandwidth keeps increasing", scales),
        claims.judged("IV-E", "HDD does not have such good scalability: the write bandwidth remains relatively stable",
              stable),
        claims.judged("IV-E", "For Optane, the bandwidth increases less than 15%, while for HDD, the bandwidth increases "
              "2.6x", io_nodes),
    ]  # fmt: skip


def of_stripes(results):
    def judge():
        found = {(device, way): results.rate("stripes", device, way=way, block=STRIPE)
                 for device, way in itertools.product(DEVICES, WAYS)}  # fmt: skip
        told = "; ".join(f"{device} " + ", ".join(f"{way} {found[device, way]:,.0f}" for way in WAYS)
                         for device in DEVICES)  # fmt: skip
        nodes = {(device, way): results.rate("striped", device, SERVER_TASKS, way, block=STRIPE)
                 for device, way in itertools.product(DEVICES, ("individual", "collective"))}  # fmt: skip
        behind = "; ".join(f"{device} individual {nodes[device, 'individual']:,.0f}, collective "
                           f"{nodes[device, 'collective']:,.0f}" for device in DEVICES)  # fmt: skip
        return None, (
            f"no file system here has stripes: MooseFS has so short a file on one I/O node. MB/s of {SERVER_TASKS} "
            f"ranks of one host there, blocks of 64 KiB in turn: {behind}. Of {RANKS} ranks on a device of their own: "
            f"{told}")  # fmt: skip

    return claims.judged("IV-E", "MPI Collective I/O performs better than MPI Independent I/O on both Optane and HDD",
                 judge)  # fmt: skip
