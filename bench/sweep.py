#!/usr/bin/env python3
"""Blocks of 1 B to 16 MiB, cold and warm: how fast the complete file is there, over the best plain way.

Two ranks write blocks in turn, each by one call, and close the file. Collective calls of pmio are compared with
the fastest of the plain ways (bench/run.py has their names), which take turns with it. The fastest is the one with
the best median: the best of several single runs is better than any way is. The figure is the median of the ratios
of runs of the same repetition, with its quartiles. A run that others have disturbed is made again (pmiolab/quiet.py).
Amounts are such that a run takes less than about two seconds. Exit 1: the complete file misses its target at some
size.

  bench/sweep.py --json sweep.json --figure sweep.svg
  bench/sweep.py --block 64K --block 1M --state cold
"""

import statistics
import subprocess

from pmiolab import command_line, comparison, contestants, mpi_libraries, places, quiet, tables
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
    rates = {name: {} for name in contestants.CONTESTANTS[mpi.family]}
    amount = max(8 * block, min(MOST_BYTES, MOST_CALLS * block) // options.divide)
    for repetition in range(options.repetitions):
        for name in comparison.in_turn(list(rates), repetition):
            times = contestants.run(options.build, mpi, name, ["--block", block], amount, options.work, options.log_dir,
                                    warm=warm, settings={}, timeout=options.timeout, name=block_name(block))  # fmt: skip
            comparison.add_rates(rates[name], times, ["log", "file"])
    return rates


def row_of(options, mpi, block, warm):
    rates, row = measure(options, mpi, block, warm), {"block": block, "state": "warm" if warm else "cold"}
    for phase in ("log", "file"):
        best = comparison.fastest(rates, phase, [name for name in rates if name != "pmio"])
        lower, ratio, upper = comparison.ratio_of(rates["pmio"][phase], rates[best][phase])
        row |= {f"{phase}_over_best": ratio, f"{phase}_lower": lower, f"{phase}_upper": upper, "best": best}
    return {**row, "MB_per_s": rates}


def parse_options():
    parser = command_line.benchmark_parser(__doc__, repetitions=5, timeout=120)
    command_line.add_log_directory(parser)
    command_line.add_work(parser)
    parser.add_argument("--block", action="append", type=block_bytes, help="only these: bytes, K or M")
    parser.add_argument("--state", action="append", choices=("cold", "warm"), help="only this; default: both")
    parser.add_argument("--divide", type=int, default=1, help="all amounts by this, for a quick look")
    command_line.add_figure(parser)
    options = parser.parse_args()
    command_line.check_figure(parser, options)
    return options


def main():
    options = parse_options()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    rows = []
    kind = places.file_system(options.work)
    print(f"{mpi.tag}, {contestants.RANKS} ranks, {options.repetitions} repetitions, files on {kind}, "
          f"target of the file {TARGET}")  # fmt: skip
    for block in options.block or BLOCKS:
        for state in options.state or ("cold", "warm"):
            rows.append(row_of(options, mpi, block, state == "warm"))
            row = rows[-1]
            word = "" if row["file_over_best"] >= TARGET else "MISSED"
            file = f"{statistics.median(row['MB_per_s']['pmio']['file']):.1f} MB/s"
            spread = f"({row['file_lower']:.2f}-{row['file_upper']:.2f})"
            print(f"{block_name(block):>8} {state}: log {row['log_over_best']:.2f}, file {row['file_over_best']:.2f} "
                  f"{spread} over {row['best']}, {file} {word}".rstrip(), flush=True)  # fmt: skip
            tables.write_json(options.json, {"mpi": mpi.tag, "repetitions": options.repetitions,
                                             "target": TARGET, "files_on": kind, "sweep": rows})  # fmt: skip
    print(f"{quiet.repeated()} runs were disturbed and made again")
    if options.figure:
        figure = [places.SYSTEM_PYTHON, places.ROOT / "bench" / "figure.py", options.json, options.figure]
        subprocess.run(figure, check=True)
    raise SystemExit(any(row["file_over_best"] < TARGET for row in rows))


if __name__ == "__main__":
    main()
