#!/usr/bin/env python3
"""Holds the source tree to its own rules; run by CTest as `layers` and `registered`.

  layers.py sources            every folder of src/ includes only from the layers before it, mpi.h only in view and mpi
  layers.py registered BUILD   every test source under tests/ is compiled and every test program is known to CTest
  layers.py sizes              lists files and functions to look hard at; never fails
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
LAYERS_FILE = SRC / "layers.txt"  # which CMake reads, too
# (name, what it is part of), in order.
ENTRIES = [line.split() for line in LAYERS_FILE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
LAYERS = [name for name, _ in ENTRIES]
MPI_LAYERS = {name for name, part in ENTRIES if part == "mpi"}
CPP = {".h", ".cpp", ".c"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
FILE_LINES, FUNCTION_LINES = 300, 60


def sources(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in CPP)


def includes(path):
    """(line number, name, whether quoted) of each include."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1] or match[2], match[1] is not None


def layer_of_include(path, name):
    """The layer that a quoted include names; None where it names a file beside the includer."""
    first = name.split("/")[0]
    if "/" in name and first in LAYERS:
        return first
    return None


def check_file(path):
    layer = path.relative_to(SRC).parts[0]
    for number, name, quoted in includes(path):
        where = f"{path.relative_to(ROOT)}:{number}"
        if Path(name).name == "mpi.h" and layer not in MPI_LAYERS:
            yield f"{where}: only {' and '.join('src/' + name for name in LAYERS if name in MPI_LAYERS)} include mpi.h"
        if not quoted or name == "mpi.h":
            continue
        target = layer_of_include(path, name)
        if target is None:
            if not name.startswith(("pmio/", "generated/")):
                yield f'{where}: include "{name}" by its path from src, as "layer/file.h"'
        elif LAYERS.index(target) > LAYERS.index(layer):
            yield f"{where}: {layer} may not include from {target}, which is a later layer"


def check_sources():
    problems = []
    for folder in sorted(path for path in SRC.iterdir() if path.is_dir()):
        if folder.name not in LAYERS:
            problems.append(f"src/{folder.name}: a folder that is no layer; name it in src/layers.txt and docs/architecture.md")
            continue
        for path in sources(folder):
            problems += check_file(path)
    for path in sources(ROOT / "cli"):
        problems += [f"{path.relative_to(ROOT)}:{n}: the command knows no MPI" for n, name, _ in includes(path) if name == "mpi.h"]
    return problems


def check_registered(build):
    """A source that no target compiles, and a test program that CTest doesn't know."""
    compiled = {entry["file"] for entry in json.loads((build / "compile_commands.json").read_text())}
    listing = subprocess.run(["ctest", "-C", "nightly", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True)
    tests = json.loads(listing.stdout)["tests"]  # a test whose program is not built yet has a name only
    names = {test["name"] for test in tests}
    commands = " ".join(word for test in tests for word in [test["name"], *test.get("command", [])])
    scripts = [*(ROOT / "tests").rglob("CMakeLists.txt"), *(ROOT / "tests").rglob("*.cmake")]
    cmake = "\n".join(path.read_text() for path in scripts)
    problems = []
    for path in sorted((ROOT / "tests").rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.name.endswith("_fuzz.cpp") and path.stem in cmake:
            continue  # targets of the preset `fuzz` alone
        if path.name.startswith("make_") and path.parent.name == "golden":
            continue  # it made a golden file, once
        if path.parent.with_suffix(".py").name in commands:
            continue  # a script of that name compiles the folder's sources
        if path.suffix in {".cpp", ".c"} and str(path) not in compiled and path.name not in cmake:
            problems.append(f"{name}: no target compiles it")
        unit = path.parent.parent.name == "unit" or path.parent.name == "fault"
        known = f"unit.{path.parent.name}.{path.stem}" in names if unit else path.stem in commands
        if path.name.endswith("_test.cpp") and not known:
            problems.append(f"{name}: CTest doesn't know it")
        if path.suffix == ".py" and '__name__ == "__main__"' in path.read_text() and path.name not in commands:
            problems.append(f"{name}: CTest doesn't know it")
    return problems


def functions(path):
    """(line number, name, lines) by the formatter's layout: a body ends at the first } of its own indentation."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for start, line in enumerate(lines):
        if not line.endswith("{") or not re.match(r"^( {0,4})[\w:~].*\)", line):
            continue
        if re.match(r"^\s*(if|for|while|switch|else|do|namespace|class|struct|enum)\b", line):
            continue
        indent = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith(":"):  # a constructor's initializers stand four columns further in
            indent = indent[4:]
        end = next((i for i in range(start + 1, len(lines)) if re.match(rf"^{indent}\}}", lines[i])), start)
        yield start + 1, line.strip()[:60], end - start + 1


def report_sizes():
    for folder in ("src", "cli", "bench", "tests"):
        for path in sources(ROOT / folder):
            name = path.relative_to(ROOT)
            if (count := len(path.read_text().splitlines())) > FILE_LINES:
                print(f"{name}: {count} lines")
            for number, function, length in functions(path):
                if length > FUNCTION_LINES:
                    print(f"{name}:{number}: {length} lines: {function}")


def main(arguments):
    if arguments[:1] == ["sizes"]:
        report_sizes()
        return 0
    if arguments == ["sources"]:
        problems = check_sources()
    elif len(arguments) == 2 and arguments[0] == "registered":
        problems = check_registered(Path(arguments[1]))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
