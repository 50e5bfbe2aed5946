#!/usr/bin/env python3
"""Hosts, links and file system servers fail while a job on two hosts writes, drains or closes, or while its
logs are recovered.

  failures.py --mpi mpich-5.0.2 host-disk:write host-memory:drain storage:close

  host-disk     a compute host dies; its log is on its disk, durable: nothing that was acknowledged may be missing
  host-memory   the same, but its log is lost with its memory: recovery must say so, and the other host's data must be there
  isolated      a compute host is cut off for longer than anybody waits
  stopped       the leader of a node, its lowest rank, is stopped (SIGSTOP): takes minutes
  link          a compute host is cut off for a while; the job must go on
  storage       the storage hosts are cut off for a while; likewise
  master        the file system's master is killed and started again; likewise
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from pmiolab import command_line, hosts, mpi_libraries, places, process_table, spanning_jobs
from pmiolab.cluster import file_system
from pmiolab.cluster.settings import load
from pmiolab.spanning_jobs import HOSTS, NOT_ALL_NODES, RANKS

AWAY = 15  # seconds of a link or a server
SILENCE = 30  # seconds after which a host that says nothing is given up (src/peer/connection.h)
STOPPED = 300  # seconds, likewise, of a process that says nothing
PATIENCE = 20  # seconds more, for a busy machine
MORE = 120  # seconds more that MooseFS may take over a call if it was writing to the dead
CACHED = 1.5  # seconds: longer than a client of MooseFS shows the time of modification that it knows
CALLS = 360  # of a job that is to go on
LOCAL = "/mnt/local/pmio"
STORAGE = ("s1", "s2")
SLOW, FAST = "20mbit", "1gbit"  # rates of links: one with which a recovery takes seconds, and the default
FOR_A_WHILE = {
    "storage": ([["link", host, "down"] for host in STORAGE], [["link", host, "up"] for host in STORAGE]),
    "master": ([["fs-kill", "m1"]], [["fs-start", "m1"]]),
    "link": ([["link", HOSTS[1], "down"]], [["link", HOSTS[1], "up"]]),
}
MOMENTS = ("write", "drain", "close", "recovery")
FAILURES = ("host-disk", "host-memory", "isolated", "stopped", *FOR_A_WHILE)


class Wrong(Exception):
    pass


def want(holds, text):
    if not holds:
        raise Wrong(text)


def signal_all(pids, number):
    for pid in pids:
        os.kill(pid, number)


class Case:
    def __init__(self, bed, options, failure, moment, number, scratch):
        self.bed, self.options, self.failure, self.moment = bed, options, failure, moment
        self.random = random.Random(f"{failure}:{moment}:{number}")
        self.name = f"{failure}-{moment}-{number}"
        self.path = f"/mnt/pfs/{self.name}"
        self.job = spanning_jobs.Job(bed, options.build, options.mpi, scratch, self.path, self.random.randrange(1000))
        # In memory, the log dies with its host; on the host's disk, it does not.
        self.logs = LOCAL if failure != "host-memory" else "/dev/shm/pmio"
        self.dir = ["--dir", self.logs]

    def settings(self):
        quiet = {"PMIO_LOG_SIZE": "64M", "PMIO_BACKGROUND": "off"}
        draining = {"PMIO_LOG_SIZE": "1M"}
        # By default a log on a disk promises what plain MPI-IO does: a write past the log may be lost with its host.
        kept = {"PMIO_DURABILITY": "always"} if self.failure == "host-disk" else {}
        return {"PMIO_DIR": self.logs, **kept, **(quiet if self.moment in ("write", "recovery") else draining)}

    def start_and_wait(self, calls):
        self.job.start(calls, **self.settings())
        progress = self.job.progress
        moment = self.random.randrange(10, 110)
        reached = progress.closing if self.moment == "close" else lambda: progress.started() >= moment
        servers = self.storage_servers()
        reached = self.job.wait_until(reached)
        if self.moment == "close":  # a close takes as long as its drain
            signal_all(servers, signal.SIGSTOP)
        want(reached, f"the job does not get to the moment of the failure: {self.job.said()}")
        time.sleep(self.random.random() ** 3 * 0.05)

    def storage_servers(self):
        settings = load(self.bed.name)
        return [process for host in STORAGE for process in file_system.servers(settings, host)]

    def let_go(self):
        self.note_moment()
        if self.moment == "close":
            signal_all(self.storage_servers(), signal.SIGCONT)

    def run(self):
        try:
            if self.moment == "recovery":
                self.during_recovery()
            elif self.failure in FOR_A_WHILE:
                self.job_goes_on()
            else:
                self.job_dies()
        finally:
            if self.job.running():
                self.job.end()

    def note_moment(self):
        progress = self.job.progress
        where = f"in a write of ranks {progress.within_a_write()}"
        if progress.closing():
            where = f"in the close of ranks {progress.within_a_close()}"
        if self.moment != "recovery":
            print(f"  {self.name}: after {progress.started()} calls, {where}", flush=True)

    # The failure passes, and nothing is lost.

    def pass_by(self):
        begin, end = FOR_A_WHILE[self.failure]
        for words in begin:
            self.bed.must(*words)
        self.let_go()
        time.sleep(self.options.away)
        for words in end:
            self.bed.must(*words)

    def job_goes_on(self):
        self.start_and_wait(CALLS)
        self.pass_by()
        code = self.job.end(spanning_jobs.SECONDS)
        if self.failure == "link" and code not in (0, None) and "pmio:" not in self.job.said():
            print(f"  {self.name}: the MPI library did not get over it: {self.job.said().strip()[:200]}", flush=True)
            return self.recover_all()
        want(code == 0, f"the job should have gone on: exit {code}\n{self.job.said()}")
        self.expect_all()

    # The job is lost with one of its hosts.

    def job_dies(self):
        self.start_and_wait(100000)
        here = range(RANKS // len(HOSTS))
        if self.failure == "stopped":
            leader = self.random.choice([0, here.stop])
            os.kill(self.job.by_rank()[leader], signal.SIGSTOP)
            self.let_go()
            self.await_survivors([rank for rank in range(RANKS) if rank != leader], STOPPED)
        else:
            isolated = self.failure == "isolated"
            self.bed.must(*(["link", HOSTS[1], "down"] if isolated else ["crash", HOSTS[1]]))
            self.let_go()
            self.await_survivors(here, SILENCE)
            self.bed.must(*(["link", HOSTS[1], "up"] if isolated else ["boot", HOSTS[1]]))
        if self.failure == "host-memory":
            self.recover_what_is_left()
        else:
            self.recover_all()

    def await_survivors(self, survivors, bound):
        """Within `bound` seconds each of them has ended, or got an error, or waits in the MPI library for the dead."""
        begin = time.monotonic()
        self.job.wait_gone(bound + PATIENCE)
        while self.in_pmio(survivors) and time.monotonic() - begin < bound + MORE + PATIENCE:
            time.sleep(0.5)
        seconds = time.monotonic() - begin
        if hanging := self.in_pmio(survivors):
            stacks = "\n".join(process_table.stacks(pid) for pid in hanging.values())
            raise Wrong(f"ranks {[*hanging]} hang\n{self.job.said()}\n{stacks}")
        if "pmio:" in self.job.said():
            want(
                f"stays in the log '{self.logs}/job-" in self.job.said(),
                f"the log's place is not named\n{self.job.said()}",
            )
        how = self.describe(survivors)
        print(f"  {self.name}: {seconds:.0f} s after the failure {how}: {self.job.said().strip()[:300]}", flush=True)
        self.job.end()
        want(not self.job.wait_gone(MORE), "ranks outlive SIGKILL")

    def in_pmio(self, survivors):
        """{rank: process id} of the survivors that are there and wait in pmio."""
        there = {rank: process for rank, process in self.job.by_rank().items() if rank in survivors}
        progress = self.job.progress
        # A rank in a close has not said yet that its drain has failed: only what it waits for tells whether
        # it is in pmio.
        closing = [] if "pmio:" in self.job.said() else progress.within_a_close()
        asked = {rank for rank in there if progress.failed(rank) or rank in closing}
        inside = {rank for rank in asked if self.waits_in_pmio(there[rank])}
        inside |= {rank for rank in progress.within_a_write() if rank in there} - asked
        return {rank: there[rank] for rank in sorted(inside)}

    def waits_in_pmio(self, process):
        """pmio waits in poll, for locks and for files.

        MPI libraries wait in epoll, sleep, or do not wait (tests/mpi/yield.c).
        """
        try:
            where = Path(f"/proc/{process}/task/{process}/wchan").read_text()
        except OSError:
            return False  # it has ended
        return any(name in where for name in ("poll_schedule", "futex", "request_wait", "folio"))

    def describe(self, survivors):
        """What the survivors do that are not in pmio any more."""
        there = self.job.by_rank()
        groups = {
            "have ended": [rank for rank in survivors if rank not in there],
            "have their error and wait in MPI": [
                rank for rank in survivors if rank in there and self.job.progress.failed(rank)
            ],
            "wait in MPI": [rank for rank in survivors if rank in there and not self.job.progress.failed(rank)],
        }
        return ", ".join(f"ranks {ranks} {what}" for what, ranks in groups.items() if ranks)

    # Recovery.

    def fingerprint(self):
        time.sleep(CACHED)
        checksum = self.bed.must("on", HOSTS[0], "sha256sum", self.path)
        return checksum + self.bed.must("on", HOSTS[0], "stat", "-c", "%s %y", self.path)

    def recover_all(self):
        order = self.random.choice([HOSTS, HOSTS[::-1], set(HOSTS)])
        complaint = spanning_jobs.recover(self.bed, self.options.build, order, *self.dir)
        want(not complaint, f"recovery in the order {order}: {complaint}")
        self.expect_all()

    def expect_all(self, lost=()):
        """All that was acknowledged is in the file, but for the ranks whose log is lost; and nothing is left to do."""
        for host in HOSTS:
            wrong = self.job.check(host, lost=lost)
            want(not wrong, f"the file, read on {host}: {wrong}")
        left = spanning_jobs.leftovers(self.bed)
        want(not left, f"left: {left}")
        self.expect_nothing_to_do()

    def expect_nothing_to_do(self):
        before = self.fingerprint()
        for host in HOSTS:
            code, output = self.bed.run("on", host, *spanning_jobs.recovery(self.options.build, *self.dir))
            want(code == 0, f"a second recovery on {host}: exit {code}\n{output}")
            after = self.fingerprint()
            want(
                after == before, f"a second recovery, on {host}, has changed the file from\n{before}to\n{after}{output}"
            )

    def recover_what_is_left(self):
        """Recovers without the log of the second host, which held the data of its ranks."""
        first, second = HOSTS
        lost = range(RANKS // 2, RANKS)
        code, output = self.bed.run("on", first, *spanning_jobs.recovery(self.options.build, *self.dir))
        want(code == NOT_ALL_NODES and f"{second} (ranks 2-3)" in output, f"on {first}: exit {code}\n{output}")
        code, output = self.bed.run("on", second, *spanning_jobs.recovery(self.options.build, "--all"))
        want(code == 1 and "is gone" in output, f"--all on {second}: exit {code}\n{output}")
        asks = spanning_jobs.recovery(self.options.build, *self.dir, "--file", self.path)
        code, output = self.bed.run("on", second, *asks)
        want(code == NOT_ALL_NODES and f"{second} (ranks 2-3)" in output, f"asked for the file: exit {code}\n{output}")
        code, output = self.bed.run("on", first, *asks, "--lost-nodes")
        want(
            code == 1 and "LOST" in output and "ranks 2-3" in output,
            f"told that the log is lost: exit {code}\n{output}",
        )
        print(f"  {self.name}: {output.strip()}", flush=True)
        self.expect_all(lost)

    # The job is killed; the failure strikes its recovery.

    def during_recovery(self):
        self.start_and_wait(100000)
        process_table.kill(self.job.ranks())
        self.job.wait_gone(PATIENCE)
        self.job.end(PATIENCE)
        self.bed.must("rate", SLOW, *HOSTS)
        try:
            self.recover_through_failure()
        finally:
            self.bed.must("rate", FAST, *HOSTS)

    def recover_through_failure(self):
        both = spanning_jobs.Recoveries(self.bed, spanning_jobs.recovery(self.options.build, *self.dir))
        time.sleep(0.2 + self.random.random())
        if self.failure in FOR_A_WHILE:
            self.pass_by()
            results = both.end()
            codes = [code for code, _ in results.values()]
            want(sorted(codes, key=str) == [0, NOT_ALL_NODES], spanning_jobs.describe(results))
            self.expect_all()
            return
        self.bed.must("crash", HOSTS[1])
        survivor = both.running[HOSTS[0]]
        self.bed.must("boot", HOSTS[1])
        results = both.end(spanning_jobs.SECONDS)
        want(
            results[HOSTS[0]][0] in (0, NOT_ALL_NODES),
            f"beside a host that died ({survivor.pid}): {spanning_jobs.describe(results)}",
        )
        if self.failure == "host-memory":
            print(spanning_jobs.describe(results))
        self.recover_all()


def parse():
    parser = command_line.parser(__doc__)
    parser.add_argument("cases", nargs="*", metavar="FAILURE:MOMENT", help="default: all")
    parser.add_argument("--away", type=float, default=AWAY, help="seconds that a link or a server is away")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    # A log in memory is gone before a failure could strike its recovery. The recovery of an isolated host's log waits.
    senseless = {"host-memory:recovery", "isolated:recovery", "stopped:recovery"}
    every = [f"{failure}:{moment}" for failure in FAILURES for moment in MOMENTS]
    options.cases = options.cases or [case for case in every if case not in senseless]
    if unknown := set(options.cases) - set(every) | set(options.cases) & senseless:
        parser.error(f"no such case: {' '.join(sorted(unknown))}; there are {' '.join(every)}")
    options.mpi = mpi_libraries.choose(options.build, options.mpi)
    return options


def run_case(bed, options, case, number):
    """The complaint, or ''."""
    begin = time.monotonic()
    try:
        with places.temporary("failures", "/tmp") as scratch:
            Case(bed, options, *case.split(":"), number, scratch).run()
    except Wrong as wrong:
        return f"{case}, round {number}: {wrong}"
    finally:
        print(f"{case}, round {number}: {time.monotonic() - begin:.0f} s", flush=True)
    return ""


def main():
    options = parse()
    for number in range(options.rounds):
        for case in options.cases:
            with hosts.testbed(compute=len(HOSTS), servers=len(STORAGE), local="256M") as bed:
                if complaint := run_case(bed, options, case, number):
                    print(complaint)
                    return 1
    print(f"{options.mpi.tag}: {len(options.cases)} failures, {options.rounds} times: nothing to complain of")
    return 0


if __name__ == "__main__":
    sys.exit(main())
