# lib/pmio-mpi.json: which runtime library belongs to which installed MPI. `pmio run` and `pmio doctor` read it.
# lib/pmio-mpi.list: what libpmio.so needs of it, in lines, for in a foreign process nothing but C is at hand.
# Their facts are those of pmio_find_mpis().
include(PmioMpi)

function(pmio_write_mpi_map)
  pmio_find_mpis()
  get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)
  set(entries)
  set(lines)
  foreach(tag IN LISTS tags)
    get_property(mpicc GLOBAL PROPERTY PMIO_MPICC_${tag})
    get_property(mpiexec GLOBAL PROPERTY PMIO_MPIEXEC_${tag})
    get_property(family GLOBAL PROPERTY PMIO_MPI_FAMILY_${tag})
    get_property(library GLOBAL PROPERTY PMIO_MPI_LIBRARY_${tag})
    string(REGEX REPLACE "^[a-z]+-" "" version ${tag})
    # <prefix>/bin/mpicc, whichever alternative's link it was reached by.
    file(REAL_PATH ${mpicc} wrapper)
    cmake_path(GET wrapper PARENT_PATH prefix)
    cmake_path(GET prefix PARENT_PATH prefix)
    string(CONCAT entry
      "  {\"tag\": \"${tag}\", \"family\": \"${family}\", \"version\": \"${version}\", \"runtime\": \"libpmio-${tag}.so\",\n"
      "   \"library\": \"${library}\", \"prefix\": \"${prefix}\",\n"
      "   \"mpicc\": \"${mpicc}\", \"mpiexec\": \"${mpiexec}\"}")
    list(APPEND entries "${entry}")
    string(APPEND lines "${tag} ${family} ${version} libpmio-${tag}.so ${library}\n")
  endforeach()
  list(JOIN entries ",\n" text)
  file(CONFIGURE OUTPUT ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/pmio-mpi.json CONTENT "[\n${text}\n]\n" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/pmio-mpi.list CONTENT "${lines}" @ONLY)
endfunction()
