#!/usr/bin/env python3
"""Blocks of 1 B to 16 MiB, cold and warm: how fast the complete file is there, over the best plain way.

Two ranks write blocks in turn, each by one call, and close the file. Collective calls of pmio are compared with
the fastest of the plain ways (bench/run.py has their names), which take turns with it. The fastest is the one with
the best median: the best of several single runs is better than any way is. The figure is the median of the ratios
of runs that followed each other. Amounts are such that a run takes less than about two seconds.

  bench/sweep.py --json docs/figures/sweep.json --figure docs/figures/sweep.svg
  bench/sweep.py --block 64K --block 1M --state cold
"""

import statistics
import subprocess
from pathlib import Path

from pmiolab import command_line, contestants, mpi_libraries, places, tables
from pmiolab.places import KIB, MIB

BLOCKS = [1, 8, 64, 512, 1312, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB]
MOST_BYTES, MOST_CALLS = 128 * MIB, 1 << 15  # of a rank
TARGET = 0.95
UNITS = {"K": KIB, "M": MIB}


def block_bytes(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def block_name(block):
    return next((f"{block // of} {unit}iB" for unit, of in (("M", MIB), ("K", KIB)) if block % of == 0), f"{block} B")


def measure(options, mpi, block, warm):
    """{contestant: {"log": [MB/s], "file": [MB/s]}} of all repetitions."""
    rates = {name: {"log": [], "file": []} for name in contestants.CONTESTANTS[mpi.family]}
    amount = max(8 * block, min(MOST_BYTES, MOST_CALLS * block) // options.divide)
    for _ in range(options.repetitions):
        for name, of in rates.items():
            times = contestants.run(options.build, mpi, name, ["--block", block], amount, options.work, options.log_dir,
                                    warm=warm, settings={}, timeout=options.timeout, name=block_name(block))  # fmt: skip
            of["log"].append(times["bytes"] / times["write_s"] / 1e6)
            of["file"].append(times["bytes"] / (times["write_s"] + times["close_s"]) / 1e6)
    return rates


def over_best(rates, phase):
    """Median of the ratios of pmio over the plain way with the best median, in the same repetition; its name."""
    medians = {name: statistics.median(of[phase]) for name, of in rates.items() if name != "pmio"}
    best = max(medians, key=medians.get)
    ratios = [mine / others for mine, others in zip(rates["pmio"][phase], rates[best][phase])]
    return statistics.median(ratios), best


def row_of(options, mpi, block, warm):
    rates = measure(options, mpi, block, warm)
    (file, best), (log, _) = over_best(rates, "file"), over_best(rates, "log")
    return {"block": block, "state": "warm" if warm else "cold", "log_over_best": log, "file_over_best": file,
            "best": best, "MB_per_s": rates}  # fmt: skip


def parse_options():
    parser = command_line.benchmark_parser(__doc__, repetitions=5, timeout=120)
    command_line.add_log_directory(parser)
    command_line.add_work(parser)
    parser.add_argument("--block", action="append", type=block_bytes, help="only these: bytes, K or M")
    parser.add_argument("--state", action="append", choices=("cold", "warm"), help="only this; default: both")
    parser.add_argument("--divide", type=int, default=1, help="all amounts by this, for a quick look")
    parser.add_argument("--figure", type=Path, help="draws the results: SVG or PNG")
    options = parser.parse_args()
    if options.figure and not options.json:
        parser.error("--figure draws what --json names; give both")
    return options


def main():
    options = parse_options()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    rows = []
    print(f"{mpi.tag}, {contestants.RANKS} ranks, {options.repetitions} repetitions, target of the file {TARGET}")
    for block in options.block or BLOCKS:
        for state in options.state or ("cold", "warm"):
            rows.append(row_of(options, mpi, block, state == "warm"))
            row = rows[-1]
            word = "" if row["file_over_best"] >= TARGET else "MISSED"
            file = f"{statistics.median(row['MB_per_s']['pmio']['file']):.1f} MB/s"
            print(f"{block_name(block):>8} {state}: log {row['log_over_best']:.2f}, file {row['file_over_best']:.2f} "
                  f"over {row['best']}, {file} {word}", flush=True)  # fmt: skip
            tables.write_json(options.json, {"mpi": mpi.tag, "repetitions": options.repetitions,
                                             "target": TARGET, "sweep": rows})  # fmt: skip
    if options.figure:
        figure = [places.SYSTEM_PYTHON, places.ROOT / "bench" / "figure.py", options.json, options.figure]
        raise SystemExit(subprocess.run(figure, check=False).returncode)


if __name__ == "__main__":
    main()
