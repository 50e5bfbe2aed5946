# Programs that run against plain MPI-IO and under pmio, one build per MPI, and the tests that compare.
include(PmioMpi)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)

add_library(pmio_yield MODULE ${CMAKE_CURRENT_LIST_DIR}/yield.c)
set_target_properties(pmio_yield PROPERTIES C_VISIBILITY_PRESET default)
target_link_libraries(pmio_yield PRIVATE ${CMAKE_DL_LIBS})

file(GLOB differential_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/differential*.cpp)
foreach(tag IN LISTS tags)
  add_executable(differential-${tag} ${differential_sources})
  target_link_libraries(differential-${tag} PRIVATE pmio_mpi_${tag}_program)
  add_executable(crash_writer-${tag} ${CMAKE_CURRENT_LIST_DIR}/crash_writer.c ${CMAKE_CURRENT_LIST_DIR}/crash_writer_check.c
    ${CMAKE_CURRENT_LIST_DIR}/crash_cut.c)
  target_link_libraries(crash_writer-${tag} PRIVATE pmio_mpi_${tag}_program)
  set_target_properties(differential-${tag} crash_writer-${tag} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/mpi)

  pmio_add_mpi_program(full_target ${tag})
  pmio_is_newest(${tag} newest)
  if(newest)
    add_test(NAME hostile.${tag}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../hostile.py --build ${CMAKE_BINARY_DIR} --mpi ${tag})
    set_tests_properties(hostile.${tag} PROPERTIES LABELS mpi TIMEOUT 300 SKIP_RETURN_CODE 77)
  else()
    pmio_add_nightly_test(hostile.${tag} 300 hostile.py --mpi ${tag})
  endif()

  # Intel MPI and the ABI are MPICH's code: fewer, for time's sake.
  # Each kind of MPI sees every seed with both numbers of ranks, the newest MPICH, the reference, on its own.
  set(all_ranks 2 4)
  if(tag MATCHES "^(intel|abi)-")
    set(all_ranks 2)
    set(seeds_2 1-20)
  elseif(tag MATCHES "^mpich-5")
    set(seeds_2 1-40)
    set(seeds_4 1-40)
  elseif(tag MATCHES "^openmpi-5")
    set(seeds_2 1-20)
    set(seeds_4 21-40)
  else()
    set(seeds_2 21-40)
    set(seeds_4 1-20)
  endif()
  foreach(ranks IN LISTS all_ranks)
    # MPICH 5 sees all of MPICH 4's seeds of four ranks, which take MPICH 4 a minute.
    set(when)
    if(tag MATCHES "^mpich-" AND ranks EQUAL 4 AND NOT newest)
      set(when CONFIGURATIONS nightly)
    endif()
    add_test(NAME differential.${tag}.${ranks} ${when}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../differential.py --build ${CMAKE_BINARY_DIR} --mpi ${tag}
        --ranks ${ranks} --seeds ${seeds_${ranks}})
    set_tests_properties(differential.${tag}.${ranks} PROPERTIES LABELS mpi TIMEOUT 900 PROCESSORS 2 SKIP_RETURN_CODE 77)
    if(when)
      set_property(TEST differential.${tag}.${ranks} APPEND PROPERTY LABELS nightly)
    endif()
  endforeach()
  if(newest)
    if(tag MATCHES "^mpich-")
      add_test(NAME differential.nodes.${tag}
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../differential.py --build ${CMAKE_BINARY_DIR} --mpi ${tag}
          --ranks 4 --seeds 1-20 --per-launch 10 --two-nodes)
      set_tests_properties(differential.nodes.${tag} PROPERTIES LABELS mpi TIMEOUT 900 PROCESSORS 2 SKIP_RETURN_CODE 77)
    endif()
    foreach(mode IN ITEMS independent twophase)
      add_test(NAME differential.${mode}.${tag}
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../differential.py --build ${CMAKE_BINARY_DIR} --mpi ${tag}
          --ranks 2 --seeds 1-20 --per-launch 5 --mode ${mode})
      set_tests_properties(differential.${mode}.${tag} PROPERTIES LABELS mpi TIMEOUT 900 PROCESSORS 2 SKIP_RETURN_CODE 77)
    endforeach()
  endif()
  if(newest)
    add_test(NAME crash.${tag}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../crash.py --build ${CMAKE_BINARY_DIR} --mpi ${tag} --kills 15)
    set_tests_properties(crash.${tag} PROPERTIES LABELS mpi TIMEOUT 900 PROCESSORS 2 SKIP_RETURN_CODE 77)
    if(tag MATCHES "^mpich-")
      add_test(NAME crash.buffering.${tag}
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../crash.py --build ${CMAKE_BINARY_DIR} --mpi ${tag} --kills 5
          --buffering)
      # Counts, no times.
      add_test(NAME aggregators.${tag}
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/bench/aggregators.py --build ${CMAKE_BINARY_DIR} --mpi ${tag} --check
          --quick --benchmark 2 --divide 4)
      set_tests_properties(crash.buffering.${tag} aggregators.${tag} PROPERTIES LABELS mpi TIMEOUT 900 PROCESSORS 2
        SKIP_RETURN_CODE 77)
    endif()
  elseif(NOT tag MATCHES "^(intel|abi)-")
    pmio_add_nightly_test(crash.${tag} 900 crash.py --mpi ${tag} --kills 15)
  endif()
  if(NOT tag MATCHES "^(intel|abi)-")
    pmio_add_covered_test(cut ${tag} cut.py --kills 10 --calls 1500)
  endif()
endforeach()
