# What pmio's core needs; docs/dependencies.md says why each is there.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PMEM2 REQUIRED libpmem2)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
