# Several hosts (testbed/). These tests are skipped where namespaces are not allowed.

# pmio_add_testbed_test(<name> <tag> <timeout> <script of tests> <argument>...): one that is told the build and the MPI.
function(pmio_add_testbed_test name tag timeout script)
  add_test(NAME testbed.${name}.${tag}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../${script} --build ${CMAKE_BINARY_DIR} --mpi ${tag} ${ARGN})
  set_tests_properties(testbed.${name}.${tag} PROPERTIES LABELS testbed TIMEOUT ${timeout} RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
endfunction()

# As pmio_add_testbed_test: one that the newest MPI of a family covers (pmio_is_newest).
function(pmio_add_covered_testbed_test name tag timeout script)
  pmio_is_newest(${tag} newest)
  if(newest)
    pmio_add_testbed_test(${name} ${tag} ${timeout} ${script} ${ARGN})
  else()
    pmio_add_nightly_test(testbed.${name}.${tag} ${timeout} ${script} --mpi ${tag} ${ARGN})
  endif()
endfunction()

find_package(Threads REQUIRED)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)
# MPICH 4.0 hangs in MPI_Finalize across hosts; the ABI has MPICH 5's launcher and library.
list(FILTER tags EXCLUDE REGEX "^(mpich-4|abi-)")
foreach(tag IN LISTS tags)
  foreach(program IN ITEMS across_hosts groups_hosts handed_on_hosts past_log_hosts preallocate_hosts reread_hosts rested_hosts
                          straight_hosts threads_hosts)
    pmio_add_mpi_program(${program} ${tag} Threads::Threads)
  endforeach()
  pmio_add_covered_testbed_test(across_hosts ${tag} 300 across_hosts.py)
  pmio_add_covered_testbed_test(missing_hosts ${tag} 300 across_hosts.py --missing)
  # With Slurm, where it is installed (testbed/setup-slurm).
  pmio_add_covered_testbed_test(slurm ${tag} 300 across_hosts.py --slurm)
endforeach()
add_test(NAME testbed.lifecycle COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../testbed_lifecycle.py)
set_tests_properties(testbed.lifecycle PROPERTIES LABELS testbed TIMEOUT 300 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)

set(threaded ${tags})
list(FILTER threaded INCLUDE REGEX "^((mpich|openmpi)-5|intel-)")
foreach(tag IN LISTS threaded)
  pmio_add_nightly_test(testbed.reread_hosts.${tag} 600 across_hosts.py --mpi ${tag} --program reread_hosts)
  pmio_add_nightly_test(testbed.rested_hosts.${tag} 600 across_hosts.py --mpi ${tag} --program rested_hosts)
  pmio_add_covered_testbed_test(groups_hosts ${tag} 300 across_hosts.py --program groups_hosts)
  pmio_add_covered_testbed_test(past_log_hosts ${tag} 300 across_hosts.py --program past_log_hosts)
  pmio_add_nightly_test(testbed.across_nodes.threads.${tag} 300 across_nodes.py threads --mpi ${tag})
  pmio_add_nightly_test(testbed.across_nodes.threads_4.${tag} 2400 across_nodes.py threads --mpi ${tag} --hosts 4 --ranks 8 --repetitions 10)
endforeach()

# Each takes 11 s. Seed 1 has a collective read behind the end of a file, which Intel MPI itself dies of.
list(FILTER threaded EXCLUDE REGEX "^mpich-")
foreach(tag IN LISTS threaded)
  pmio_add_covered_testbed_test(across_nodes.differential ${tag} 300 across_nodes.py differential --seeds 2-3)
  pmio_add_nightly_test(testbed.across_nodes.differential_16.${tag} 900 across_nodes.py differential --mpi ${tag} --hosts 4 --ranks 16 --seeds 2-3)
  pmio_add_nightly_test(testbed.across_nodes.crash.${tag} 900 across_nodes.py crash --mpi ${tag} --kills 3)
endforeach()

list(FILTER tags INCLUDE REGEX "^mpich-")
foreach(tag IN LISTS tags)
  pmio_add_testbed_test(across_nodes.differential ${tag} 900 across_nodes.py differential --seeds 2-3)
  pmio_add_nightly_test(testbed.across_nodes.differential_16.${tag} 1800 across_nodes.py differential --mpi ${tag} --hosts 4 --ranks 16 --seeds 4-11)
  pmio_add_nightly_test(testbed.across_nodes.differential_independent.${tag} 900 across_nodes.py differential --mpi ${tag}
    --hosts 4 --ranks 8 --seeds 4-7 --ops 20 --set PMIO_MODE=independent)
  pmio_add_nightly_test(testbed.across_nodes.background.${tag} 300 across_nodes.py background --mpi ${tag})
  pmio_add_nightly_test(testbed.straight_hosts.${tag} 300 across_hosts.py --mpi ${tag} --program straight_hosts)
  pmio_add_testbed_test(preallocate_hosts ${tag} 300 across_hosts.py --program preallocate_hosts)
  pmio_add_testbed_test(across_nodes.crash ${tag} 900 across_nodes.py crash --kills 3)
  # A few failures; all of them, in earnest, at night.
  pmio_add_testbed_test(failures ${tag} 900 failures.py --away 5 host-disk:write storage:close)
  # It waits for minutes: for hosts that do not answer. It begins first, and beside it the unit tests run.
  set_tests_properties(testbed.failures.${tag} PROPERTIES RUN_SERIAL FALSE COST 1000)
  pmio_add_nightly_test(testbed.failures_all.${tag} 7200 failures.py --mpi ${tag} --rounds 2)
  pmio_add_nightly_test(testbed.handed_on_hosts.${tag} 600 across_hosts.py --mpi ${tag} --program handed_on_hosts)
  # Jobs of one rank, which MPICH starts without a word about its process manager.
  pmio_add_testbed_test(slurm_recover ${tag} 300 slurm_recover.py)
  pmio_add_testbed_test(layout ${tag} 300 layout.py)
  # The benchmark with small amounts: every byte is right, also of 2-D tiles and HDF5, on four hosts.
  pmio_add_nightly_test(testbed.nodes_bench.${tag} 900 ../bench/nodes.py --mpi ${tag} --divide 192 --repetitions 1)
  # Only where Ceph is installed: testbed/setup-ceph.
  pmio_add_nightly_test(testbed.layout_ceph.${tag} 600 layout.py --mpi ${tag} --fs ceph)
  pmio_add_nightly_test(testbed.across_nodes.differential_ceph.${tag} 1800 across_nodes.py differential --mpi ${tag} --fs ceph --seeds 1-6)
  pmio_add_nightly_test(testbed.across_nodes.crash_ceph.${tag} 1800 across_nodes.py crash --mpi ${tag} --fs ceph)
  pmio_add_nightly_test(testbed.across_hosts_ceph.${tag} 600 across_hosts.py --mpi ${tag} --fs ceph)
  pmio_add_nightly_test(testbed.rested_hosts_ceph.${tag} 600 across_hosts.py --mpi ${tag} --fs ceph --program rested_hosts)
endforeach()
