# Programs that end without MPI_Finalize, and those whose log directory somebody removes.
include(PmioMpi)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)

# Others end by the same calls, and miss the same names.
list(FILTER tags INCLUDE REGEX "^(mpich|openmpi)-5")
foreach(tag IN LISTS tags)
  foreach(program IN ITEMS ends lost_log)
    pmio_add_mpi_program(${program} ${tag})
    pmio_add_script_test(${program} ${tag} ${program}.py)
  endforeach()
endforeach()
