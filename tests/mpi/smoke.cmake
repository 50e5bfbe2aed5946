# smoke.c and handles.c under every MPI: with the log, with pmio off, and without pmio, where they must hold as well.
pmio_find_mpis()
get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)

function(pmio_add_small_test program tag name environment)
  get_property(launcher GLOBAL PROPERTY PMIO_MPIEXEC_${tag})
  # The ranks only: a launcher has no use for the library.
  add_test(NAME ${program}.${tag}.${name}
    COMMAND ${launcher} -n 2 env ${environment} $<TARGET_FILE:${program}-${tag}>
      ${CMAKE_CURRENT_BINARY_DIR}/${program}-${tag}-${name}.out)
  set_tests_properties(${program}.${tag}.${name} PROPERTIES
    LABELS mpi TIMEOUT 120 PROCESSORS 2 ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
endfunction()

foreach(tag IN LISTS tags)
  set(preload LD_PRELOAD=$<TARGET_FILE:pmio_runtime_${tag}>)
  foreach(program IN ITEMS smoke handles)
    pmio_add_mpi_program(${program} ${tag})
    pmio_add_small_test(${program} ${tag} plain "PMIO_MODE=off")
    pmio_add_small_test(${program} ${tag} off "${preload};PMIO_MODE=off")
    pmio_add_small_test(${program} ${tag} log "${preload};PMIO_DIR=${CMAKE_CURRENT_BINARY_DIR}/log-${program}-${tag}")
  endforeach()
endforeach()

# A program of the MPI 5 ABI under another library that offers it. With the log only: Intel MPI 2021.18 numbers MPI_SEEK_SET and
# its like otherwise than MPICH 5, and plain it fails.
set(abi ${tags})
set(intel ${tags})
list(FILTER abi INCLUDE REGEX "^abi-")
list(FILTER intel INCLUDE REGEX "^intel-")
if(abi AND intel)
  get_property(launcher GLOBAL PROPERTY PMIO_MPIEXEC_${intel})
  get_property(library GLOBAL PROPERTY PMIO_MPI_LIBRARY_${intel})
  cmake_path(GET library PARENT_PATH folder)
  add_test(NAME smoke.${abi}.${intel}
    COMMAND ${launcher} -n 2 env LD_LIBRARY_PATH=${folder} LD_PRELOAD=$<TARGET_FILE:pmio_runtime_${abi}>
      PMIO_DIR=${CMAKE_CURRENT_BINARY_DIR}/log-smoke-${abi}-${intel}
      $<TARGET_FILE:smoke-${abi}> ${CMAKE_CURRENT_BINARY_DIR}/smoke-${abi}-${intel}.out)
  set_tests_properties(smoke.${abi}.${intel} PROPERTIES LABELS mpi TIMEOUT 120 PROCESSORS 2)
endif()
