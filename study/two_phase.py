"""The steps of two-phase I/O, by `pmio bench steps`."""

import json

from pmiolab import places

NAMES = ("ranges", "counts", "requests", "data", "write")  # of carneiro-2018's table III, one to five


def words(build, mpi, file, calls, block=None):
    """For each rank of the launcher; block: bytes of a rank's call, if not the program's own choice."""
    sized = [] if block is None else ["--bytes", block]
    return [places.pmio(build), "bench", "steps", "--mpi", mpi.tag, "--json", "--calls", calls, *sized, "--file", file]


def results(ended):
    """What a job has printed. SystemExit if it failed."""
    if ended.code != 0:
        raise SystemExit(f"pmio bench steps: {ended.how}\n{ended.output}")
    return json.loads(ended.output[ended.output.index("{") : ended.output.rindex("}") + 1])


def medians(found):
    """Microseconds of a call by step, of results()."""
    return {name: found["steps"][name]["median_us"] for name in NAMES}
