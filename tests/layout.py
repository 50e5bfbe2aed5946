#!/usr/bin/env python3
"""On a file system that is really mounted, what pmio says of a file's I/O servers, and the stripes of a file
that it makes.

  layout.py --mpi mpich-5.0.2 --fs moosefs    chunks of 64 MiB; stripes cannot be chosen
  layout.py --mpi mpich-5.0.2 --fs ceph       the file system's own default, a directory's layout, and hints
"""

from pmiolab import checks, command_line, hosts, mpi_libraries, places

HINTS = "*:striping_unit=1048576:striping_factor=3"
LAYOUT = "stripe_unit=1048576 stripe_count=3 object_size=4194304"


class Files:
    def __init__(self, bed, options):
        self.bed, self.options = bed, options

    def sees(self, name):
        """What `pmio doctor` says of the file."""
        output = self.bed.must("on", "c1", places.pmio(self.options.build), "doctor", "--file", f"/mnt/pfs/{name}")
        return next(line.split(None, 4)[4] for line in output.splitlines() if line.startswith("layout of the file"))

    def empty(self, name):
        self.bed.must("on", "c1", "touch", f"/mnt/pfs/{name}")
        return name

    def written_with_hints(self, name):
        """By a job under pmio; its name."""
        build, mpi = self.options.build, self.options.mpi
        launch = ["mpiexec", "--build", build, "--mpi", mpi.tag, "-n", 4, "--hosts", "c1", "env", f"PMIO_HINTS={HINTS}"]
        program = places.test_program(build, "across_hosts", mpi)
        self.bed.must(*launch, places.pmio(build), "run", "--", program, f"/mnt/pfs/{name}")
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
    parser = command_line.parser(__doc__)
    parser.add_argument("--fs", default="moosefs", choices=["moosefs", "ceph"], help="file system of the testbed")
    options = parser.parse_args()
    options.mpi = mpi_libraries.choose(options.build, options.mpi)
    report = checks.Checks()
    with hosts.testbed(compute=1, servers=3, file_system=options.fs) as bed:
        (on_ceph if options.fs == "ceph" else on_moosefs)(Files(bed, options), report)
    return report.conclude()


if __name__ == "__main__":
    raise SystemExit(main())
