# Durability, hostile file systems, supervision, leaks: programs and tests.
include(PmioMpi)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)

add_library(pmio_faults MODULE ${CMAKE_CURRENT_LIST_DIR}/../faults/faults.c)
set_target_properties(pmio_faults PROPERTIES C_VISIBILITY_PRESET default)
target_link_libraries(pmio_faults PRIVATE ${CMAKE_DL_LIBS})

foreach(tag IN LISTS tags)
  foreach(program IN ITEMS persist stopped opens)
    add_executable(${program}-${tag} ${CMAKE_CURRENT_LIST_DIR}/${program}.c)
    target_link_libraries(${program}-${tag} PRIVATE pmio_mpi_${tag}_program)
    set_target_properties(${program}-${tag} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/mpi)
  endforeach()
  target_include_directories(persist-${tag} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  pmio_add_script_test(durability ${tag} durability.py)
  pmio_add_script_test(hostile_faults ${tag} hostile_faults.py)
  pmio_add_script_test(supervision ${tag} supervision.py)
  pmio_add_script_test(leaks ${tag} leaks.py --times 2000)
endforeach()

# Long ones: ctest -C nightly -L nightly. Without the configuration they are not run.
foreach(tag IN LISTS tags)
  add_test(NAME leaks_nightly.${tag} CONFIGURATIONS nightly
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../leaks.py --build ${CMAKE_BINARY_DIR} --mpi ${tag} --times 20000)
  set_tests_properties(leaks_nightly.${tag} PROPERTIES LABELS nightly TIMEOUT 1800 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME soak CONFIGURATIONS nightly
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../soak.py --build ${CMAKE_BINARY_DIR} --minutes 60)
set_tests_properties(soak PROPERTIES LABELS nightly TIMEOUT 4200 RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
