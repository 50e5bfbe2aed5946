#!/usr/bin/env python3
"""Kills all ranks at random moments, recovers, and checks that every acknowledged write is in the file.

Each round: a job writes versioned cells (tests/mpi/crash_writer.h) through a small log, so that it drains all
the time, and closes and opens its file again and again. At a random call, or around a close, every process of
the job gets SIGKILL. `pmio recover` then runs; in some rounds it is killed itself at random moments and
started again. The file must hold every acknowledged version or a later one and no foreign byte, and a second
recovery must change nothing, not even the time stamp. With --abort one rank calls MPI_Abort instead; what the
launcher does to the others is its own affair.

  crash.py --kills 200 --mpi mpich-5.0.2 --ranks 2
"""

import time

from pmiolab import killed_jobs, process_table, processes


class Abort(killed_jobs.Round):
    """The job ends itself, at a random call of one rank."""

    def start(self):
        self.abort_at = self.random.randrange(self.options.calls)
        return super().start()

    def arguments(self):
        return [*super().arguments(), self.abort_at]

    def write_and_kill(self):
        job = self.start()
        segments, deadline = set(), time.monotonic() + self.options.timeout
        try:
            while job.poll() is None and time.monotonic() < deadline:
                segments |= process_table.shared_segments(self.progress.pids())
                time.sleep(0.01)
            ended = job.poll()
            if left := process_table.wait_gone(self.progress.pids()):
                raise killed_jobs.Failure(f"processes outlive MPI_Abort: {left}")
        finally:
            if job.poll() is None:
                self.kill_job(job)
            else:
                processes.finish(job, timeout=None)
            for segment in segments:
                segment.unlink(missing_ok=True)
        self.output.close()
        if ended in (0, None) or self.progress.finished():
            raise killed_jobs.Failure(f"MPI_Abort before call {self.abort_at}, and the job ended with {ended}")


if __name__ == "__main__":
    given = killed_jobs.parse_options(__doc__)
    raise SystemExit(killed_jobs.run_rounds(given, Abort if given.abort else killed_jobs.Round))
