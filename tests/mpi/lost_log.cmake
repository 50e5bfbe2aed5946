# Somebody removes the log directory under a running job.
include(PmioMpi)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)

foreach(tag IN LISTS tags)
  # Others do the same.
  if(tag MATCHES "^(mpich|openmpi)-5")
    add_executable(lost_log-${tag} ${CMAKE_CURRENT_LIST_DIR}/lost_log.c)
    target_link_libraries(lost_log-${tag} PRIVATE pmio_mpi_${tag}_program)
    set_target_properties(lost_log-${tag} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/mpi)
    pmio_add_script_test(lost_log ${tag} lost_log.py)
  endif()
endforeach()
