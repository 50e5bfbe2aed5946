#!/usr/bin/env python3
"""`pmio simulate`: its options and what it refuses, its table and its JSON, and that the figure can be drawn."""

import json
import subprocess

from pmiolab import checks, command_line, places

SMALL = ("--records", "16", "--checkpoints", "2", "--compute", "60")
WAYS = ["two-phase", "independent", "log"]
REFUSED = [
    (("--nodes", "0"), 1, "number of nodes"),
    (("--nodes", "many"), 2, "--nodes"),
    (("--server-rate", "-1"), 1, "rate of a server"),
    (("--server-rate", "nan"), 1, "rate of a server"),
    (("--layout", "columns"), 2, "--layout"),
    (("--nodes", "4", "--aggregators", "5"), 1, "aggregators"),
    (("--record-bytes", "10", "--rank-bytes", "1001"), 1, "multiple"),
    (("--records", "10", "--rank-bytes", "1M"), 2, "--rank-bytes"),
    (("--log-capacity", "0.001"), 1, "capacity"),
    (("--profile", "/nowhere/profile.json"), 1, "/nowhere/profile.json"),
    (("--nodes", "1000000", "--record-bytes", "1000000000000", "--records", "100000"), 1, "size of a checkpoint"),
]


class Command:
    def __init__(self, pmio):
        self.pmio = pmio

    def run(self, *words, code=0):
        command = [self.pmio, "simulate", *SMALL, *words]
        if "--records" in words or "--rank-bytes" in words:
            command = [self.pmio, "simulate", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, (words, done)
        return done

    def told(self, *words):
        return json.loads(self.run("--json", *words).stdout)


def check_refusals(command):
    for words, code, said in REFUSED:
        done = command.run(*words, code=code)
        assert not done.stdout and said in done.stderr, (words, done)


def check_table(command):
    text = command.run("--nodes", "10").stdout
    for said in ("10 nodes of 32 ranks", "time-to-log", "time-to-file", "servers in use", "pmio's rounds", *WAYS):
        assert said in text, (said, text)
    assert "would log nothing" not in text, text
    text = command.run("--nodes", "10", "--descriptors", "100").stdout
    assert "would log nothing here: a leader needs" in text, text
    assert "pmio's rounds" not in command.run("--nodes", "1").stdout


def check_json(command):
    told = command.told("--nodes", "20", "--record-bytes", "64K", "--seed", "7")
    assert told == command.told("--nodes", "20", "--record-bytes", "64K", "--seed", "7")
    assert (told["scenario"]["record_bytes"], told["scenario"]["seed"]) == (65536, 7), told["scenario"]
    assert list(told["ways"]) == WAYS, told
    for way in told["ways"].values():
        assert way["written_bytes"] == 2 * 20 * 32 * 16 * 65536, way
        assert 0 < way["to_log_s"] <= way["to_file_s"] <= way["run_s"] and 0 < way["utilisation"] < 1, way
        assert len(way["checkpoints"]) == 2, way
    log = told["ways"]["log"]
    assert log["not_logged"] is None and log["rounds"]["count"] == 2 and log["lost_bytes"] > 0, log
    assert command.told("--nodes", "20", "--durable-log")["ways"]["log"]["lost_bytes"] == 0
    waits = command.told("--nodes", "20", "--close-waits")["ways"]["log"]
    assert waits["to_log_s"] == waits["to_file_s"], waits


def check_many_nodes(command):
    """The program waits for no other node; the files are complete later, the more nodes there are."""
    few, many = (command.told("--nodes", nodes)["ways"]["log"] for nodes in ("100", "10000"))
    assert abs(many["to_log_s"] - few["to_log_s"]) < 0.01 * few["to_log_s"], (few, many)
    assert many["to_file_s"] > 10 * few["to_file_s"], (few, many)


def check_figure():
    drawn = [places.SYSTEM_PYTHON, places.ROOT / "bench" / "simulate.py"]
    done = subprocess.run(drawn, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and ("usage" in done.stderr or "matplotlib is missing" in done.stderr), done


def main():
    build = command_line.parser(__doc__, mpi=False).parse_args().build
    if not places.pmio(build).exists():
        checks.skip("pmio is not built")
    command = Command(places.pmio(build))
    check_refusals(command)
    check_table(command)
    check_json(command)
    check_many_nodes(command)
    check_figure()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
