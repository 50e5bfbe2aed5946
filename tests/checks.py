"""What the scripts share that run a whole job per case and check many named things about it."""

import argparse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MIB = 1 << 20


def parser(description):
    """The options of them all."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default=ROOT / "build" / "release", type=lambda path: Path(path).resolve())
    options.add_argument("--mpi", help="tag of the MPI; default: the first")
    return options


class Checks:
    def __init__(self):
        self.failures = 0

    def check(self, name, holds, output=""):
        print(f"{'ok    ' if holds else 'FAILED'} {name}")
        if not holds:
            self.failures += 1
            print(output)

    def conclude(self):
        """The exit code."""
        print(f"{self.failures} failed" if self.failures else "all right")
        return 1 if self.failures else 0


def is_complete(path, size):
    """Whether the file is what full_target.c writes, by samples."""
    data = path.read_bytes()
    return len(data) == size and all(data[i] == (i // 251 + i * 3) & 0xFF for i in range(0, size, 97))
