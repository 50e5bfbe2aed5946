# Programs that end without MPI_Finalize.
include(PmioMpi)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)

foreach(tag IN LISTS tags)
  # Others end by the same calls.
  if(tag MATCHES "^(mpich|openmpi)-5")
    add_executable(ends-${tag} ${CMAKE_CURRENT_LIST_DIR}/ends.c)
    target_link_libraries(ends-${tag} PRIVATE pmio_mpi_${tag}_program)
    set_target_properties(ends-${tag} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/mpi)
    pmio_add_script_test(ends ${tag} ends.py)
  endif()
endforeach()
