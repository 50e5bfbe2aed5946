#!/usr/bin/env python3
"""libpmio.so, preloaded into any program, takes the runtime library of the program's own MPI, or leaves the
program alone.

It is preloaded by `pmio run`, or by LD_PRELOAD alone; then the launcher has it too. The program links MPI,
stands behind a shell, loads its MPI later and privately as Python does, is started by another MPI's launcher,
or was built with a sanitizer. Each has the arguments, the open files and the other preloaded libraries that
it would have had.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

from pmiolab import checks, command_line, mpi_libraries, places, real_programs

MAIN = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void tell_runtime(void) {
  char line[4096];
  const char* found = "none";
  static char name[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) {
    char* runtime = strstr(line, "/libpmio-");
    if (runtime) { line[strcspn(line, "\\n")] = 0; found = strcpy(name, runtime + 1); }
  }
  fclose(maps);
  printf("%s", found);
}
/* As mpi4py does: a library before MPI 4 has not this one. */
#pragma weak MPI_File_write_at_c
int MPI_File_write_at_c(MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype, MPI_Status*);
int work(int argc, char** argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  if (getenv("SLEEPS")) { sleep(12); _exit(0); }
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  if (MPI_File_write_at_c)
    MPI_File_write_at_c(file, 0, "data", 4, MPI_BYTE, MPI_STATUS_IGNORE);
  else
    MPI_File_write_at(file, 0, "data", 4, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  tell_runtime();
  for (int i = 0; i < argc; ++i) printf("|%s", argv[i]);
  char input[5] = "";
  if (argc > 2 && read(STDIN_FILENO, input, 4) > 0) printf("|%s", input);
  puts("");
  return MPI_Finalize();
}
#ifndef LATER
int main(int argc, char** argv) { return work(argc, argv); }
#endif
"""
LATER = """\
#include <dlfcn.h>
int main(int argc, char** argv) {
  void* library = dlopen(LATER, RTLD_NOW | RTLD_LOCAL);
  int (*work)(int, char**) = library ? (int (*)(int, char**))dlsym(library, "work") : 0;
  return work ? work(argc, argv) : 99;
}
"""
BEHIND_SHELL = "PATH=.:$PATH; {name} 'a b' '' --again <input; exit $?"
ARGUMENTS = ["a b", "", "--again", "read"]  # and what it reads
LOGGED = "PMIO_MODE=log"  # what one rank writes alone is small, and would not be logged
# The second of two ranks has other words before its program.
SECOND_RANK = "case $PMI_RANK$OMPI_COMM_WORLD_RANK in 0) exec {first} ./{name};; *) exec {words} ./{name};; esac"
# As if the launcher did not tell how many ranks are on the node.
UNTOLD = "env -u MPI_LOCALNRANKS -u OMPI_COMM_WORLD_LOCAL_SIZE"
SANITIZERS = ["address", "thread", "undefined", "leak"]
# The program has its own default options, as some do: then the sanitizer's runtime must come first.
OWN_OPTIONS = 'const char* __asan_default_options(void) { return "exitcode=9"; }\n'
# Leaks and races of the MPI library are not pmio's.
QUIET = {"ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "exitcode=0:report_bugs=0"}


def counts():
    """Those of libpmio.so's roll calls."""
    return set(Path("/dev/shm").glob("pmio-roll-*"))


class Chooser:
    def __init__(self, build, scratch):
        self.mpis = mpi_libraries.load(build)
        self.pmio = places.pmio(build)
        self.preloaded = places.preloaded(build)
        self.other = places.yielding(build)
        self.scratch = scratch
        self.wrong = []
        self.counts_before = counts()  # of jobs that were killed in MPI_Init
        self.installed = self.scratch / "installed" / "libpmio.so"  # another installation's
        self.installed.parent.mkdir()
        for file in (self.preloaded, build / "lib" / "pmio-mpi.list", *(mpi.runtime for mpi in self.mpis)):
            shutil.copy(file, self.installed.parent)
        self.alone = self.scratch / "alone" / "libpmio.so"  # no runtime library lies beside it
        self.alone.parent.mkdir()
        shutil.copy(self.preloaded, self.alone)
        (self.scratch / "input").write_text("read")
        (self.scratch / "program.c").write_text(MAIN)
        (self.scratch / "later.c").write_text(LATER)
        for mpi in self.mpis:
            self.compile(mpi.mpicc, "program.c", "-o", mpi.tag)
            self.compile(mpi.mpicc, "program.c", "-DLATER", "-shared", "-fPIC", "-o", f"lib{mpi.tag}.so")
            self.compile("cc", "later.c", f'-DLATER="./lib{mpi.tag}.so"', "-o", f"{mpi.tag}-later")

    def compile(self, compiler, *words, **settings):
        done = subprocess.run(
            [compiler, *words], cwd=self.scratch, env={**os.environ, **settings}, capture_output=True, check=False
        )
        return done.returncode == 0

    def expect(self, what, mpi, words, expected, *, by_run=True, logged=4, says=None, settings=(), preload=(),
               chosen=None, statistics=True):  # fmt: skip
        """Runs by `pmio run`, or by LD_PRELOAD, which is then in the launcher's environment too."""
        if by_run:
            more = {"pmio": self.pmio, "chosen": chosen, "wrapper": ["env", LOGGED, *settings], "preload": preload}
        else:
            libraries = ":".join(map(str, [*preload, self.preloaded]))
            more = {"settings": {"LD_PRELOAD": libraries, **dict(setting.split("=", 1) for setting in [LOGGED, *settings])}}
        run = real_programs.run(mpi, 1, words, directory=self.scratch, timeout=60, statistics=statistics, **more)
        lines = [line for line in run.output.splitlines() if not line.startswith("pmio:")]
        told = [line for line in run.output.splitlines() if line.startswith("pmio: the program runs without the log")]
        good = run.verdict == "pass" and lines == [expected] and run.written_bytes == logged
        good = good and (says in told[0] if says and told else not says and not told)
        print(f"{mpi.tag}, {what}: {'as expected' if good else 'wrong'}")
        if not good:
            self.wrong.append(
                f"{mpi.tag}, {what}: {run.verdict}, {run.written_bytes} bytes logged\n{run.output}\n  instead of {expected}"
            )

    def check(self, mpi):
        name, runtime = mpi.tag, mpi.runtime.name
        behind = ["sh", "-c", BEHIND_SHELL.format(name=name)]
        told = "|".join([name, *ARGUMENTS])
        self.expect("alone", mpi, [f"./{name}", "argument"], f"{runtime}|./{name}|argument")
        self.expect("behind a shell", mpi, behind, f"{runtime}|{told}", preload=[self.other])
        self.expect("by LD_PRELOAD", mpi, [f"./{name}"], f"{runtime}|./{name}", by_run=False)
        self.expect(
            "by LD_PRELOAD, behind a shell", mpi, behind, f"{runtime}|{told}", by_run=False, preload=[self.other]
        )
        self.expect("loads its MPI later", mpi, [f"./{name}-later"], f"{runtime}|./{name}-later", by_run=False)
        off = {"logged": 0, "settings": ["PMIO_MODE=Off"], "statistics": False}
        self.expect("off", mpi, [f"./{name}"], f"none|./{name}", by_run=False, **off)
        self.expect(
            "and the runtime itself", mpi, [f"./{name}"], f"{runtime}|./{name}", by_run=False, preload=[mpi.runtime]
        )
        self.expect("and another libpmio.so", mpi, [f"./{name}"], f"{runtime}|./{name}", preload=[self.installed])
        for other in {other.family: other for other in self.mpis if other.family != mpi.family}.values():
            more = {"logged": 0, "says": f"runtime library {other.tag}", "chosen": other}
            self.expect(f"with --mpi {other.tag}", mpi, behind, f"none|{told}", **more)
            plain = real_programs.run(other, 1, [f"./{name}"], directory=self.scratch, timeout=60)
            if plain.verdict == "pass":
                self.expect(f"started by {other.tag}", other, [f"./{name}"], f"{runtime}|./{name}")

    def run_mixed(self, mpi, words, settings=None, first="", **more):
        """Runs two ranks, the second one with other words before its program."""
        settings = {"LD_PRELOAD": str(self.preloaded), **dict([LOGGED.split("=")]), **(settings or {})}
        command = ["sh", "-c", SECOND_RANK.format(name=mpi.tag, first=first, words=words)]
        return real_programs.run(mpi, 2, command, directory=self.scratch, settings=settings, **more)

    def check_mixed(self, mpi):
        """A rank with pmio off, or without a fitting runtime library, makes the others log nothing; they
        do not wait for it.
        """
        for what, words in (
            ("off", "env PMIO_MODE=off"),
            ("without a runtime library", f"env LD_PRELOAD={self.alone}"),
        ):
            run = self.run_mixed(mpi, words, timeout=60)
            # The launcher may mix the ranks' lines.
            expected = sorted(f"{mpi.runtime.name}none" + f"|./{mpi.tag}\n" * 2)
            good = run.verdict == "pass" and sorted(run.output) == expected and run.written_bytes == 0
            print(f"{mpi.tag}, a rank {what}: {'as expected' if good else 'wrong'}")
            if not good:
                self.wrong.append(
                    f"{mpi.tag}, a rank {what}: {run.verdict}, {run.written_bytes} bytes logged\n{run.output}"
                )

    def check_mixed_statistics(self, mpi):
        """A rank that keeps statistics does not wait in MPI_Finalize for one that is not there for a report."""
        for what, words in (
            ("off", "env -u PMIO_STATS PMIO_MODE=off"),
            ("without a runtime library", f"env LD_PRELOAD={self.alone}"),
        ):
            run = self.run_mixed(mpi, words, statistics=True, timeout=60)
            if run.verdict != "pass" or "there are no statistics" not in run.output:
                self.wrong.append(f"{mpi.tag}, statistics, and a rank {what}: {run.verdict}\n{run.output}")

    def check_missing(self, mpi):
        """A rank without libpmio.so, which no vote can reach: the others log nothing, and do not wait for it. Who has
        asked for statistics is told why there are none.
        """
        for mode, statistics in (("log", False), ("log", True), ("off", True)):
            run = self.run_mixed(
                mpi, "env -u LD_PRELOAD", settings={"PMIO_MODE": mode}, statistics=statistics, timeout=60
            )
            told = "some programs of this job run without pmio" in run.output
            good = run.verdict == "pass" and run.written_bytes == 0 and "waiting" not in run.output
            if not good or told != (mode == "log" and statistics):
                self.wrong.append(f"{mpi.tag}, {mode}, a rank without pmio: {run.verdict}\n{run.output}")

    def check_left(self):
        """No count is left in shared memory; that of a job that starts just now is soon gone."""
        left = counts() - self.counts_before
        if left:
            time.sleep(2)
        if left := left & counts():
            self.wrong.append(f"left in shared memory: {left}")

    def check_waiting(self, mpi):
        """Where the launcher does not tell how many ranks are on the node, the others wait for a rank without libpmio.so
        that does nothing after MPI_Init, and say so; also if they are off. What they say helps.
        """
        for mode in ("log", "off"):
            words = f"{UNTOLD} -u LD_PRELOAD SLEEPS=1"
            run = self.run_mixed(mpi, words, settings={"PMIO_MODE": mode}, first=UNTOLD, timeout=20)
            if "start the whole job with PMIO_MODE=absent" not in run.output:
                self.wrong.append(f"{mpi.tag}, {mode}, a rank without libpmio.so: {run.verdict}\n{run.output}")
        run = self.run_mixed(mpi, "env -u LD_PRELOAD", settings={"PMIO_MODE": "absent"}, timeout=60)
        if run.verdict != "pass" or run.written_bytes != 0:
            self.wrong.append(f"{mpi.tag}, absent, a rank without libpmio.so: {run.verdict}\n{run.output}")

    def check_sanitizers(self, mpi):
        (self.scratch / "own.c").write_text(MAIN + OWN_OPTIONS)
        for compiler in filter(shutil.which, ("gcc", "clang", "clang-14")):
            for sanitizer in SANITIZERS:
                source = "own.c" if sanitizer == "address" else "program.c"
                settings = {"MPICH_CC": compiler, "OMPI_CC": compiler}
                if not self.compile(mpi.mpicc, f"-fsanitize={sanitizer}", source, "-o", "sanitized", **settings):
                    continue
                quiet = [f"{key}={value}" for key, value in QUIET.items()]
                plain = real_programs.run(mpi, 1, ["env", *quiet, "./sanitized"], directory=self.scratch, timeout=60)
                if plain.verdict == "pass":
                    self.expect(
                        f"{compiler} -fsanitize={sanitizer}",
                        mpi,
                        ["./sanitized"],
                        f"{mpi.runtime.name}|./sanitized",
                        settings=quiet,
                    )
        self.compile(mpi.mpicc, "-fsanitize=address", "program.c", "-o", "sanitized")
        self.expect(
            "sanitized, by LD_PRELOAD",
            mpi,
            ["./sanitized"],
            f"{mpi.runtime.name}|./sanitized",
            by_run=False,
            settings=quiet,
        )

    def check_exports(self):
        """libpmio.so exports what a runtime library exports, except the functions that it calls there itself."""
        before = exported(self.preloaded)
        for mpi in self.mpis:
            if lacking := {
                name for name in exported(mpi.runtime) - before if not name.startswith(("pmio_loaded", "pmio_program_"))
            }:
                self.wrong.append(f"libpmio.so does not export {sorted(lacking)}, which {mpi.runtime.name} does")

    def check_needs(self):
        """A library that only some media need is loaded when there is such a medium, and not linked."""
        for mpi in self.mpis:
            needs = subprocess.run(["readelf", "-d", mpi.runtime], capture_output=True, text=True, check=True).stdout
            if "[libpmem2" in needs:
                self.wrong.append(f"{mpi.runtime.name} cannot be loaded without libpmem2: {needs}")

    def check_others(self):
        """A program without MPI gets libpmio.so and nothing with it."""
        maps = ["grep", "-oE", "/[^ ]*(libpmio|libstdc|libpmem)[^ ]*", "/proc/self/maps"]
        done = subprocess.run(
            maps, env={**os.environ, "LD_PRELOAD": str(self.preloaded)}, capture_output=True, text=True, check=True
        )
        if set(done.stdout.split()) != {str(self.preloaded)} or done.stderr:
            self.wrong.append(f"a program without MPI: {done}")


def exported(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines() if " T " in line or " W " in line}


def main():
    options = command_line.parser(__doc__, mpi=False).parse_args()
    with places.temporary("choose") as scratch:
        chooser = Chooser(options.build, scratch)
        if not chooser.mpis:
            checks.skip("no runtime library is built")
        chooser.check_exports()
        chooser.check_needs()
        chooser.check_others()
        for mpi in chooser.mpis:
            chooser.check(mpi)
            chooser.check_mixed(mpi)
            chooser.check_mixed_statistics(mpi)
            chooser.check_missing(mpi)
        chooser.check_sanitizers(chooser.mpis[0])
        chooser.check_waiting(chooser.mpis[0])
        chooser.check_left()
    return checks.conclude(chooser.wrong)


if __name__ == "__main__":
    raise SystemExit(main())
