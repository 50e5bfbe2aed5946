# Files of groups, by an MPI that can be told that a host is two. The test-bed's hosts have the others (testbed.cmake).
include(PmioMpi)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)
list(FILTER tags INCLUDE REGEX "^mpich-5")
foreach(tag IN LISTS tags)
  pmio_add_script_test(groups ${tag} groups.py)
endforeach()
