# A Spack recipe. pmio is built from a checkout, for the one MPI of the spec:
#
#   spack repo create ~/spack-pmio pmio_site   # prints a place; copy this file there, as
#                                              # packages/pmio/package.py
#   spack repo add <that place>
#   spack dev-build pmio@0.1.0 ^mpich          # in the checkout
#
# It was run with Spack 0.23 (October 2024), gcc 12, and MPICH 5.0.2 and Debian 12's libraries as
# externals: `spec`, `dev-build`, and a job under the installed `pmio run`. CMakePackage and
# generator are spack.package's there, so a stand-in gave the first import. It was not run with
# Spack 1 yet. That the names imported and the packages named below exist there was looked up only.

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Pmio(CMakePackage):
    """Makes the MPI-IO of unmodified programs about as fast as the memory that is close to them:
    writes are appended to a log in node-local memory and brought to the file in the background."""

    version("0.1.0")

    license("BSD-3-Clause")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("isa-l@2.30:")
    depends_on("mpi")
    depends_on("pmdk@1.11:")  # libpmem2

    conflicts("%gcc@:11", msg="pmio is C++20")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("PMIO_MPICC", self.spec["mpi"].mpicc),
            self.define("PMIO_TESTS", False),
            self.define("PMIO_BENCH", False),
        ]
