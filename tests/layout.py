#!/usr/bin/env python3
"""What pmio says of a file's I/O servers on a file system that is really mounted, and the stripes of a file that it makes.

  layout.py --mpi mpich-5.0.2 --fs moosefs    chunks of 64 MiB; stripes cannot be chosen
  layout.py --mpi mpich-5.0.2 --fs ceph       the file system's own default, a directory's layout, and hints
"""

import checks
import hosts  # and where harness is
import harness

HINTS = "*:striping_unit=1048576:striping_factor=3"
LAYOUT = "stripe_unit=1048576 stripe_count=3 object_size=4194304"


class Files:
    def __init__(self, bed, options):
        self.bed, self.options = bed, options

    def sees(self, name):
        """What `pmio doctor` says of the file."""
        output = self.bed.must("on", "c1", self.options.build / "bin" / "pmio", "doctor", "--file", f"/mnt/pfs/{name}")
        return next(line.split(None, 4)[4] for line in output.splitlines() if line.startswith("layout of the file"))

    def empty(self, name):
        self.bed.must("on", "c1", "touch", f"/mnt/pfs/{name}")
        return name

    def written_with_hints(self, name):
        """By a job under pmio; the checksum of what is in it."""
        program = self.options.build / "tests" / "mpi" / f"across_hosts-{self.options.mpi}"
        launch = ["mpiexec", "--build", self.options.build, "--mpi", self.options.mpi, "-n", 4, "--hosts", "c1"]
        self.bed.must(*launch, "env", f"PMIO_HINTS={HINTS}", self.options.build / "bin" / "pmio", "run", "--", program, f"/mnt/pfs/{name}")
        return name


def on_moosefs(files, report):
    for name in (files.empty("empty"), files.written_with_hints("hinted")):
        seen = files.sees(name)
        report.check(f"{name}: chunks of MooseFS", seen == "fuse.mfs: stripes of 64.0 MiB, servers unknown", seen)


def on_ceph(files, report):
    seen = files.sees(files.empty("empty"))
    report.check("the default layout", seen == "fuse.ceph-fuse: stripes of 4.0 MiB, servers unknown", seen)
    files.bed.must("on", "c1", "mkdir", "/mnt/pfs/striped")
    files.bed.must("on", "c1", "setfattr", "-n", "ceph.dir.layout", "-v", LAYOUT, "/mnt/pfs/striped")
    for name in (files.empty("striped/empty"), files.written_with_hints("hinted")):
        seen = files.sees(name)
        report.check(f"{name}: as chosen", seen == "fuse.ceph-fuse: stripes of 1.0 MiB on 3 servers", seen)
        told = files.bed.must("on", "c1", "getfattr", "--only-values", "-n", "ceph.file.layout", f"/mnt/pfs/{name}")
        report.check(f"{name}: so says the file system", LAYOUT in told, told)


def main():
    parser = checks.parser(__doc__)
    parser.add_argument("--fs", default="moosefs", choices=["moosefs", "ceph"], help="file system of the testbed")
    options = parser.parse_args()
    options.mpi = harness.choose_mpi(options.build, options.mpi).tag
    report = checks.Checks()
    with hosts.testbed(compute=1, servers=3, file_system=options.fs) as bed:
        (on_ceph if options.fs == "ceph" else on_moosefs)(Files(bed, options), report)
    return report.conclude()


if __name__ == "__main__":
    raise SystemExit(main())
