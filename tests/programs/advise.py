#!/usr/bin/env python3
"""`pmio advise`: of a job that has run, of statistics made by hand, of a record without pmio, and of a pattern.

What it advises of statistics made by hand is known beforehand. Of a job that runs here, times are as they come: what
is told must fit together. Whether advice is right is measured by bench/advice.py.
"""

import json
import os
import subprocess
import sys

from pmiolab import command_line, mpi_jobs, mpi_libraries, places

MS = 1_000_000  # ns
RECORD = {
    "format": "pmio-record-1", "program": "writer", "ranks": 4, "nodes": 1, "wall_s": 100, "io_s": 60,
    "files": [{"path": "/out", "writers": 4, "opens": 1, "calls": 100000, "bytes": 4e8, "write_s": 55}],
}  # fmt: skip
PATTERN_REFUSED = [
    (("--ranks", "3", "--nodes", "2"), 1, "multiple"),
    (("--call-bytes", "8", "--pieces", "9"), 1, "--pieces"),
    (("--now", "fast"), 2, "--now"),
    (("--goal", "fast"), 2, "--goal"),
    (("--log-size", "-1"), 2, "--log-size"),
    (("--profile", "/nowhere/profile.json"), 1, "/nowhere/profile.json"),
]


# In the place of Darshan's Python package: a log with a file of all four ranks and one of each of two ranks.
DARSHAN = """
KINDS = ("INDEP", "COLL", "SPLIT", "NB")
def counters(file, rank, calls, count, opens):
    writes = {f"MPIIO_{kind}_WRITES": calls if kind == "COLL" else 0 for kind in KINDS}
    return {"id": file, "rank": rank, "MPIIO_BYTES_WRITTEN": count, "MPIIO_COLL_OPENS": opens,
            "MPIIO_INDEP_OPENS": 0} | writes
def times(read, write, meta, slowest=0):
    return {"MPIIO_F_READ_TIME": read, "MPIIO_F_WRITE_TIME": write, "MPIIO_F_META_TIME": meta,
            "MPIIO_F_SLOWEST_RANK_TIME": slowest}
class Table:
    def __init__(self, rows): self.rows = rows
    def to_dict(self, orient):
        assert orient == "records"
        return self.rows
class Records:
    def to_df(self):
        return {"counters": Table([counters(1, -1, 4000, 5248000, 4), counters(2, 0, 10, 100, 1),
                                   counters(2, 3, 30, 500, 2)]),
                "fcounters": Table([times(1, 6, 1, 4), times(0, 1, 0), times(0.5, 2, 0.5)])}
class DarshanReport:
    def __init__(self, path, read_all):
        self.metadata = {"job": {"nprocs": 4, "run_time": 50.0}, "exe": "/bin/app -x"}
        self.records = {"MPI-IO": Records()}
        self.name_records = {1: "/all", 2: "/own"}
"""


class Command:
    def __init__(self, build, scratch):
        self.pmio = places.pmio(build)
        # Without a profile of whoever runs this.
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(scratch), "XDG_CONFIG_DIRS": str(scratch)}

    def run(self, *words, code=0, **more):
        done = subprocess.run([self.pmio, "advise", *map(str, words)], env=self.environment, capture_output=True,
                              text=True, timeout=60, check=False, **more)  # fmt: skip
        assert done.returncode == code, (words, done)
        assert bool(done.stderr) == (code != 0), (words, done)
        return done

    def told(self, *words, **more):
        return json.loads(self.run(*words, "--json", **more).stdout)


def check_changes(advice):
    changes = advice["changes"]
    gains = [change["from_s"] - change["to"]["likely_s"] for change in changes]
    assert gains == sorted(gains, reverse=True), changes
    for change in changes:
        to = change["to"]
        assert 0 <= to["low_s"] <= to["likely_s"] <= to["high_s"], change
        assert change["setting"] or change["code"], change
        assert change["basis"] in ("measured", "model"), change
    return {change["what"]: change for change in changes}


def check_job(command, build, mpi, scratch):
    """A file through the log and one by the library, with the library's own time."""
    for mode in ("log", "off"):
        logs = scratch / f"logs-{mode}"
        logs.mkdir(mode=0o700)
        words = [places.benchmark(build, "mpiio", mpi), "--file", scratch / "target", "--block", 1312]
        words += ["--bytes", 2 << 20]
        settings = {"PMIO_DIR": logs, "PMIO_STATS": 1, "PMIO_HINTS": f"*:pmio_mode={mode}"}
        mpi_jobs.measure(mpi, 2, words, name=mode, settings=settings, preload=[mpi.runtime], timeout=120)
        shown = subprocess.run([command.pmio, "stats", "--dir", logs, "--json"], capture_output=True, check=True)
        statistics = json.loads(shown.stdout)
        [file] = statistics["files"]
        assert file["total"]["write_ns"] > 0, file
        advice = command.told("--dir", logs)
        check_changes(advice)
        assert advice["job"] == statistics["job"] and advice["ranks"] == 2 and advice["nodes"] == 1, advice
        assert abs(sum(advice["phases_s"].values()) - advice["io_s"]) < 1e-9, advice
        assert 0 < advice["io_s"] < advice["wall_s"], advice
        straight = advice["phases_s"]["files without a log"]
        assert (straight > 0) == (mode == "off"), advice
        text = command.run("--dir", logs).stdout
        assert f"job {advice['job']}" in text and "2 ranks on 1 node:" in text, text
        assert max(map(len, text.splitlines())) <= 80, text


def statistics_of(rank, **counters):
    return {
        "format": "pmio-statistics-1", "job": "1", "rank": rank, "ranks": 1, "program": "made", "mpi": "?", "host": "h",
        "start_realtime_ns": 0, "wall_ns": 100_000 * MS, "log_directory": "/nowhere", "medium": "tmpfs", "files": [],
        "counters": counters,
    }  # fmt: skip


def check_known(command, scratch):
    job = scratch / "known" / "stats-0000000000000001"
    job.mkdir(mode=0o700, parents=True)
    (scratch / "known").chmod(0o700)

    def advised(document):
        (job / "rank-0.json").write_text(json.dumps(document))
        return check_changes(command.told("--dir", scratch / "known"))

    assert not advised(statistics_of(0, append_ns=10_000 * MS))
    changes = advised(statistics_of(0, append_ns=10_000 * MS, sync_calls=5000, sync_ns=50_000 * MS))
    assert list(changes) == ["fewer syncs"], changes
    assert changes["fewer syncs"]["from_s"] == 60 and "5,000 calls" in changes["fewer syncs"]["because"], changes
    # A log of 1 MiB, of which 8 are filled at once; then the program computes for long.
    points = [[0, 0, 0, 0], [40_000_000, 8 << 20, 30_000 * MS, 0], [100_000_000, 8 << 20, 30_000 * MS, MS]]
    document = statistics_of(
        0, append_ns=31_000 * MS, append_wait_ns=30_000 * MS, append_bytes=8 << 20, append_calls=8192,
        append_records=8192, log_capacity_bytes=1 << 20, log_peak_bytes=1 << 20, drain_bytes=8 << 20,
        drain_ns=34_000 * MS, close_ns=MS,
    )  # fmt: skip
    document["history"] = {"names": ["log_bytes", "wait_ns", "open_close_ns"], "points": points}
    changes = advised(document)
    assert changes["a larger log"]["setting"].startswith("pmio_log_size="), changes
    assert changes["a larger log"]["to"]["likely_s"] < 3, changes
    for history in (3, {}, {"names": 3}, {"points": [[1]]}, {"names": ["log_bytes"], "points": [["x", 1], [2]]}):
        document["history"] = history
        assert "a larger log" not in advised(document)
    (job / "rank-0.json").write_text("{")
    done = subprocess.run([command.pmio, "advise", "--dir", scratch / "known"], capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    assert done.returncode == 1 and "not a statistics file" in done.stderr, done
    assert "no statistics" in command.run("--dir", scratch / "nowhere", code=1).stderr


def check_record(command, scratch):
    path = scratch / "record.json"
    path.write_text(json.dumps(RECORD))
    changes = check_changes(command.told("--record", path))
    assert list(changes) == ["the file through the log"], changes
    assert changes["the file through the log"]["from_s"] == 60, changes
    assert "pmio run" in command.run("--record", "-", input=json.dumps(RECORD)).stdout
    for key, value in (("format", "x"), ("ranks", 0), ("wall_s", "long"), ("files", 3), ("files", [3]), ("program", 1)):
        path.write_text(json.dumps({**RECORD, key: value}))
        assert "the record" in command.run("--record", path, code=1).stderr
    path.write_text("{")
    command.run("--record", path, code=1)
    assert "cannot read" in command.run("--record", scratch / "none", code=1).stderr


def check_darshan(command, scratch):
    reader = places.ROOT / "cli" / "advise" / "from_darshan.py"
    modules = scratch / "modules"
    modules.mkdir()
    log = scratch / "job.darshan"
    log.write_text("")

    def read(code):
        done = subprocess.run([sys.executable, reader, "--nodes", "2", log], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(modules)}, check=False)  # fmt: skip
        assert done.returncode == code, done
        return done

    (modules / "darshan.py").write_text("raise ImportError")
    assert "pip install darshan" in read(1).stderr
    (modules / "darshan.py").write_text(DARSHAN)
    told = json.loads(read(0).stdout)
    command.run("--record", "-", input=json.dumps(told))
    files = {file.pop("path"): file for file in told.pop("files")}
    assert told == {"format": "pmio-record-1", "program": "app", "ranks": 4, "nodes": 2, "wall_s": 50, "io_s": 7}, told
    # Of the slowest rank's four seconds as much as of the sum was writing.
    assert files["/all"] == {"writers": 4, "opens": 1, "calls": 1000, "bytes": 5248000, "write_s": 3}, files
    assert files["/own"] == {"writers": 2, "opens": 2, "calls": 30, "bytes": 600, "write_s": 2}, files
    (modules / "darshan.py").write_text("def DarshanReport(path, read_all): raise RuntimeError('damaged')")
    assert "damaged" in read(1).stderr


def check_pattern(command):
    small = ("--ranks", "2", "--calls", "40000")
    advice = command.told("pattern", *small)
    check_changes(advice)
    ways = {way["way"]: way for way in advice["ways"]}
    assert {"independently, without pmio", "independently", "two-phase", "log"} <= set(ways), ways
    assert "log with room for all" not in ways, ways
    ways = {way["way"]: way for way in command.told("pattern", *small, "--log-size", "4M")["ways"]}
    assert ways["log with room for all"]["setting"] == "pmio_mode=log, pmio_log_size=53M", ways
    by_log = command.told("pattern", *small, "--goal", "time-to-log", "--huge-pages")
    assert "log" in check_changes(by_log), by_log
    assert not command.told("pattern", *small, "--now", "log", "--huge-pages", "--call-bytes", "1048576")["changes"]
    text = command.run("pattern", *small).stdout
    assert "2 ranks on 1 nodes, 40000 calls" in text and "by the model" in text, text
    for words, code, said in PATTERN_REFUSED:
        done = command.run("pattern", *words, code=code)
        assert said in done.stderr and not done.stdout, (words, done)


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    with places.temporary("advise") as scratch:
        command = Command(options.build, scratch)
        check_job(command, options.build, mpi, scratch)
        check_known(command, scratch)
        check_record(command, scratch)
        check_darshan(command, scratch)
        check_pattern(command)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
