#!/usr/bin/env python3
"""Has clang check the contracts of locks (src/base/thread_annotations.h); run by CTest as `locks`.

That it finds what it should is tests/locks/contracts.cpp. The core's sources are checked where clang compiles them
(the presets fuzz and clang); here those of the layers that include mpi.h, or with --all all layers of src/.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECK = ["-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety"]  # not -w, which silences all
MPI_LAYERS = {"view", "mpi"}


def find_clang():
    return next((found for name in ("clang++-14", "clang++") if (found := shutil.which(name))), None)


def finds_faults(clang):
    """Whether clang says of the contracts' own test what that expects; what it says otherwise."""
    command = [clang, "-std=c++20", f"-I{ROOT / 'src'}", *CHECK, str(ROOT / "tests/locks/contracts.cpp")]
    if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return subprocess.CompletedProcess(command, 1, stderr="a source with faults passes")
    return subprocess.run([*command, "-Xclang", "-verify"], stderr=subprocess.PIPE, text=True, check=False)


def flags_of(command):
    """Without compiler, source, object, and gcc's precompiled headers, which clang cannot read."""
    words = shlex.split(re.sub(r" -Winvalid-pch -include \S+| -o \S+ -c \S+", "", command))
    return [word for word in words if not word.endswith(("/c++", "/g++", "/ccache"))]


def commands(build, clang, layers):
    """One compilation of each layer, as one source, but for what has options of its own. Of those with MPI for the first
    MPI that was built for."""
    seen, sources = set(), {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if path.suffix != ".cpp" or ROOT / "src" not in path.parents or path in seen:
            continue
        layer = path.relative_to(ROOT / "src").parts[0]
        if layers is None or layer in layers:
            seen.add(path)
            sources.setdefault((layer, entry["directory"], *flags_of(entry["command"])), []).append(path)
    for (_, directory, *flags), paths in sources.items():
        text = "".join(f'#include "{path}"\n' for path in paths)
        yield directory, [clang, *flags, *CHECK, "-x", "c++", "-"], text


def check(directory_command_and_text):
    directory, command, text = directory_command_and_text
    return subprocess.run(command, cwd=directory, input=text, stderr=subprocess.PIPE, text=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="has compile_commands.json")
    parser.add_argument("--all", action="store_true", help="every layer of src/")
    options = parser.parse_args()
    clang = find_clang()
    if clang is None:
        print("no clang here")
        return 77
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [finds_faults(clang), *pool.map(check, commands(options.build, clang, None if options.all else MPI_LAYERS))]
    failed = [result for result in results if result.returncode != 0]
    for result in failed:
        print(result.stderr)
    print(f"{len(results)} compilations, {len(failed)} with faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
