#!/usr/bin/env python3
"""The pmio command and scripts/build, with right and wrong options and environments; no MPI program is run."""

import itertools
import json
import os
import shutil
import subprocess

from pmiolab import checks, command_line, mpi_libraries, places

NOT_HINTS = ["PMIO_RUN_COMMAND", "PMIO_RUNTIME", "PMIO_REGISTRY", "PMIO_RECOVER_SECONDS", "PMIO_RECOVER_WAIT",
             "PMIO_HINTS", "PMIO_MPICC", "PMIO_TESTBED"]  # fmt: skip
MISUSED = [
    ("--force",),
    ("--user", "root"),
    ("--lost-nodes",),
    ("--lost-nodes", "--all"),
    ("--to", "copy"),
    ("--to", "copy", "--file", "x", "--all"),
    ("--to", "copy", "--file", "x", "--force"),
    ("--lost-nodes", "--file", "x", "--all"),
    ("--lost-nodes", "--file", "x", "--dry-run"),
    ("--all", "--dir", "logs"),
]
USED = [
    (),
    ("--file", "x", "--force"),
    ("--file", "x", "--lost-nodes"),
    ("--all",),
    ("--all", "--file", "x", "--force", "--dry-run"),
    ("--file", "x", "--to", "copy"),
    ("--wait", "5"),
]
PROJECT = """\
project(wrappers NONE)
set(PMIO_MPICC "" CACHE STRING "")
message("wrappers: ${PMIO_MPICC}.")
"""
PRESETS = {
    "version": 6,
    "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build"}],
    "buildPresets": [{"name": "release", "configurePreset": "release"}],
}


class Command:
    def __init__(self, build, scratch):
        self.pmio, self.build, self.scratch = places.pmio(build), build, scratch

    def run(self, *words, pmio=None, **settings):
        env = {name: value for name, value in os.environ.items() if not name.startswith("PMIO_")}
        env.update({"PMIO_DIR": str(self.scratch / "logs"), "PMIO_REGISTRY": str(self.scratch), **settings})
        command = [str(word) for word in (pmio or self.pmio, *words)]
        return subprocess.run(
            command, cwd=self.scratch, env=env, capture_output=True, text=True, timeout=60, check=False
        )

    def findings(self, **more):
        return json.loads(self.run("doctor", "--json", **more).stdout)["findings"]


def check_usage(command):
    for words in MISUSED:
        done = command.run("recover", *words)
        assert done.returncode == 1 and not done.stdout and words[0] in done.stderr, f"recover {words}: {done}"
    for words in USED:
        done = command.run("recover", *words)
        assert done.returncode == 0, f"recover {words}: {done}"


def check_discard(command):
    """Of a log that is not there: its note in the registry is removed only with --yes."""
    notes = command.scratch / f"pmio-jobs-{os.geteuid()}"
    notes.mkdir(mode=0o700)
    note = notes / "job-00000000000000ab"
    note.write_text(f"{command.scratch}/gone\n")
    for words, code, said in (
        (("xyz",), 1, "is no job"),
        (("ab",), 1, "no log of job"),
        (("ab", "--yes"), 0, "is removed"),
        ((), 2, "required"),
    ):
        done = command.run("discard", *words)
        assert done.returncode == code and said in done.stdout + done.stderr, (words, done)
        assert note.exists() == (words != ("ab", "--yes") and code != 2), words
    notes.rmdir()


def check_log_directory(command):
    """A relative log directory is made absolute by `pmio run --dir`; in PMIO_DIR it has no effect."""
    [tag, *_] = [mpi.tag for mpi in mpi_libraries.load(command.build)]
    shell = ("--mpi", tag, "--", "sh", "-c", "echo $PMIO_DIR")
    for given, told in (("logs", command.scratch / "logs"), ("/elsewhere", "/elsewhere")):
        done = command.run("run", "--dir", given, *shell)
        assert done.stdout == f"{told}\n", done
    usual = command.run("inspect", "--help", PMIO_DIR="").stdout  # names the default
    told = command.run("inspect", "--help", PMIO_DIR="relative").stdout
    assert "/pmio-" in usual and told == usual, f"{usual}{told}"
    assert any("PMIO_DIR" in finding["what"] for finding in command.findings(PMIO_DIR="relative"))


def check_environment(command):
    settings = {name: str(command.scratch) for name in NOT_HINTS}
    told = json.dumps(command.findings(**{**settings, "PMIO_HINTS": "*.h5:pmio_mode=off"}))
    assert not [name for name in NOT_HINTS if name in told], told
    assert "PMIO_LOGSIZE" in json.dumps(command.findings(PMIO_LOGSIZE="1G"))


def check_model(command):
    """`pmio model liu`: which figures of the paper follow, in 80 columns and as JSON, of the same numbers."""
    text = command.run("model", "liu")
    assert text.returncode == 0 and not text.stderr, text
    assert all(len(line) <= 80 and line == line.rstrip() for line in text.stdout.splitlines()), text.stdout
    told = json.loads(command.run("model", "liu", "--json").stdout)
    rows = [(section["title"].split(",")[0], row) for section in told["sections"] for row in section["rows"]]
    for (title, item), paper, recomputed, follows in (
        (("T_individual", "HDD"), 613.17, 613.17, True),
        (("T_individual", "SSD"), 160.84, 160.85, True),
        (("T_individual", "NVM"), 145.88, 148.26, False),
        (("T_individual", "NVM, by bdw_seq"), 145.88, 145.88, True),
        (("T_IO of collective I/O", "HDD"), None, 281.95, None),
        (("T_IO of collective I/O", "SSD"), None, 147.63, None),
        (("T_IO of collective I/O", "NVM"), None, 145.88, None),
        (("T_comm", "table V, SSD and NVM"), 138.58, 417.17, False),
        (("T_comm", "table VI, each device"), 68.95, 485.78, False),
        (("Prediction errors", "largest"), 14.4, 17.28, False),
    ):
        [row] = [row for of, row in rows if (of, row["item"]) == (title, item)]
        found = (row["paper"] and round(row["paper"], 2), round(row["recomputed"], 2), row.get("follows"))
        assert found == (paper, recomputed, follows), (title, row)
        assert f"{recomputed:.2f}" in text.stdout, recomputed
    counted = [row["follows"] for _, row in rows if row["paper"] is not None and not row["other_reading"]]
    assert (told["follow"], told["figures"]) == (sum(counted), len(counted)), told
    assert f"{told['follow']} of {told['figures']} figures follow" in text.stdout, text.stdout
    assert [reading["followed"] for reading in told["figure_11"]] == [7, 8, 7, 9], told["figure_11"]
    assert command.run("model").returncode == 2


def check_run(command):
    """What is wrong is reported before the program starts, with an exit status of its own."""
    (command.scratch / "static.c").write_text("int main(void) { return 7; }\n")
    (command.scratch / "within.c").write_text("int PMPI_File_open(void) { return 0; }\nint main(void) { return 7; }\n")
    for made, *words in (("static", "-static", "static.c"), ("within", "within.c"), ("bare", "-s", "within.c")):
        subprocess.run(["cc", *words, "-o", made], cwd=command.scratch, check=True)
    program = ("--", "sh", "-c", "echo ran; exit 7")
    for code, said, words, settings in (
        (7, "", program, {}),
        (7, "", ("--mode", "OFF", "--log-size", "64m", *program), {"PMIO_BACKGROUND": "No"}),
        (2, "auto, log, independent, twophase or off", ("--mode", "fast", *program), {}),
        (2, "64M or 1GiB", ("--log-size", "many", *program), {}),
        (2, "key=value", ("--hints", "*.h5:pmio_mode", *program), {}),
        (2, "pmio_mode", ("--hints", "*.h5:pmio_mod=off", *program), {}),
        (2, "nearest is PMIO_LOG_SIZE", program, {"PMIO_LOGSIZE": "1G"}),
        (2, "1M to 64G", program, {"PMIO_LOG_SIZE": "1K"}),
        (2, "there are no hints for '*.h5'", program, {"PMIO_HINTS": "*.h5"}),
        (2, "PMIO_STATS", program, {"PMIO_STATS": "loud"}),
        (2, "GONE is not set", program, {"PMIO_DIR": "/x/$GONE"}),
        (2, "built were", ("--mpi", "none-1", *program), {}),
        (125, "statically linked", ("--", "./static"), {}),
        (7, "statically linked", ("--or-plain", "--", "./static"), {}),
        (125, "linked into it", ("--", "./within"), {}),
        (7, "linked into it", ("--or-plain", "--", "./within"), {}),
        (7, "", ("--", "./bare"), {}),  # a stripped program tells nothing
        (126, "permission denied", ("--", "./static.c"), {}),
        (127, "not found", ("--", "./gone"), {}),
        (2, "launcher", ("--", "flux", "run"), {}),
    ):
        done = command.run("run", *words, **settings)
        ran = done.stdout == "ran\n"
        assert done.returncode == code and said in done.stderr and bool(said) == bool(done.stderr), (
            words,
            settings,
            done,
        )
        assert ran == (code == 7 and words[-len(program) :] == program), (words, settings, done)
    for words, settings in (
        (program, {"PMIO_LOGSIZE": "1G"}),
        (("--", "flux", "run"), {}),
        (("--mpi", "none-1", *program), {}),
    ):
        done = command.run("run", *words, PMIX_RANK="1", **settings)
        assert done.returncode == 2 and not done.stderr, f"the second rank speaks too: {done}"


def check_program(command):
    """What `pmio doctor` says of a program: its MPI, and a PnetCDF with a driver of its own."""
    (command.scratch / "empty.c").write_text("int main(void) { return 0; }\n")
    for version, past in (("1.14.1", False), ("1.15.0", True), ("2.0", True)):
        text = f'char const pmio_version_text[] = "$Id: PnetCDF library version {version} of today $";\n'
        (command.scratch / "pnetcdf.c").write_text(text)
        library = ("-shared", "-fPIC", "-Wl,-soname,libpnetcdf.so.9", "pnetcdf.c", "-o", "libpnetcdf.so.9")
        program = (
            "-Wl,--no-as-needed",
            "empty.c",
            "./libpnetcdf.so.9",
            "-Wl,-rpath," + str(command.scratch),
            "-o",
            "loads",
        )
        for words in (library, program):
            subprocess.run(["cc", *words], cwd=command.scratch, check=True)
        for settings, expected in (({}, past), ({"PNETCDF_HINTS": "nc_driver=mpiio"}, False)):
            done = command.run("doctor", "./loads", "--json", **settings)
            found = json.loads(done.stdout)
            told = [finding for finding in found["findings"] if "goes past MPI-IO" in finding["what"]]
            assert bool(told) == expected and found["program"]["mpi"] == "", (version, settings, done)
    done = command.run("doctor", "./gone")
    assert done.returncode == 1 and "gone: not found" in done.stdout, done


def check_site_file(command):
    """The site's setting holds if the user has none; a wrong line is named, and the program runs."""
    site = command.scratch / "site.conf"
    site.write_text("pmio_dir = /site/$SITE_TEST\npmio_log_size = lots\n")
    settings = {"PMIO_CONFIG": str(site), "SITE_TEST": "17"}
    done = command.run("run", "--", "sh", "-c", "echo $PMIO_DIR", **settings)
    assert (
        done.returncode == 0 and done.stderr.count(f"{site}:2: ") == 1 and str(command.scratch / "logs") in done.stdout
    ), done
    assert any(f"{site}:2: " in finding["what"] for finding in command.findings(**settings))
    env = {**os.environ, **settings}
    env.pop("PMIO_DIR", None)
    told = subprocess.run(
        [command.pmio, "inspect", "--help"], env=env, capture_output=True, text=True, check=True
    ).stdout
    assert "/site/17" in told, told
    assert any("PMIO_CONFIG" in finding["what"] for finding in command.findings(PMIO_CONFIG="/gone"))


def check_updated_mpi(command):
    """If an MPI library is gone, the remedy is cmake --fresh: otherwise CMake answers from its cache."""
    for folder in ("bin", "lib"):
        (command.scratch / folder).mkdir()
    shutil.copy(command.pmio, command.scratch / "bin")
    entry = {
        "tag": "mpich-4.0.2",
        "family": "mpich",
        "version": "4.0.2",
        "library": "/gone/libmpi.so",
        "prefix": "/gone",
    }
    (command.scratch / "lib" / "pmio-mpi.json").write_text(json.dumps([{**entry, "runtime": "libpmio-mpich-4.0.2.so"}]))
    (command.scratch / "lib" / "libpmio-mpich-4.0.2.so").touch()
    [finding] = [
        each for each in command.findings(pmio=command.scratch / "bin" / "pmio") if "/gone/libmpi.so" in each["what"]
    ]
    assert "cmake --fresh" in finding["remedy"], finding


def check_statistics(command):
    done = command.run("stats")
    assert done.returncode == 1 and "PMIO_STATS" not in done.stderr and "last 16 jobs" in done.stderr, done


def check_logout(command):
    """`pmio doctor` warns a user whose log in memory systemd would remove at the end of a session."""
    if os.geteuid() != 0:
        return
    command.scratch.chmod(0o755)
    fake(command.scratch / "busctl", 'echo "b $REMOVES"')
    shutil.copy(command.pmio, command.scratch / "bin")
    pmio = command.scratch / "bin" / "pmio"
    path = f"{command.scratch}:{os.environ['PATH']}"
    for user, place, removes in itertools.product(
        (65534, 0), ("/dev/shm/pmio-test", "/tmp/pmio-test"), ("true", "false")
    ):
        words = ("--reuid", user, "--regid", user, "--clear-groups", pmio, "doctor", "--json")
        done = command.run(*words, pmio="setpriv", PATH=path, PMIO_DIR=place, REMOVES=removes)
        told = [finding for finding in json.loads(done.stdout)["findings"] if "log out" in finding["what"]]
        assert bool(told) == (user != 0 and "shm" in place and removes == "true"), (user, place, removes, told)


def fake(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def check_slurm_script(scratch):
    """What contrib/slurm/pmio-recover.sh writes to the system log, however pmio ends."""
    scratch.mkdir()
    fake(scratch / "logger", 'echo "$@: $(cat)" >> "$SAID"')
    for script, said in (
        ("exit 0", ""),
        ("echo restored", "user.info: restored"),
        ("echo elsewhere; exit 3", "user.info: elsewhere"),
        ("echo kept >&2; exit 1", "user.warning: kept"),
        ("exit 1", "user.warning: pmio recover ended with 1"),
        ("kill -9 $$", "user.warning: pmio recover ended with 137"),
        ("echo begun; sleep 60", "user.warning: begun\npmio recover took longer than 1 s"),
        ("sleep 60", "user.warning: pmio recover took longer than 1 s"),
    ):
        (scratch / "said").write_text("")
        fake(scratch / "pmio", script)
        env = {
            **os.environ,
            "PATH": f"{scratch}:{os.environ['PATH']}",
            "PMIO": str(scratch / "pmio"),
            "SAID": str(scratch / "said"),
        }
        env.update({"SLURM_JOB_UID": "1000", "PMIO_RECOVER_SECONDS": "1"})
        done = subprocess.run([places.ROOT / "contrib" / "slurm" / "pmio-recover.sh"], env=env, check=False, timeout=60)
        found = (scratch / "said").read_text()
        assert done.returncode == 0 and said in found and bool(said) == bool(found), (script, found)


def check_slurm_tmpfs(scratch):
    """contrib/slurm/pmio-tmpfs.sh: the user's tmpfs as a prolog; as an epilog it goes, unless a log is left."""
    scratch.mkdir()
    fake(scratch / "logger", 'echo "$@" >> "$SAID"')
    fake(scratch / "recover", 'echo recovered >> "$SAID"')
    job = scratch / "run" / "7"
    env = {**os.environ, "PATH": f"{scratch}:{os.environ['PATH']}", "SAID": str(scratch / "said"),
           "PMIO_TMPFS_ROOT": str(scratch / "run"), "PMIO_TMPFS_SIZE": "16m", "PMIO_RECOVER": str(scratch / "recover"),
           "SLURM_JOB_ID": "7", "SLURM_JOB_UID": "65534"}  # fmt: skip

    def call(context):
        """What was said."""
        (scratch / "said").write_text("")
        script = places.ROOT / "contrib" / "slurm" / "pmio-tmpfs.sh"
        done = subprocess.run([script], env={**env, "SLURM_SCRIPT_CONTEXT": context}, check=False, timeout=60)
        assert done.returncode == 0, context
        return (scratch / "said").read_text()

    said = call("prolog_slurmd")
    if not job.is_mount():
        print(f"skipped: the tmpfs of a job, which cannot be mounted here: {said}")
        assert os.geteuid() != 0 or "no tmpfs" in said, said
        return
    try:
        facts = job.stat()
        assert said == "" and (facts.st_uid, facts.st_mode & 0o777) == (65534, 0o700), (said, facts)
        assert os.statvfs(job).f_blocks * os.statvfs(job).f_frsize == 16 << 20
        assert call("prolog_slurmd") == "" and subprocess.run(["umount", job], check=False).returncode == 0
        assert not job.is_mount() and call("prolog_slurmd") == ""  # mounted once; and again
        (job / "job-1").mkdir()
        said = call("epilog_slurmd")
        assert job.is_mount() and (job / "job-1").exists() and "recovered" in said and "stays" in said, said
        (job / "job-1").rmdir()
        assert call("epilog_slurmd") == "recovered\n" and not job.exists()
        assert call("epilog_slurmd") == ""
    finally:
        if job.is_mount():
            subprocess.run(["umount", "-l", job], check=False)


def check_many_jobs(command):
    """More dead jobs than a process may have open files by default."""
    for number in range(300):
        job = command.scratch / "many" / f"job-{number:016x}"
        job.mkdir(parents=True, mode=0o700)
        (job / "alive").touch()
    (command.scratch / "many").chmod(0o700)
    limited = ("-c", 'ulimit -Sn 200; exec "$@"', "sh", command.pmio, "recover", "--dir", command.scratch / "many")
    done = command.run(*limited, pmio="sh")
    assert done.returncode == 0 and not list((command.scratch / "many").glob("job-*")), done


def check_build_script(scratch):
    """scripts/build without PMIO_MPICC takes every MPI, also if PMIO_MPICC was given before."""
    (scratch / "scripts").mkdir(parents=True)
    shutil.copy(places.ROOT / "scripts" / "build", scratch / "scripts")
    (scratch / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\n" + PROJECT)
    (scratch / "CMakePresets.json").write_text(json.dumps(PRESETS))
    for given in ("/x/mpicc;/y/mpicc", ""):
        env = {**os.environ, "PMIO_MPICC": given}
        done = subprocess.run([scratch / "scripts" / "build"], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and f"wrappers: {given}." in done.stderr, done


def main():
    build = command_line.parser(__doc__, mpi=False).parse_args().build
    if not places.pmio(build).exists() or not mpi_libraries.load(build):
        checks.skip("pmio is not completely built")
    with places.temporary("command") as directory:
        scratch = directory.resolve()
        command = Command(build, scratch)
        check_usage(command)
        check_discard(command)
        check_model(command)
        check_log_directory(command)
        check_environment(command)
        check_run(command)
        check_program(command)
        check_site_file(command)
        check_updated_mpi(command)
        check_statistics(command)
        check_logout(command)
        check_many_jobs(command)
        check_slurm_script(scratch / "slurm")
        check_slurm_tmpfs(scratch / "slurm-tmpfs")
        check_build_script(scratch / "build-script")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
