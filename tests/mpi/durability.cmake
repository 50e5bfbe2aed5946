# Durability, hostile file systems, supervision, leaks: programs and tests.
include(PmioMpi)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)

add_library(pmio_faults MODULE ${CMAKE_CURRENT_LIST_DIR}/../faults/faults.c)
set_target_properties(pmio_faults PROPERTIES C_VISIBILITY_PRESET default)
target_link_libraries(pmio_faults PRIVATE ${CMAKE_DL_LIBS})

foreach(tag IN LISTS tags)
  foreach(program IN ITEMS persist stopped opens unsettled)
    pmio_add_mpi_program(${program} ${tag})
  endforeach()
  target_include_directories(persist-${tag} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  pmio_add_covered_test(durability ${tag} durability.py)
  pmio_add_covered_test(hostile_faults ${tag} hostile_faults.py)
  pmio_add_covered_test(supervision ${tag} supervision.py)
  pmio_add_covered_test(leaks ${tag} leaks.py --times 2000)
endforeach()

foreach(tag IN LISTS tags)
  pmio_add_nightly_test(leaks_nightly.${tag} 1800 leaks.py --mpi ${tag} --times 20000)
  pmio_add_nightly_test(many_files_nightly.${tag} 1800 compare_runs.py --mpi ${tag} --program many_files 10000 200)
endforeach()
# An hour of it: tests/soak.py --minutes 60
pmio_add_nightly_test(soak 900 soak.py --minutes 5)
