#!/usr/bin/env python3
"""What crosses the network in a collective write besides the bytes themselves: one rank on each of two hosts of the
test-bed, 16,000 bytes of each rank in a call, in 1 to 1,000 records that are dealt in turn.

Counted are the bytes that the first host's interface sends and receives in a job, headers included, and nothing is
timed. The difference between a job of 600 calls and one of 200 is that of 400 calls. Each aggregator has half of what
a call covers, so half of the bytes must cross, 16,000 in a call, unless the records are one piece: then none need to.

  bench/metadata.py --mpi mpich-5.0.2 --json results.json
  bench/metadata.py --mpi openmpi-5.0.11
"""

import statistics

from pmiolab import command_line, hosts, mpi_libraries, places, spanning_jobs, tables
from pmiolab.contestants import PLAIN_SETTINGS

CALL_BYTES = 16000  # of a rank
RECORDS = (1, 10, 100, 1000)
CALLS = (200, 600)
HINTS = ("--hint", "romio_cb_write=enable", "--hint", "cb_nodes=2")
# Their settings.
PLAIN = {"mpich": {"enable": {}}, "openmpi": {"ompio": {}, "romio": PLAIN_SETTINGS["romio"]}}
PMIO = {f"pmio, alignment {n}": {"PMIO_MODE": "twophase", "PMIO_CB_ALIGN": n} for n in (0, 1, 2)}


def bytes_of_host(bed):
    """Sent and received by its interface since it is up."""
    for line in bed.must("on", spanning_jobs.HOSTS[0], "cat", "/proc/net/dev").splitlines():
        name, _, counts = line.strip().partition(":")
        if name == "eth0":
            return int(counts.split()[0]) + int(counts.split()[8])
    raise SystemExit("the host has no eth0")


def bytes_of_job(bed, options, contestant, records, calls, work):
    settings = (PLAIN[options.mpi.family] | PMIO)[contestant]
    under = [places.pmio(options.build), "run", "--"] if contestant in PMIO else []
    words = spanning_jobs.launch(options.build, options.mpi, len(spanning_jobs.HOSTS))
    words += ["env", *(f"{key}={value}" for key, value in settings.items()), *under]
    words += [places.benchmark(options.build, "mpiio", options.mpi), "--file", work / "target", *HINTS, "--bytes",
              CALL_BYTES * calls, "--block", CALL_BYTES // records, "--blocks-per-call", records]  # fmt: skip
    before = bytes_of_host(bed)
    bed.must(*words, timeout=options.timeout)
    return bytes_of_host(bed) - before


def bytes_of_call(bed, options, contestant, records, work):
    few, many = (
        statistics.median(
            bytes_of_job(bed, options, contestant, records, calls, work) for _ in range(options.repetitions)
        )
        for calls in CALLS
    )
    return (many - few) / (CALLS[1] - CALLS[0])


def main():
    parser = command_line.benchmark_parser(__doc__, repetitions=1, timeout=300)
    parser.add_argument("--work", help="where the file is, for both hosts; default: the temporary directory")
    options = parser.parse_args()
    options.mpi = mpi_libraries.choose(options.build, options.mpi)
    results, rows = [], []
    with hosts.testbed(servers=1, file_system="none") as bed, places.temporary("bench", options.work) as work:
        for contestant in (*PLAIN[options.mpi.family], *PMIO):
            found = {records: bytes_of_call(bed, options, contestant, records, work) for records in RECORDS}
            rows.append([contestant, *(f"{call_bytes:,.0f}" for call_bytes in found.values())])
            results += [{"contestant": contestant, "records": records, "call_bytes": call_bytes}
                        for records, call_bytes in found.items()]  # fmt: skip
    print(f"{options.mpi.tag}, 2 ranks on 2 hosts, {CALL_BYTES} bytes of each in a call; bytes on the network per call")
    tables.print_table(["records", *RECORDS], rows)
    tables.write_json(options.json, {"mpi": options.mpi.tag, "results": results})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
