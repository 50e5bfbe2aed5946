"""Processes that write files by POSIX calls, and read what the next one wrote: mpiio_bench without MPI.

  posix_io.py FILE RANKS BLOCK CALLS     BLOCK bytes in each of so many calls of each process, one after the other

Output: one line of JSON with the names of mpiio_bench.
"""

import json
import multiprocessing
import os
import queue
import sys
import threading
import time


def phase(barrier, work):
    """The time of this process, from when all are ready."""
    barrier.wait()
    start = time.monotonic()
    work()
    return time.monotonic() - start


def transfer(rank, paths, offsets, block, read, barrier):
    """The times of a process. offsets: of a rank's calls."""
    own, others = offsets(rank), offsets((rank + 1) % len(paths))
    data, opened = memoryview(bytearray([rank + 1]) * (block * len(own))), []

    def each(call_at, offsets_of):
        for number, at in enumerate(offsets_of):
            if call_at(data[number * block : (number + 1) * block], at) != block:
                raise OSError(f"{paths[rank]}: a call did less than it was told")

    times = {"open_s": phase(barrier, lambda: opened.append(os.open(paths[rank], os.O_RDWR | os.O_CREAT, 0o600)))}
    [file] = opened
    times["write_s"] = phase(barrier, lambda: each(lambda part, at: os.pwrite(file, part, at), own))
    if read:
        times["read_s"] = phase(barrier, lambda: each(lambda part, at: os.preadv(file, [part], at), others))
        if not bytes(data[:1]) == bytes(data[-1:]) == bytes([(rank + 1) % len(paths) + 1]):
            raise OSError(f"{paths[rank]}: what was read is not what was written")
    times["close_s"] = phase(barrier, lambda: os.close(file))
    return times


def process(results, *arguments):
    """A failure gets to the parent."""
    try:
        results.put(transfer(*arguments))
    except (OSError, threading.BrokenBarrierError) as failure:
        results.put(f"POSIX writer: {failure!r}")


def measure(paths, block, calls, timeout, *, dealt=False, read=False):
    """What a process for each path takes: {"bytes", "ranks", "open_s", ...}, each phase's time that of the slowest.

    Of a file that all share a process writes a segment or, if dealt, every so manyth block.
    SystemExit if one fails, or does not end.
    """
    ranks, shared = len(paths), len(set(paths)) < len(paths)

    def offsets(rank):
        first, step = (0, 1) if not shared else (rank, ranks) if dealt else (rank * calls, 1)
        return [(first + call * step) * block for call in range(calls)]

    context = multiprocessing.get_context("fork")
    results, barrier = context.Queue(), context.Barrier(ranks, timeout=timeout)
    started = [context.Process(target=process, args=(results, rank, paths, offsets, block, read, barrier), daemon=True)
               for rank in range(ranks)]  # fmt: skip
    for each in started:
        each.start()
    try:
        told = [results.get(timeout=timeout) for _ in started]
    except queue.Empty:
        raise SystemExit(f"POSIX writers: no end within {timeout} s") from None
    finally:
        for each in started:
            each.join(1)
            each.kill()  # if it has not ended
            each.join()
    if failed := [each for each in told if isinstance(each, str)]:
        raise SystemExit(failed[0])
    return {"bytes": ranks * calls * block, "ranks": ranks, **{name: max(t[name] for t in told) for name in told[0]}}


def main():
    path, ranks, block, calls = sys.argv[1], *map(int, sys.argv[2:])
    print(json.dumps(measure([path] * ranks, block, calls, None, read=True)))
    os.unlink(path)


if __name__ == "__main__":
    main()
