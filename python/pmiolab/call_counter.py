"""Libraries that count a program's MPI calls, made from src/mpi/functions.py: what profilers and tracers do.

pmpi      a profiler by the book: defines MPI_X and calls PMPI_X
wrapper   as Darshan does it: defines MPI_X and PMPI_X, and calls the next PMPI_X of the loader's order; counts what is written
          by pwrite as well
"""

from __future__ import annotations

import shlex
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from .mpi_functions import FUNCTIONS
from .mpi_libraries import Mpi

HEAD = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
static long counts[LAST + 1];
static const char* const names[] = {NAMES};
__attribute__((destructor)) static void write_counts(void) {
  char path[4096];
  if (getenv("CALL_COUNTS") == NULL) return;
  snprintf(path, sizeof path, "%s/TOOL-%d", getenv("CALL_COUNTS"), (int)getpid());
  FILE* file = NULL;
  for (int i = 0; i <= LAST; ++i) {
    if (counts[i] == 0) continue;
    if (file == NULL) file = fopen(path, "w");
    if (file != NULL) fprintf(file, "%s %ld\\n", names[i], counts[i]);
  }
  if (file != NULL) fclose(file);
}
"""
PWRITE = """\
static ssize_t count_pwrite(const char* name, int fd, const void* data, size_t bytes, off_t at) {
  ssize_t (*real)(int, const void*, size_t, off_t) = (ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, name);
  const ssize_t written = real(fd, data, bytes, at);
  if (written > 0) __atomic_fetch_add(&counts[LAST], written, __ATOMIC_RELAXED);
  return written;
}
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t at) { return count_pwrite("pwrite", fd, data, bytes, at); }
ssize_t pwrite64(int fd, const void* data, size_t bytes, off_t at) { return count_pwrite("pwrite64", fd, data, bytes, at); }
"""


def _definition(tool: str, number: int, f: Any) -> str:
    count = f"__atomic_fetch_add(&counts[{number}], 1, __ATOMIC_RELAXED);"
    if tool == "pmpi":
        text = f"int MPI_{f.name}({f.signature()}) {{ {count} return PMPI_{f.name}({f.arguments()}); }}\n"
    else:
        types = ", ".join(p.type for p in f.parameters) or "void"
        text = (
            f"int PMPI_{f.name}({f.signature()}) {{ {count}\n"
            f'  return ((int (*)({types}))dlsym(RTLD_NEXT, "PMPI_{f.name}"))({f.arguments()}); }}\n'
            f"int MPI_{f.name}({f.signature()}) {{ return PMPI_{f.name}({f.arguments()}); }}\n"
        )
    return f"#if MPI_VERSION >= 4\n{text}#endif\n" if f.large_count else text


def build(mpi: Mpi, tool: str, directory: Path) -> Path:
    """Compiles the library of a tool in the directory; its path."""
    names = ", ".join(f'"{name}"' for name in [*(f.name for f in FUNCTIONS), "pwrite"])
    head = HEAD.replace("NAMES", names).replace("TOOL", tool)
    source, library = directory / f"{tool}.c", directory / f"lib{tool}.so"
    body = "".join(_definition(tool, number, f) for number, f in enumerate(FUNCTIONS))
    source.write_text(f"enum {{ LAST = {len(FUNCTIONS)} }};\n" + head + (PWRITE if tool == "wrapper" else "") + body)
    show = "--showme:compile" if mpi.family == "openmpi" else "-show"
    words = shlex.split(subprocess.run([mpi.mpicc, show], capture_output=True, text=True, check=True).stdout)
    includes = [word for word in words if word.startswith(("-I", "-D"))]
    # The library links no libmpi: it uses the program's, however that is loaded.
    subprocess.run(["cc", "-shared", "-fPIC", "-w", *includes, source, "-o", library], check=True)
    return library


def read(directory: Path, tool: str) -> Counter[str]:
    """The calls by function, of all processes together. They were run with CALL_COUNTS=<directory>."""
    total: Counter[str] = Counter()
    for path in Path(directory).glob(f"{tool}-*"):
        for name, number in (line.split() for line in path.read_text().splitlines()):
            total[name] += int(number)
    return total
