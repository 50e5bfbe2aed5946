# Flattened datatypes against each MPI itself: the view's objects in a program that links that MPI.
include(PmioMpi)
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)

file(GLOB view_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/view_*.cpp)
foreach(tag IN LISTS tags)
  add_executable(view_test-${tag} ${view_sources} $<TARGET_OBJECTS:pmio_view_${tag}>)
  set_target_properties(view_test-${tag} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/mpi)
  target_link_libraries(view_test-${tag} PRIVATE pmio_core pmio_mpi_${tag}_program ${CMAKE_DL_LIBS})
  get_property(launcher GLOBAL PROPERTY PMIO_MPIEXEC_${tag})
  add_test(NAME view.${tag} COMMAND ${launcher} -n 1 $<TARGET_FILE:view_test-${tag}>)
  set_tests_properties(view.${tag} PROPERTIES LABELS mpi TIMEOUT 300
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
endforeach()
