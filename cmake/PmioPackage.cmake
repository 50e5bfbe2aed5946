# The Debian package: `cpack -G DEB` in the build directory. Its dependencies are read from what the binaries link; they
# link no MPI, for the program brings it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pmio)
set(CPACK_PACKAGE_CONTACT "the pmio developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "MPI-IO of unmodified programs, logged in node-local memory")
set(CPACK_PACKAGE_DESCRIPTION
"Takes over a program's MPI-IO calls, appends what a rank writes to a log in
node-local memory, and writes large, ordered batches to the file in the
background. What was acknowledged survives a crash.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# Debug information is a package of its own, pmio-dbgsym.
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Loaded, not linked (src/medium/pmem2.h).
set(CPACK_DEBIAN_PACKAGE_DEPENDS libpmem2-1)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "mpich | openmpi-bin | mpi-default-bin")
include(CPack)
