#!/usr/bin/env python3
"""`pmio calibrate`, the profile that it writes, and those that read it: `pmio model ways` and `pmio doctor`."""

import json
import os
import signal
import subprocess
from pathlib import Path

from pmiolab import command_line, mpi_libraries, places

FORMAT = ("pmio-profile", 1)
WAYS = ["log", "independent", "two-phase"]
MEASURE = ("calibrate", "--quick", "--json")


class Command:
    def __init__(self, build, scratch):
        self.pmio, self.scratch = places.pmio(build), scratch
        self.profile = scratch / "config" / "pmio" / "profile.json"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PMIO_")}
        self.env = {**kept, "XDG_CONFIG_HOME": str(scratch / "config"), "PMIO_DIR": str(scratch / "logs")}

    def start(self, *words, launcher=(), env=None):
        command = [str(word) for word in (*launcher, self.pmio, *words)]
        return subprocess.Popen(
            command, cwd=self.scratch, env={**self.env, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *words, code=0, **more):
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code or (code is None and process.returncode != 0), (words, process.returncode, out, err)
        return out, err

    def doctor(self):
        """Its line of the profile. It may find something else wrong."""
        process = self.start("doctor", "--json")
        return json.loads(process.communicate(timeout=120)[0])["profile"]

    def ways(self, *words):
        return json.loads(self.run("model", "ways", "--json", *words)[0])


def check_figure(figure):
    if figure["source"] == "built in":
        return
    assert figure["source"] == "measured" and figure["samples"] >= 3, figure
    assert 0 < figure["lower_quartile"] <= figure["value"] <= figure["upper_quartile"], figure


def check_profile(profile):
    assert (profile["format"], profile["version"]) == FORMAT, profile
    for file_system in profile["file_systems"]:
        sizes = [rate["block_bytes"] for rate in file_system["rates"]]
        assert sizes == sorted(sizes) and 1312 in sizes and 4 << 20 in sizes, sizes
        for rate in file_system["rates"]:
            check_figure(rate["bytes_per_second"])
            assert rate["bytes_per_second"]["source"] == "measured", rate
    for name in ("cold_bytes_per_second", "warm_bytes_per_second"):
        assert profile["log"]["figures"][name]["source"] == "measured", profile["log"]
    for part in ("log", "exchange"):
        for figure in profile[part]["figures"].values():
            check_figure(figure)


def check_measuring(command, other):
    """Another file system is added, the same one replaced, and no other file stays."""
    assert "there is no profile" in command.run("model", "ways")[0]
    assert "none" in command.doctor()
    first = json.loads(command.run(*MEASURE)[0])
    check_profile(first)
    assert first == json.loads(command.profile.read_text())
    assert first["exchange"]["ranks"] == 0, first["exchange"]
    both = json.loads(command.run(*MEASURE, "--dir", other)[0])
    check_profile(both)
    different = os.stat(other).st_dev != os.stat(command.scratch).st_dev
    assert len(both["file_systems"]) == 1 + different, both
    table = command.run("calibrate", "--quick", "-o", command.scratch / "another.json")[0]
    assert "log, cold" in table and "file, 1.3 KiB" in table, table
    assert all(len(line) <= 100 for line in table.splitlines()), table
    (command.scratch / "another.json").unlink()
    assert [path.name for path in command.scratch.iterdir()] == ["config"], list(command.scratch.iterdir())
    assert not list(other.iterdir())


def check_messages(command, mpi):
    """Two ranks of one node: what of messages between nodes there is stays as it was."""
    family = {**mpi_libraries.environment(mpi), "PATH": f"{Path(mpi.mpiexec).parent}:{os.environ['PATH']}"}
    program = command.pmio.parents[1] / "lib" / f"pmio-messages-{mpi.tag}"
    for words in (("--mpi", mpi.tag), ("--program", program)):
        profile = json.loads(command.run(*MEASURE, *words, launcher=(mpi.mpiexec, "-n", 2), env=family)[0])
        check_profile(profile)
        exchange = profile["exchange"]
        assert (exchange["ranks"], exchange["nodes"]) == (2, 1), exchange
        sources = {name: figure["source"] for name, figure in exchange["figures"].items()}
        assert sources["within_message_seconds"] == sources["within_byte_seconds"] == "measured", sources
        assert sources["message_seconds"] == "built in", sources
    # It stays, when no launcher is there.
    after = json.loads(command.run(*MEASURE)[0])["exchange"]
    for told in (exchange, after):
        del told["figures"]["copy_bytes_per_second"]  # that of the log, which is measured each time
    assert after == exchange, after
    err = command.run(*MEASURE, "--program", "/bin/true", code=1)[1]
    assert "something else" in err, err
    err = command.run(*MEASURE, "--mpi", "none", launcher=(mpi.mpiexec, "-n", 2), env=family, code=None)[1]
    assert "mpicc" in err and "messages.c" in err, err


def check_readers(command):
    told = command.ways("--ranks", 2, "--call-bytes", 4096, "--calls", 10)
    assert told["profile"] == str(command.profile) and not told["notes"] and list(told["ways"]) == WAYS, told
    assert told["bytes"] == 2 * 4096 * 10 and all(0 < way["to_log_s"] <= way["to_file_s"] for way in told["ways"].values())
    assert "which fits" in command.doctor()
    assert "multiple" in command.run("model", "ways", "--ranks", 3, "--nodes", 2, code=1)[1]
    assert "--pieces" in command.run("model", "ways", "--call-bytes", 4, "--pieces", 5, code=1)[1]
    command.run("model", "ways", "--calls", 0, code=2)
    # Of another machine.
    right = command.profile.read_text()
    profile = json.loads(right)
    profile["machine"]["processors"] += 1
    command.profile.write_text(json.dumps(profile))
    assert "processors" in command.ways()["notes"][0]
    assert "another machine" in command.doctor()
    assert "begun anew" in command.run(*MEASURE)[1]
    command.profile.write_text(right)


def check_refusals(command):
    right = command.profile.read_text()
    for wrong, said in (
        (right.replace('"version": 1', '"version": 2'), "version 2"),
        (right[:-10], "no JSON"),
        (right.replace('"rates"', '"rated"'), "rates"),
    ):
        command.profile.write_text(wrong)
        for words in (MEASURE, ("model", "ways")):
            out, err = command.run(*words, code=1)
            assert not out and said in err and str(command.profile) in err, (words, out, err)
        assert said in command.doctor()
        assert command.profile.read_text() == wrong
    command.profile.write_text(right)
    assert "none" in command.run("calibrate", "--dir", "none", code=1)[1]
    assert "none" in command.run("model", "ways", "--profile", "none", code=1)[1]


def check_interruption(command):
    """Whenever a signal comes, nothing stays but the profile of before."""
    right = command.profile.read_text()
    process = command.start("calibrate")
    while process.poll() is None and not list(command.scratch.glob("*pmio-calibrate-*")):
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGINT and "interrupted" in err, (process.returncode, err)
    assert [path.name for path in command.scratch.iterdir()] == ["config"], list(command.scratch.iterdir())
    assert command.profile.read_text() == right


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    with places.temporary("calibrate", places.memory()) as scratch, places.temporary("calibrate") as other:
        command = Command(options.build, scratch)
        check_measuring(command, other)
        check_messages(command, mpi)
        check_readers(command)
        check_refusals(command)
        check_interruption(command)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
