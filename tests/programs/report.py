#!/usr/bin/env python3
"""`pmio stats --trace` and `pmio report` of a job with files of several engines.

The trace is taken apart by hand: it has the tracks of each rank, and slices that begin and end. The page holds
the numbers of `pmio stats --json` and the changes of `pmio advise --json`, and needs nothing else. If there is a
browser (chromium, chromium-headless-shell, or what PMIO_BROWSER names), the page is opened at two widths: all
charts are there, no script has failed, and nothing is wider than the window.
"""

import html
import json
import os
import re
import shutil
import subprocess
from collections import Counter

from pmiolab import command_line, mpi_libraries, places

PROGRAM = """\
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  static const char* const modes[] = {"log", "twophase", "independent", "off"};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* data = calloc(1, 1 << 20);
  for (int m = 0; m < 4; m++) {
    MPI_File file;
    MPI_Info info;
    char name[64] = "<script>.";
    for (int i = 0; modes[m][i]; i++) name[9 + i] = modes[m][i];
    MPI_Info_create(&info);
    MPI_Info_set(info, "pmio_mode", modes[m]);
    MPI_Info_set(info, "cb_nodes", "8");
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file);
    for (int i = 0; i < 4; i++) {
      MPI_File_write_at_all(file, (MPI_Offset)(2 * i + rank) << 18, data, 1 << 18, MPI_BYTE, MPI_STATUS_IGNORE);
      usleep(15000);
    }
    MPI_File_read_at_all(file, 0, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Info_free(&info);
  }
  free(data);
  return MPI_Finalize();
}
"""
MODES = ("log", "twophase", "independent", "off")
WIDTHS = (1280, 400)
AT_THE_END = """
<script>
window.addEventListener("error", (event) => { document.title = "failed: " + event.message; });
</script>
"""
MEASURED = """
<script>
if (!document.title.startsWith("failed"))
  document.title = `${document.documentElement.scrollWidth} of ${window.innerWidth}`;
</script>
"""


def fields(message):
    """The fields of a protobuf message, as (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        assert key & 7 in (1, 2), key
        length = varint() if key & 7 == 2 else 8
        yield key >> 3, message[at : at + length]
        at += length


def check_trace(trace, ranks):
    names, kinds, open_slices = {}, Counter(), Counter()
    processes = []
    for number, packet in fields(trace):
        assert number == 1, number
        packet = dict(fields(packet))
        if 60 in packet:
            track = dict(fields(packet[60]))
            if 3 in track:
                processes.append(dict(fields(track[3]))[6].decode())
            else:
                names[track[1]] = track[2].decode()
            continue
        event = dict(fields(packet[11]))
        assert event[11] in names and 8 in packet, event
        kinds[names[event[11]], event[9]] += 1
        open_slices[event[11]] += {1: 1, 2: -1}.get(event[9], 0)
        assert 0 <= open_slices[event[11]] <= 1, names[event[11]]
    assert [name.split(" on ")[0] for name in processes] == [f"rank {rank}" for rank in range(ranks)], processes
    assert kinds["to the log", 4] > 0 and kinds["to the files", 4] > 0, kinds
    assert kinds["system calls", 1] == kinds["system calls", 2] > 0, kinds
    assert not any(open_slices.values()), open_slices


def check_history(rank):
    names, points = rank["history"]["names"], rank["history"]["points"]
    assert len(points) >= 3, points
    for column in range(len(names) + 1):
        values = [point[column] for point in points]
        assert values == sorted(values), (["us", *names][column], values)
    last = dict(zip(names, points[-1][1:], strict=True))
    assert last["written_bytes"] == rank["counters"]["target_write_bytes"], (last, rank["counters"])
    assert last["log_bytes"] == rank["counters"]["append_bytes"] > 0, (last, rank["counters"])


def check_page(page, told, advice):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    assert json.loads(data) == {**told, "advice": advice["changes"]} and "<script>." not in page, data[:200]
    assert not re.search(r'(src|href)="(https?:)?//', page)


def browser():
    wanted = os.environ.get("PMIO_BROWSER")
    names = [wanted] if wanted else ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
    return next((found for name in names if (found := shutil.which(name))), None)


def look_at(program, page, scratch):
    watched = page.replace("<body>", "<body>" + AT_THE_END).replace("</body>", MEASURED + "</body>")
    (scratch / "watched.html").write_text(watched)
    for width in WIDTHS:
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={scratch / 'profile'}"]
        command += [f"--window-size={width},2000", "--dump-dom", f"file://{scratch / 'watched.html'}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done
        title = html.unescape(re.search(r"<title>(.*?)</title>", done.stdout)[1])
        needed, there = map(int, re.fullmatch(r"(\d+) of (\d+)", title).groups())
        assert needed <= there == width, title
        assert done.stdout.count("<svg") >= 5, done.stdout.count("<svg")
        for mode in MODES:
            assert f"&lt;script&gt;.{mode}" in done.stdout, mode


def main():
    options = command_line.parser(__doc__, mpi=False).parse_args()
    mpi, pmio = mpi_libraries.choose(options.build, None), places.pmio(options.build)
    with places.temporary("report", places.memory()) as directory:
        scratch = directory.resolve()
        logs = scratch / "logs"
        (scratch / "program.c").write_text(PROGRAM)
        subprocess.run([mpi.mpicc, "program.c", "-o", "program"], cwd=scratch, check=True)
        run = [pmio, "run", "--dir", logs, "--stats", "--", scratch / "program"]
        env = {**mpi_libraries.environment(mpi), "PMIO_REGISTRY": str(scratch), "PMIO_DIRECT_FROM": "off"}
        subprocess.run(
            [str(word) for word in (mpi.mpiexec, "-n", 2, *run)], cwd=scratch, env=env, check=True, timeout=120
        )

        def told(*words):
            command = [str(word) for word in (pmio, *words[:1], "--dir", logs, *words[1:])]
            return subprocess.run(command, capture_output=True, text=True, check=True, cwd=scratch).stdout

        job = json.loads(told("stats", "--json"))
        engines = {file["path"].split(".")[-1]: file["engine"] for file in job["files"]}
        assert engines == {"log": "log", "twophase": "twophase", "independent": "independent", "off": "library"}, engines
        [buffered] = [file for file in job["files"] if file["engine"] == "twophase"]
        assert buffered["hints_wished"]["cb_nodes"] == "8" and buffered["hints"]["cb_nodes"] == "2", buffered
        for rank in job["ranks"]:
            check_history(rank)
        assert all(len(line) <= 80 for line in told("stats").splitlines()), told("stats")
        told("stats", "--trace", "trace")
        check_trace((scratch / "trace").read_bytes(), 2)
        told("report", "--job", job["job"], "-o", "page.html")
        page = (scratch / "page.html").read_text()
        check_page(page, job, json.loads(told("advise", "--json")))
        if program := browser():
            look_at(program, page, scratch)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
