"""Processes that write a file by POSIX calls and read what the next one wrote: mpiio_bench --segmented without MPI.

  posix_io.py FILE RANKS BYTES BLOCK     BYTES of each process, BLOCK of each call

Output: one line of JSON with the names of mpiio_bench. A phase's time is that of the slowest process.
"""

import json
import multiprocessing
import os
import sys
import time


def phase(barrier, work):
    """The time of this process, from when all are ready."""
    barrier.wait()
    start = time.monotonic()
    work()
    return time.monotonic() - start


def process(rank, path, ranks, amount, block, barrier, results):
    data, opened = memoryview(bytearray([rank + 1]) * amount), []

    def write():
        for at in range(0, amount, block):
            if os.pwrite(opened[0], data[at : at + block], rank * amount + at) != len(data[at : at + block]):
                raise OSError(f"{path}: a short write")

    def read():
        for at in range(0, amount, block):
            os.preadv(opened[0], [data[at : at + block]], (rank + 1) % ranks * amount + at)

    times = {"open_s": phase(barrier, lambda: opened.append(os.open(path, os.O_RDWR | os.O_CREAT, 0o600)))}
    times |= {"write_s": phase(barrier, write), "read_s": phase(barrier, read)}
    times["close_s"] = phase(barrier, lambda: os.close(opened[0]))
    results.put((times, bytes(data[:1]) == bytes(data[-1:]) == bytes([(rank + 1) % ranks + 1])))


def main():
    path, ranks, amount, block = sys.argv[1], *map(int, sys.argv[2:])
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(ranks), context.Queue()
    workers = [
        context.Process(target=process, args=(rank, path, ranks, amount, block, barrier, results), daemon=True)
        for rank in range(ranks)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode != 0 for worker in workers):
        raise SystemExit("posix_io: a process failed")
    told = [results.get() for _ in workers]
    if not all(right for _, right in told):
        raise SystemExit("posix_io: what was read is not what was written")
    slowest = {name: max(times[name] for times, _ in told) for name in told[0][0]}
    print(json.dumps({"bytes": ranks * amount, "ranks": ranks, **slowest}))
    os.unlink(path)


if __name__ == "__main__":
    main()
