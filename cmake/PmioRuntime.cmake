# One runtime library per MPI: src/view and src/mpi compiled against that MPI's mpi.h, around pmio_core. pmio_view_<tag> are
# the objects of src/view, for its tests too.
#
# lib/libpmio-<tag>.so exports MPI_* and PMPI_* entry points and the pmio_* C API, and nothing else. It neither needs
# nor refers to a libmpi: every MPI function is found at run time, so that it can be preloaded into any program.
include(PmioMpi)

function(pmio_generate_entry_points result)
  set(directory ${CMAKE_BINARY_DIR}/generated)
  set(written ${directory}/mpi/entry_points.cpp ${directory}/mpi/next_functions.h)
  set(preloaded ${directory}/preload/functions.h)
  add_custom_command(
    OUTPUT ${written} ${preloaded}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/mpi/generate.py ${directory}
    DEPENDS mpi/generate.py mpi/functions.py
    COMMENT "Writing the MPI entry points")
  add_custom_target(pmio_entry_points DEPENDS ${written} ${preloaded})
  set(${result} ${written} PARENT_SCOPE)
endfunction()

# As PMIO_UNITY asks for it.
function(pmio_join_sources target tag)
  get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)
  list(GET tags 0 first)
  if(PMIO_UNITY STREQUAL "ON" OR (PMIO_UNITY STREQUAL "MPIS" AND NOT tag STREQUAL first))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  else()
    pmio_precompile(${target})
  endif()
endfunction()

function(pmio_add_view tag)
  file(GLOB sources CONFIGURE_DEPENDS view/*.cpp)
  add_library(pmio_view_${tag} OBJECT ${sources})
  pmio_join_sources(pmio_view_${tag} ${tag})
  target_link_libraries(pmio_view_${tag} PRIVATE pmio_core pmio_mpi_${tag})
endfunction()

function(pmio_add_runtime tag sources)
  set(target pmio_runtime_${tag})
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/mpi/exports.map)
  add_library(${target} SHARED ${sources} $<TARGET_OBJECTS:pmio_view_${tag}>)
  add_dependencies(${target} pmio_entry_points)
  pmio_join_sources(${target} ${tag})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME pmio-${tag} EXPORT_NAME runtime-${tag} LINK_DEPENDS ${exports})
  target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated)
  get_property(family GLOBAL PROPERTY PMIO_MPI_FAMILY_${tag})
  target_compile_definitions(${target} PRIVATE PMIO_VERSION="${PROJECT_VERSION}" PMIO_MPI_FAMILY="${family}")
  # A program that links it has every MPI function from it: the linker would drop the MPI library, which comes after.
  target_link_libraries(${target} PRIVATE pmio_core pmio_mpi_${tag} ${CMAKE_DL_LIBS} INTERFACE pmio_api -Wl,--no-as-needed)
  target_link_options(${target} PRIVATE
    -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--version-script=${exports})
  if(NOT PMIO_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

# lib/libpmio.so, for LD_PRELOAD, whatever the program: it loads the runtime library that fits (src/preload/takeover.h). In C and
# without a sanitizer, for it is in every process and must cost nothing there.
function(pmio_add_preload)
  file(GLOB sources CONFIGURE_DEPENDS preload/*.c)
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/preload/exports.map)
  add_library(pmio_preload SHARED ${sources})
  add_dependencies(pmio_preload pmio_entry_points)
  set_target_properties(pmio_preload PROPERTIES
    OUTPUT_NAME pmio C_STANDARD 11 C_VISIBILITY_PRESET hidden LINK_DEPENDS ${exports})
  target_include_directories(pmio_preload PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_compile_definitions(pmio_preload PRIVATE PMIO_VERSION="${PROJECT_VERSION}")
  # Optimized in every build: an entry point leaves the caller's registers and stack alone only so.
  target_compile_options(pmio_preload PRIVATE -fno-sanitize=all -O2)
  target_link_options(pmio_preload PRIVATE -fno-sanitize=all -Wl,--version-script=${exports} -Wl,--no-undefined)
  target_link_libraries(pmio_preload PRIVATE ${CMAKE_DL_LIBS})
endfunction()

# include/pmio/pmio.h, as programs see it.
function(pmio_add_api)
  add_library(pmio_api INTERFACE)
  set_target_properties(pmio_api PROPERTIES EXPORT_NAME api)
  target_include_directories(pmio_api INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

function(pmio_add_runtimes)
  pmio_add_api()
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} mpi/*.cpp)
  pmio_generate_entry_points(generated)
  pmio_find_mpis()
  get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)
  if(NOT tags)
    message(WARNING "No MPI was found: name the compiler wrappers with -DPMIO_MPICC=\"/a/mpicc;/b/mpicc\"")
  endif()
  pmio_add_preload()
  set(in_c preload/roll_call.c preload/roll_names.c preload/roll_nodes.c)
  set_source_files_properties(${in_c} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  foreach(tag IN LISTS tags)
    pmio_add_view(${tag})
    pmio_add_runtime(${tag} "${sources};${in_c};${generated}")
  endforeach()
endfunction()
