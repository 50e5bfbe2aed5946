# What a program may do with its calls: from several threads, on other communicators than the world, on very many files.
include(PmioMpi)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)
find_package(Threads REQUIRED)

foreach(tag IN LISTS tags)
  foreach(program IN ITEMS threads many_files names deleted error_handlers failed_opens device_buffers handed_on beside resized
      largest sessions spawned hints undecided)
    pmio_add_mpi_program(${program} ${tag} Threads::Threads ${CMAKE_DL_LIBS})
  endforeach()
  target_link_options(beside-${tag} PRIVATE -rdynamic)  # its fallocate is everybody's
  foreach(level IN ITEMS funneled serialized multiple)
    set(plain)
    if(level STREQUAL multiple)
      set(plain --plain in_turn)
    endif()
    if(level STREQUAL multiple AND tag MATCHES "^openmpi-")
      list(APPEND plain --plain blocking)
    endif()
    # Fewer segments in the log than threads.
    pmio_add_script_test(threads.${level} ${tag} compare_runs.py --log-size 64K --program threads ${level} ${plain})
  endforeach()
  foreach(program IN ITEMS names deleted handed_on resized hints undecided)
    pmio_add_script_test(${program} ${tag} compare_runs.py --program ${program})
  endforeach()
  # MPICH's library of the standard ABI ends such a program itself: what it gives is not MPI_FILE_NULL.
  if(NOT tag MATCHES "^abi")
    pmio_add_script_test(failed_opens ${tag} compare_runs.py --program failed_opens)
  endif()
  pmio_add_script_test(device_buffers ${tag} compare_runs.py --plain host --program device_buffers ${CMAKE_BINARY_DIR}/tests/gpu/libcuda.so.1)
  pmio_add_script_test(beside ${tag} compare_runs.py --plain apart --program beside)
  pmio_add_script_test(beside.poor ${tag} compare_runs.py --plain apart --program beside poor)
  pmio_add_script_test(largest ${tag} compare_runs.py --plain within --program largest)
  # MPICH ends a program whose handler is called for MPI_FILE_NULL.
  set(handlers file)
  if(tag MATCHES "^openmpi-")
    set(handlers null)
  endif()
  pmio_add_script_test(error_handlers ${tag} compare_runs.py --program error_handlers ${handlers})
  # Others are not known to spawn: Debian's MPICH 4 cannot, by its launcher.
  if(tag MATCHES "^(mpich|openmpi)-5")
    pmio_add_script_test(spawned ${tag} compare_runs.py --handed-on --program spawned)
  endif()
  pmio_add_script_test(many_files ${tag} compare_runs.py --program many_files 1000 200)
  # More than an MPI library has communicators for, or where it takes one itself for each, would have for two.
  # Intel's library has not even enough for one: an assertion of its own fails.
  if(NOT tag MATCHES "^intel")
    pmio_add_script_test(many_files.together ${tag} compare_runs.py --descriptors 20000 --program many_files 0 1100 together)
  endif()
  pmio_add_script_test(many_files.alone ${tag} compare_runs.py --ranks 1 --descriptors 20000 --program many_files 0 1500)
  # Intel's library holds two descriptors for a file, so that its files use up all 256, and pmio cannot map its log any
  # more: a limit that docs/semantics.md states.
  if(NOT tag MATCHES "^intel")
    pmio_add_script_test(many_files.descriptors ${tag} compare_runs.py --descriptors 256 --says "ulimit -n" --program many_files 0 200)
  endif()
  pmio_add_script_test(abort ${tag} crash.py --abort --kills 5)
  pmio_add_script_test(sessions.beside ${tag} compare_runs.py --program sessions beside)
  pmio_add_script_test(sessions.one ${tag} compare_runs.py --handed-on --program sessions one)
  # MPICH 4 and Open MPI 5 themselves crash in the second session, and MPICH 5 does in one of 25 runs.
  if(tag MATCHES "^mpich-5")
    pmio_add_script_test(sessions.two ${tag} compare_runs.py --handed-on --again "Fatal error in internal_Comm_create_from_group" --program sessions two)
  endif()
endforeach()
