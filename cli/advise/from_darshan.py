#!/usr/bin/env python3
"""Makes of a Darshan log what `pmio advise --record` reads: what a program wrote through MPI-IO without pmio.

  python3 from_darshan.py --nodes 4 job.darshan | pmio advise --record -

Needs Darshan's Python package: pip install darshan. On how many nodes a job ran, its log does not tell.
"""

import argparse
import json
import sys
from pathlib import Path

KINDS = ("READ", "WRITE", "META")


def writes(counters):
    """Of all kinds, together."""
    return sum(counters[f"MPIIO_{call}_WRITES"] for call in ("INDEP", "COLL", "SPLIT", "NB"))


def seconds(times, shared, kinds=KINDS):
    """Of the slowest rank, in calls of some kinds. In a record of all ranks times are sums, but for that one."""
    some, every = (sum(times[f"MPIIO_F_{kind}_TIME"] for kind in which) for which in (kinds, KINDS))
    if not shared:
        return some
    return times["MPIIO_F_SLOWEST_RANK_TIME"] * some / every if every > 0 else 0.0


def file_record(path, records, ranks):
    """Records of one file: one of all ranks (rank -1), or one of each rank that had it open."""
    shared = [record for record in records if record[0]["rank"] < 0]
    if shared:
        counters, times = shared[0]
        return {
            "path": path,
            "writers": ranks,
            "opens": max(1, (counters["MPIIO_COLL_OPENS"] + counters["MPIIO_INDEP_OPENS"]) // ranks),
            "calls": -(-writes(counters) // ranks),
            "bytes": counters["MPIIO_BYTES_WRITTEN"],
            "write_s": seconds(times, True, ("WRITE",)),
        }
    writing = [record for record in records if writes(record[0]) > 0]
    return {
        "path": path,
        "writers": len(writing),
        "opens": max((c["MPIIO_COLL_OPENS"] + c["MPIIO_INDEP_OPENS"] for c, _ in records), default=0),
        "calls": max((writes(c) for c, _ in writing), default=0),
        "bytes": sum(c["MPIIO_BYTES_WRITTEN"] for c, _ in writing),
        "write_s": max((seconds(t, False, ("WRITE",)) for _, t in writing), default=0),
    }


def slowest_seconds(by_file, ranks):
    """Of the rank with most of it; a shared record counts for each."""
    own, shared = dict.fromkeys(range(ranks), 0.0), 0.0
    for records in by_file.values():
        for counters, times in records:
            if counters["rank"] < 0:
                shared += seconds(times, True)
            else:
                own[counters["rank"]] = own.get(counters["rank"], 0.0) + seconds(times, False)
    return shared + max(own.values(), default=0)


def record_of(log, nodes):
    import darshan

    report = darshan.DarshanReport(str(log), read_all=True)
    job = report.metadata["job"]
    ranks = max(1, int(job["nprocs"]))
    by_file = {}
    if "MPI-IO" in report.records:
        tables = report.records["MPI-IO"].to_df()
        for counters, times in zip(tables["counters"].to_dict("records"), tables["fcounters"].to_dict("records")):
            path = report.name_records.get(counters["id"], str(counters["id"]))
            by_file.setdefault(path, []).append((counters, times))
    wall = job.get("run_time") or job["end_time_sec"] - job["start_time_sec"]
    files = [file_record(path, records, ranks) for path, records in by_file.items()]
    return {
        "format": "pmio-record-1",
        "program": Path(report.metadata["exe"].split()[0]).name,
        "ranks": ranks,
        "nodes": nodes,
        "wall_s": float(wall),
        "io_s": float(slowest_seconds(by_file, ranks)),
        "files": files,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--nodes", type=int, required=True, help="of the job")
    options = parser.parse_args()
    try:
        record = record_of(options.log, options.nodes)
    except ImportError:
        sys.exit("from_darshan.py: Darshan's Python package is not there: pip install darshan")
    except Exception as error:  # what the package raises for a bad log is not documented
        sys.exit(f"from_darshan.py: {options.log}: {error}")
    json.dump(record, sys.stdout, indent=2, default=int)
    print()


if __name__ == "__main__":
    main()
