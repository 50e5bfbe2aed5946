# lib/pmio-mpi.json: which runtime library belongs to which installed MPI. `pmio run` and `pmio doctor` read it.
# Sources: the global property PMIO_RUNTIME_TAGS and, per tag, PMIO_RUNTIME_<tag>_MPICC (and FAMILY, VERSION), as set by
# those who build the runtime libraries.

# The MPI library that a program built with mpicc loads: found by linking one and asking the loader.
function(pmio_mpi_library mpicc result)
  set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/pmio-mpi-probe)
  file(WRITE ${probe}.c "int MPI_Finalize(void);\nint main(void) { return MPI_Finalize(); }\n")
  execute_process(COMMAND ${mpicc} ${probe}.c -o ${probe} RESULT_VARIABLE failed ERROR_VARIABLE error OUTPUT_QUIET)
  if(failed)
    message(FATAL_ERROR "${mpicc} cannot link a program:\n${error}")
  endif()
  execute_process(COMMAND ldd ${probe} OUTPUT_VARIABLE libraries)
  string(REGEX MATCH "lib(mpi|mpich|mpi_abi)\\.so[.0-9]* => ([^ \n]+)" ignored "${libraries}")
  if(NOT CMAKE_MATCH_2)
    message(FATAL_ERROR "a program linked by ${mpicc} loads no MPI library that pmio knows:\n${libraries}")
  endif()
  file(REAL_PATH ${CMAKE_MATCH_2} library)
  set(${result} ${library} PARENT_SCOPE)
endfunction()

function(pmio_write_mpi_map)
  get_property(tags GLOBAL PROPERTY PMIO_RUNTIME_TAGS)
  set(entries "")
  foreach(tag IN LISTS tags)
    foreach(field MPICC FAMILY VERSION)
      get_property(${field} GLOBAL PROPERTY PMIO_RUNTIME_${tag}_${field})
    endforeach()
    pmio_mpi_library(${MPICC} library)
    # A compiler wrapper may be a link from another prefix (an alternative); its own place tells the prefix.
    file(REAL_PATH ${MPICC} wrapper)
    get_filename_component(bin ${wrapper} DIRECTORY)
    get_filename_component(prefix ${bin} DIRECTORY)
    list(APPEND entries "  {\"tag\": \"${tag}\", \"family\": \"${FAMILY}\", \"version\": \"${VERSION}\",\n   \"library\": \"${library}\", \"prefix\": \"${prefix}\", \"mpicc\": \"${MPICC}\",\n   \"runtime\": \"libpmio-${tag}.so\"}")
  endforeach()
  list(JOIN entries ",\n" text)
  file(CONFIGURE OUTPUT ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/pmio-mpi.json CONTENT "[\n${text}\n]\n" @ONLY)
endfunction()
