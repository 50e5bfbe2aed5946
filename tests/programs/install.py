#!/usr/bin/env python3
"""What `cmake --install` installs works, also after it was moved; so does the content of the Debian package.

Installs into an empty prefix and moves it. From there it runs a program under `pmio run`, builds one that
uses the C API by pkg-config and by find_package, renders the manual pages, follows the documents' links and
evaluates the environment modules. Then it builds the Debian package.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from pmiolab import checks, command_line, mpi_libraries, places, real_programs

PROGRAM = """\
#include <pmio/pmio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_File file;
  int value = 42;
  MPI_File_open(MPI_COMM_WORLD, "written", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  if (pmio_drain(file) != MPI_SUCCESS) return 1;
  MPI_File_close(&file);
  if (pmio_version()[0] == '\\0') return 1;
  return MPI_Finalize();
}
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(program C)
find_package(pmio REQUIRED)
add_executable(program program.c)
target_link_libraries(program pmio::runtime-%(tag)s)
message(STATUS "runtimes ${PMIO_RUNTIMES} in ${PMIO_RUNTIME_DIRECTORY}")
"""
# The commands that pmio's modulefiles call; each prints the change that it asks for.
TCL_MODULE = """\
proc module-whatis {text} {}
proc conflict {name} {}
proc prepend-path {name value} { puts "$name=$value" }
proc append-path {args} { puts "[lindex $args end-1]=[lindex $args end]" }
set ModulesCurrentModulefile [lindex $argv 0]
source $ModulesCurrentModulefile
ModulesHelp
"""
LUA_MODULE = """\
function whatis() end
function help() end
function conflict() end
function prepend_path(name, value) print(name .. "=" .. value) end
append_path = prepend_path
function pathJoin(...) return table.concat({...}, "/") end
function myFileName() return arg[1] end
dofile(arg[1])
"""
PAGES = {"man1/pmio.1": ["run", "doctor", "discard", "inspect", "stats"], "man1/pmio-recover.1": ["recover"]}


def words(*command, **options):
    """Standard output of a command; a failure shows all that it said."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(build, scratch):
    words("cmake", "--install", build, "--prefix", scratch / "first")
    for unit in (scratch / "first").rglob("*.service"):  # these alone cannot be moved
        assert f"ExecStart={scratch}/first/bin/pmio " in unit.read_text(), unit.read_text()
        unit.unlink()
    (scratch / "first").rename(scratch / "moved")
    prefix = scratch / "moved"
    for path in (path for path in prefix.rglob("*") if path.is_file()):
        text = path.read_bytes()
        for place in (build, scratch / "first"):
            # A binary that was not stripped names its sources, for the debugger.
            assert text.startswith(b"\x7fELF") or bytes(place) not in text, f"{path} names {place}"
    return prefix


def by_pkg_config(mpi, prefix, scratch):
    [directory] = prefix.rglob("pkgconfig")  # below lib, or the distribution's folder instead of it
    env = dict(os.environ, PKG_CONFIG_PATH=str(directory))
    flags = words("pkg-config", "--cflags", "--libs", f"pmio-{mpi.tag}", env=env).split()
    program = scratch / "by-pkg-config"
    words(mpi.mpicc, scratch / "program.c", "-o", program, *flags)
    return program


def by_find_package(mpi, prefix, scratch):
    (scratch / "CMakeLists.txt").write_text(PROJECT % {"tag": mpi.tag})
    build = scratch / "by-find-package"
    printed = words(
        "cmake", "-S", scratch, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={mpi.mpicc}"
    )
    [runtime] = prefix.rglob(mpi.runtime.name)
    assert re.search(
        rf"runtimes .*{re.escape(mpi.tag)}.* in {re.escape(str(runtime.parent))}$", printed, re.MULTILINE
    ), printed
    words("cmake", "--build", build)
    return build / "program"


def check_run(mpi, program, scratch, pmio):
    """Both ranks write to the log: under pmio or, if pmio is None, by the runtime library that the program links."""
    command = [str(program)]
    if pmio is None:
        logs = Path(tempfile.mkdtemp(prefix="logs-", dir=scratch))
        command = ["env", "PMIO_STATS=1", f"PMIO_DIR={logs}", *command]
    run = real_programs.run(mpi, 2, command, directory=scratch, pmio=pmio, timeout=60, statistics=bool(pmio))
    assert run.passed and not run.leftovers, f"{run.verdict}: {run.output}"
    calls = re.findall(r"^pmio: +[01] \| +(\d+) .*% \|", run.output, re.MULTILINE)  # a line of the statistics per rank
    assert calls == ["1", "1"], f"not one write per rank to the log:\n{run.output}"
    assert (scratch / "written").read_bytes() == (42).to_bytes(4, "little"), "the file is not what was written"
    (scratch / "written").unlink()


def unlinked(mpi, scratch):
    """The program without its calls of pmio."""
    source = scratch / "plain.c"
    source.write_text(re.sub(r".*pmio_.*\n", "", PROGRAM).replace("pmio/pmio.h", "mpi.h"))
    words(mpi.mpicc, source, "-o", scratch / "plain")
    return scratch / "plain"


def check_manuals(prefix, pmio):
    man = prefix / "share" / "man"
    hints = (man / "man7" / "pmio-hints.7").read_text().replace(r"\-", "-")
    rows = re.findall(r"^\| (`.*?) \|", (places.ROOT / "docs" / "hints.md").read_text(), re.MULTILINE)
    for key in re.findall(r"`(\w+)`", " ".join(rows)):
        assert key in hints, f"pmio-hints(7) has no {key}"
    for page, commands in PAGES.items():
        listed = re.findall(r"^\.TP\n\\fB([^\\]*)", (man / page).read_text().replace(r"\-", "-"), re.MULTILINE)
        for command in commands:
            for option in re.findall(r"--[a-z][a-z-]*", words(pmio, command, "--help").replace("--help", "")):
                assert option in listed, (
                    f"pmio {command} has {option}, which docs/man/{Path(page).name}.md does not list"
                )
    if not shutil.which("man"):
        return "not rendered, there is no man"
    for page in sorted(man.glob("man*/*")):
        done = subprocess.run(
            ["man", "--warnings", "-l", str(page)],
            env=dict(os.environ, MANWIDTH="100", LC_ALL="C.UTF-8"),
            capture_output=True,
            text=True,
            check=True,
        )
        assert not done.stderr, done.stderr
        assert "NAME" in done.stdout and "SEE ALSO" in done.stdout, done.stdout
    return "rendered without warnings"


def check_links(prefix):
    """What the installed documents link to is installed, too."""
    [documents] = prefix.rglob("doc/pmio")
    pages = list(documents.rglob("*.md"))
    assert documents / "README.md" in pages, pages
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert "://" in link or (page.parent / link).exists(), (
                f"{page.relative_to(documents)} links to {link}, which is not installed"
            )
    return f"{len(pages)} pages"


def check_site_file(mpi, prefix, scratch, pmio):
    """etc/pmio.conf of the prefix, wherever that is: it turns pmio off, and a wrong line keeps no program
    from running.
    """
    site = prefix / "etc" / "pmio.conf"
    site.parent.mkdir()
    both = 2 * 4  # bytes that the ranks write
    for text, logged in (
        ("programs_off = pl?in", 0),
        ("file_systems_off = *", 0),
        ("pmio_mode = OFF", 0),
        ("nonsense", both),
    ):
        site.write_text(f"# ours\n{text}\n")
        run = real_programs.run(
            mpi, 2, [str(scratch / "plain")], directory=scratch, pmio=pmio, timeout=60, statistics=True
        )
        assert run.passed and run.written_bytes == logged, f"{text}: {run.written_bytes} bytes logged, {run.output}"
        assert run.output.count(f"{site}:2: ") == (text == "nonsense"), run.output
    overridden = real_programs.run(
        mpi,
        2,
        [str(scratch / "plain")],
        directory=scratch,
        pmio=pmio,
        timeout=60,
        statistics=True,
        wrapper=["env", f"PMIO_CONFIG={scratch / 'none.conf'}"],
    )
    assert overridden.passed and overridden.written_bytes == both and "none.conf" in overridden.output, overridden.output
    shutil.rmtree(site.parent)
    return "counts in the prefix"


def check_task_prolog(prefix):
    script = prefix / "share" / "pmio" / "slurm" / "pmio-on.sh"
    [library] = prefix.rglob("libpmio.so")
    plain = {
        name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PMIO_MODE", "PMIO_LIBRARY")
    }
    for settings, printed in (
        ({}, f"export LD_PRELOAD={library}\n"),
        ({"LD_PRELOAD": "/other.so"}, f"export LD_PRELOAD=/other.so:{library}\n"),
        ({"LD_PRELOAD": "/there/libpmio.so"}, ""),
        ({"PMIO_MODE": "Off"}, ""),
        ({"PMIO_LIBRARY": "/gone/libpmio.so"}, ""),
    ):
        # The loader's messages about missing libraries are on standard error.
        assert words(script, env={**plain, **settings}) == printed, (settings, printed)
    return "preloads libpmio.so"


def check_uninstall(build, scratch):
    """The target `uninstall` removes pmio's files, and no others."""
    prefix = scratch / "removed"
    (prefix / "lib").mkdir(parents=True)
    words("cmake", "--install", build, "--prefix", prefix)
    (prefix / "bin" / "other").touch()
    words("cmake", "--build", build, "--target", "uninstall")
    left = [path for path in prefix.rglob("*") if path.is_file() or "pmio" in path.name]
    assert left == [prefix / "bin" / "other"], left
    return "leaves what is not pmio's"


def check_module(prefix, scratch, interpreter, prelude, file):
    if not shutil.which(interpreter):
        return f"not loaded, there is no {interpreter}"
    script = scratch / f"load-{interpreter}"
    script.write_text(prelude)
    changes = dict(
        line.split("=") for line in words(interpreter, script, file, env=dict(os.environ, MANPATH="/")).splitlines()
    )
    directories = {name: Path(value).resolve() for name, value in changes.items()}
    if file.parent.name == "pmio-on":
        assert list(directories) == ["LD_PRELOAD"] and directories["LD_PRELOAD"].is_file(), directories
        assert directories["LD_PRELOAD"].is_relative_to(prefix), directories
        return "loaded"
    assert directories["MANPATH"] == prefix / "share" / "man", directories
    assert directories["PATH"] == prefix / "bin" and directories["CMAKE_PREFIX_PATH"] == prefix, directories
    for name, directory in directories.items():
        assert directory.is_dir(), f"{name}: there is no {directory}"
    return "loaded"


def check_package(mpi, build, scratch):
    missing = [tool for tool in ("cpack", "dpkg-shlibdeps", "dpkg-deb", "file") if not shutil.which(tool)]
    if missing:
        return f"not built, there is no {missing[0]}"
    target = scratch / "package"
    words("cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", target)
    [package] = target.glob("*.deb")
    depends = words("dpkg-deb", "-f", package, "Depends")
    for library in ("libc6", "libpmem2", "libisal"):
        assert library in depends, depends
    assert "mpi" not in depends, f"it depends on an MPI: {depends}"
    words("dpkg-deb", "-x", package, target / "root")
    assert list(target.glob("*dbgsym*.ddeb")), "no debug information apart"
    [unit] = (target / "root").rglob("pmio-recover.service")
    assert "ExecStart=/usr/bin/pmio " in unit.read_text(), unit.read_text()
    for path in ("share/man/man7/pmio-hints.7", "share/man/man7/pmio-durability.7", "share/doc/pmio/copyright"):
        assert (target / "root" / "usr" / path).exists(), words("dpkg-deb", "-c", package)
    check_run(mpi, scratch / "plain", scratch, target / "root" / "usr" / "bin" / "pmio")
    return f"{package.name}, {package.stat().st_size >> 10} KiB, depends on {depends.strip()}"


def main():
    build = command_line.parser(__doc__, mpi=False).parse_args().build
    mpis = [mpi for mpi in mpi_libraries.load(build) if mpi.family != "abi"]
    if not mpis or not places.pmio(build).exists():
        checks.skip("pmio is not completely built")
    if not shutil.which("pkg-config"):
        checks.skip("there is no pkg-config")
    mpi = mpis[0]
    with places.temporary("install") as directory:
        scratch = directory.resolve()
        (scratch / "program.c").write_text(PROGRAM)
        prefix = install(build, scratch)
        pmio = prefix / "bin" / "pmio"
        check_run(mpi, unlinked(mpi, scratch), scratch, pmio)
        for name, program in (("pkg-config", by_pkg_config), ("find_package", by_find_package)):
            linked = program(mpi, prefix, scratch)
            for command in (None, pmio):
                check_run(mpi, linked, scratch, command)
            print(f"{mpi.tag}, linked by {name}: runs alone and under pmio run")
        print("manual pages:", check_manuals(prefix, pmio))
        print("links:", check_links(prefix))
        print("site's file:", check_site_file(mpi, prefix, scratch, pmio))
        print("task prolog:", check_task_prolog(prefix))
        for name in ("pmio", "pmio-on"):
            [lua] = (prefix / "share" / "modulefiles" / name).glob("*.lua")
            print(f"Lmod's module {name}:", check_module(prefix, scratch, "lua", LUA_MODULE, lua))
            print(f"Tcl module {name}:", check_module(prefix, scratch, "tclsh", TCL_MODULE, lua.with_suffix("")))
        print("uninstall:", check_uninstall(build, scratch))
        print("Debian package:", check_package(mpi, build, scratch))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
