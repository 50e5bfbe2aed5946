#!/usr/bin/env python3
"""Reads what CTest wrote with --output-junit: `junit.py FILE` prints "PASSED FAILED NAME...", the names of
failed tests.

--output prints what the failed tests said, the last lines of each.
"""

import argparse
import sys
from pathlib import Path
from xml.etree import ElementTree

LINES = 200  # of each failed test


def read(path):
    """(how many passed, [(name, output)] of those that did not); skipped ones count for neither."""
    passed, failed = 0, []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.get("status") == "fail":
            failed.append((case.get("name"), case.findtext("system-out") or ""))
        elif case.get("status") == "run":
            passed += 1
        elif (skipped := case.find("skipped")) is None or "SKIP" not in skipped.get("message", ""):
            failed.append((case.get("name"), "not run: " + (skipped.get("message", "") if skipped is not None else "")))
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--output", action="store_true")
    options = parser.parse_args()
    passed, failed = read(options.file)
    if not options.output:
        print(passed, len(failed), *(name for name, _ in failed))
    for name, output in failed if options.output else ():
        print(f"==== {name}", *output.splitlines()[-LINES:], sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
