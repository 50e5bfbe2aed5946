# Several hosts (testbed/). These tests are skipped where namespaces are not allowed.
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)
# MPICH 4.0 hangs in MPI_Finalize across hosts; the ABI has MPICH 5's launcher and library.
list(FILTER tags EXCLUDE REGEX "^(mpich-4|abi-)")
foreach(tag IN LISTS tags)
  foreach(program IN ITEMS across_hosts handed_on_hosts)
    add_executable(${program}-${tag} ${CMAKE_CURRENT_LIST_DIR}/${program}.c)
    target_link_libraries(${program}-${tag} PRIVATE pmio_mpi_${tag}_program)
    set_target_properties(${program}-${tag} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/mpi)
  endforeach()
  add_test(NAME testbed.across_hosts.${tag}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../across_hosts.py --build ${CMAKE_BINARY_DIR} --mpi ${tag})
  set_tests_properties(testbed.across_hosts.${tag} PROPERTIES LABELS testbed TIMEOUT 300 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
endforeach()
# With Slurm, where it is installed (testbed/setup-slurm).
foreach(tag IN LISTS tags)
  add_test(NAME testbed.slurm.${tag}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../across_hosts.py --build ${CMAKE_BINARY_DIR} --mpi ${tag} --slurm)
  set_tests_properties(testbed.slurm.${tag} PROPERTIES LABELS testbed TIMEOUT 300 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME testbed.lifecycle COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../testbed_lifecycle.py)
set_tests_properties(testbed.lifecycle PROPERTIES LABELS testbed TIMEOUT 300 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)

list(FILTER tags INCLUDE REGEX "^mpich-")
foreach(tag IN LISTS tags)
  set(across_nodes ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../across_nodes.py)
  add_test(NAME testbed.across_nodes.differential.${tag}
    COMMAND ${across_nodes} differential --build ${CMAKE_BINARY_DIR} --mpi ${tag} --seeds 2-3)
  add_test(NAME testbed.across_nodes.crash.${tag} COMMAND ${across_nodes} crash --build ${CMAKE_BINARY_DIR} --mpi ${tag} --kills 3)
  set_tests_properties(testbed.across_nodes.differential.${tag} testbed.across_nodes.crash.${tag}
    PROPERTIES LABELS testbed TIMEOUT 900 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
  # A few failures; all of them, in earnest, at night.
  add_test(NAME testbed.failures.${tag} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../failures.py
    --build ${CMAKE_BINARY_DIR} --mpi ${tag} --away 5 host-disk:write storage:close)
  set_tests_properties(testbed.failures.${tag}
    PROPERTIES LABELS testbed TIMEOUT 900 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
  pmio_add_nightly_test(testbed.failures_all.${tag} 7200 failures.py --mpi ${tag} --rounds 2)
  # Plain MPI-IO, too, was seen to fail it on MooseFS: what a client has cached is old for a second.
  pmio_add_nightly_test(testbed.handed_on_hosts.${tag} 600 across_hosts.py --mpi ${tag} --program handed_on_hosts --across-nodes)
  # Jobs of one rank, which MPICH starts without a word about its process manager.
  add_test(NAME testbed.slurm_recover.${tag}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../slurm_recover.py --build ${CMAKE_BINARY_DIR} --mpi ${tag})
  set_tests_properties(testbed.slurm_recover.${tag} PROPERTIES LABELS testbed TIMEOUT 300 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
  add_test(NAME testbed.layout.${tag} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../layout.py --build ${CMAKE_BINARY_DIR} --mpi ${tag})
  set_tests_properties(testbed.layout.${tag} PROPERTIES LABELS testbed TIMEOUT 300 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
  # The benchmark with small amounts: every byte is right, also of 2-D tiles and HDF5, on four hosts.
  pmio_add_nightly_test(testbed.nodes_bench.${tag} 900 ../bench/nodes.py --mpi ${tag} --divide 64 --repetitions 1)
  # Only where Ceph is installed: testbed/setup-ceph.
  pmio_add_nightly_test(testbed.layout_ceph.${tag} 600 layout.py --mpi ${tag} --fs ceph)
  pmio_add_nightly_test(testbed.across_hosts_ceph.${tag} 600 across_hosts.py --mpi ${tag} --fs ceph)
endforeach()
