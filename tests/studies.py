#!/usr/bin/env python3
"""study/run: all studies end with pages, figures and claims; one that is there goes on, and is not lost."""

import json
import subprocess
import sys

from pmiolab import command_line, places

FEWEST_CLAIMS = 30  # of all studies together
MOST_FAILED = 0.02  # of the runs: a memory limit may be too small for one
VERDICTS = ("agrees", "disagrees", "cannot be tested here")


def run(options, documents, *arguments):
    words = [sys.executable, places.ROOT / "study" / "run", *arguments, "--build", options.build,
             "--documents", documents, "--repetitions", 2]  # fmt: skip
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def check_documents(documents):
    """How many runs have failed."""
    measured = sorted((documents / "figures").glob("study-*.json"))
    assert len(measured) == 5, measured
    overview = (documents / "studies.md").read_text()
    claims = [line for line in overview.splitlines() if line.startswith("| [")]
    assert len(claims) >= FEWEST_CLAIMS, overview
    assert all(line.split(" | ")[-1].rstrip(" |") in VERDICTS for line in claims), overview
    for path in measured:
        name = path.stem.removeprefix("study-")
        rows = json.loads(path.read_text())["rows"]
        page = (documents / "studies" / f"{name}.md").read_text()
        failed = [row for row in rows if "failed" in row]
        assert rows and ("What failed:" in page) == bool(failed), page
        assert len(failed) < MOST_FAILED * len(rows), failed
        for kind in ("svg", "png"):
            assert path.with_suffix(f".{kind}").stat().st_size > 10_000, path
            assert f"](figures/{path.stem}.svg)" in overview, overview
    return sum("failed" in row for path in measured for row in json.loads(path.read_text())["rows"])


def main():
    options = command_line.parser(__doc__, mpi=False).parse_args()
    with places.temporary("studies") as documents:
        done = run(options, documents, "all", "--quick")
        assert done.returncode == 0, done
        failed = check_documents(documents)
        done = run(options, documents, "all", "--quick")
        assert done.returncode != 0 and "--resume" in done.stderr, done
        done = run(options, documents, "all", "--resume")
        assert done.returncode != 0 and "scale" in done.stderr, done
        done = run(options, documents, "all", "--quick", "--resume")
        assert done.returncode == 0 and done.stdout.count("min left") == failed, done  # what failed is tried again
    return 0


if __name__ == "__main__":
    sys.exit(main())
