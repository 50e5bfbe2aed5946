#!/usr/bin/env python3
"""`pmio bench steps`: the program is found by its launcher, its table fits 80 columns, and its JSON holds all steps."""

import json
import os
import subprocess
from pathlib import Path

from pmiolab import command_line, mpi_libraries, places

STEPS = ["ranges", "counts", "requests", "data", "write", "all"]
ENGINE = ["ranges_and_counts", "copies", "messages", "waiting", "write", "all"]


def run(mpi, scratch, *command):
    return subprocess.run(
        [str(word) for word in (mpi.mpiexec, "-n", 2, *command)],
        cwd=scratch,
        env={**mpi_libraries.environment(mpi), "PATH": f"{Path(mpi.mpiexec).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def check_json(done):
    assert done.returncode == 0, done
    told = json.loads(done.stdout)
    assert (told["bytes"], told["calls"], told["ranks"], told["aggregators"]) == (1000, 20, 2, 1), told
    assert list(told["steps"]) == STEPS and list(told["pmio"]) == ENGINE and list(told["plain"]) == ["all"], told
    for part in ("steps", "pmio", "plain"):
        for name, row in told[part].items():
            assert 0 <= row["q1_us"] <= row["median_us"] <= row["q3_us"] <= row["max_us"], (part, name, row)
    # Each step is a part of the call.
    for part in ("steps", "pmio"):
        assert all(row["max_us"] <= told[part]["all"]["max_us"] for row in told[part].values()), told


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi, pmio = mpi_libraries.choose(options.build, options.mpi), places.pmio(options.build)
    program = options.build / "lib" / f"pmio-steps-{mpi.tag}"
    with places.temporary("bench-steps", places.memory()) as scratch:
        few = ("bench", "steps", "--bytes", 1000, "--calls", 20, "--file", scratch / "file")
        check_json(run(mpi, scratch, pmio, *few, "--mpi", mpi.tag, "--json"))
        check_json(run(mpi, scratch, pmio, *few, "--program", program, "--json"))
        # By the family of the launcher, and then by PATH.
        table = run(mpi, scratch, pmio, *few)
        assert table.returncode == 0 and "3 requests" in table.stdout and "as the engine tells it" in table.stdout, table
        assert all(len(line) <= 80 for line in table.stdout.splitlines()), table.stdout
        (scratch / "file").write_text("not to be touched")
        done = run(mpi, scratch, pmio, *few, "--program", program)
        assert done.returncode != 0 and "there already" in done.stderr, done
        assert (scratch / "file").read_text() == "not to be touched"
        assert [path.name for path in scratch.iterdir()] == ["file"], list(scratch.iterdir())
    wrong = subprocess.run([str(pmio), "bench", "steps", "--mpi", "none"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1 and "mpicc" in wrong.stderr and "steps.c" in wrong.stderr, wrong
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
