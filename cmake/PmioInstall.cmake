# What `cmake --install` and CPack put where, and `cmake --build <build> --target uninstall` takes away. Nothing installed names the
# prefix, so that it can be moved as a whole:
#
#   bin/pmio
#   lib/pmio/                      libpmio.so for LD_PRELOAD, the runtime libraries, pmio-mpi.json and .list, which say what they fit
#   lib/cmake/pmio, lib/pkgconfig  for programs that use include/pmio/pmio.h
#   etc/pmio.conf                  not installed: the site's own, if it has one
#   share/man, share/modulefiles, share/doc/pmio, share/pmio
#
# But the units for systemd, which cannot but name the command: they are written as they are installed.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(PMIO_RUNTIME_DESTINATION ${CMAKE_INSTALL_LIBDIR}/pmio)
# The runtime libraries as seen from the command, wherever the prefix is.
file(RELATIVE_PATH PMIO_DATA_FROM_COMMAND ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/pmio)
file(RELATIVE_PATH PMIO_RUNTIMES_FROM_COMMAND ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/pmio)

# The directory of the site's file, as seen from the runtime libraries and from the command.
file(RELATIVE_PATH PMIO_SITE_FROM_LIBRARIES ${CMAKE_INSTALL_FULL_LIBDIR}/pmio ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SYSCONFDIR})
file(RELATIVE_PATH PMIO_SITE_FROM_COMMAND ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SYSCONFDIR})

function(pmio_install_runtimes)
  install(TARGETS pmio_api EXPORT pmio)
  install(TARGETS pmio_preload DESTINATION ${PMIO_RUNTIME_DESTINATION})
  get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)
  foreach(tag IN LISTS tags)
    install(TARGETS pmio_runtime_${tag} EXPORT pmio DESTINATION ${PMIO_RUNTIME_DESTINATION})
  endforeach()
  install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/pmio-mpi.json ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/pmio-mpi.list
    DESTINATION ${PMIO_RUNTIME_DESTINATION})
endfunction()

# What leads from a directory below the prefix back to the prefix, such as "../..".
function(pmio_way_to_prefix directory result)
  file(RELATIVE_PATH way ${directory} ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" way ${way})
  set(${result} ${way} PARENT_SCOPE)
endfunction()

# configure_file of packaging/<source>.in, installed as <destination>/<name>; ARGN: what it is called until then, if otherwise.
function(pmio_install_configured source destination name)
  set(written ${PROJECT_BINARY_DIR}/packaging/${name})
  if(ARGN)
    set(written ${PROJECT_BINARY_DIR}/packaging/${ARGN})
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/packaging/${source}.in ${written} @ONLY)
  install(FILES ${written} DESTINATION ${destination} RENAME ${name})
endfunction()

function(pmio_install_development_files)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pmio DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  get_property(tags GLOBAL PROPERTY PMIO_MPI_TAGS)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pmio)
  install(EXPORT pmio NAMESPACE pmio:: FILE pmio-targets.cmake DESTINATION ${package})
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/packaging/pmio-config.cmake.in ${PROJECT_BINARY_DIR}/packaging/pmio-config.cmake
    INSTALL_DESTINATION ${package} PATH_VARS PMIO_RUNTIME_DESTINATION)
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/packaging/pmio-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/packaging/pmio-config.cmake ${PROJECT_BINARY_DIR}/packaging/pmio-config-version.cmake
    DESTINATION ${package})

  set(directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  pmio_way_to_prefix(${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig prefix_from_here)
  pmio_install_configured(pmio.pc ${directory} pmio.pc)
  foreach(tag IN LISTS tags)
    pmio_install_configured(pmio-runtime.pc ${directory} pmio-${tag}.pc)
  endforeach()
endfunction()

# pmio_add_manual(<name>.<section> <page of docs>...): docs/man/<name>.<section>.md, then the pages of docs, as one.
function(pmio_add_manual name)
  set(sources docs/man/${name}.md ${ARGN})
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
  set(script ${PROJECT_SOURCE_DIR}/packaging/manual.py)
  set(page ${PROJECT_BINARY_DIR}/man/${name})
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${Python3_EXECUTABLE} -B ${script} --version ${PROJECT_VERSION} --output ${page} ${sources}
    DEPENDS ${script} ${sources}
    COMMENT "Writing the manual page ${name}")
  set_property(GLOBAL APPEND PROPERTY PMIO_MANUALS ${page})
  cmake_path(GET name EXTENSION LAST_ONLY section)
  string(REPLACE "." "man" directory ${section})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/${directory})
endfunction()

function(pmio_install_documents)
  pmio_add_manual(pmio.1)
  pmio_add_manual(pmio-recover.1 docs/recovery.md)
  pmio_add_manual(pmio-hints.7 docs/hints.md)
  pmio_add_manual(pmio-durability.7 docs/durability.md)
  get_property(manuals GLOBAL PROPERTY PMIO_MANUALS)
  add_custom_target(manuals ALL DEPENDS ${manuals})
  install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
endfunction()

# The units, with the command's place at the time of installing. A package is staged below _CPack_Packages: what follows is its place.
function(pmio_install_units)
  set(destination ${CMAKE_INSTALL_DATAROOTDIR}/pmio/systemd)
  file(GLOB units CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/contrib/systemd/*.service)
  foreach(unit IN LISTS units)
    cmake_path(GET unit FILENAME name)
    set(written ${PROJECT_BINARY_DIR}/packaging/${name})
    install(CODE "
      string(REGEX REPLACE \"^.*/_CPack_Packages/[^/]+/[^/]+/[^/]+\" \"\" prefix \"\${CMAKE_INSTALL_PREFIX}\")
      set(PMIO_COMMAND \"\${prefix}/${CMAKE_INSTALL_BINDIR}/pmio\")
      configure_file(\"${unit}\" \"${written}\" @ONLY)")
    install(FILES ${written} DESTINATION ${destination})
  endforeach()
endfunction()

# `srun --pmio`, where Slurm's headers are: a plugin fits the Slurm that it was built with.
function(pmio_add_spank_plugin)
  find_path(PMIO_SLURM_INCLUDE slurm/spank.h)
  mark_as_advanced(PMIO_SLURM_INCLUDE)
  if(NOT PMIO_SLURM_INCLUDE)
    return()
  endif()
  add_library(pmio_spank MODULE ${PROJECT_SOURCE_DIR}/contrib/slurm/pmio_spank.c)
  set_target_properties(pmio_spank PROPERTIES PREFIX "" C_VISIBILITY_PRESET default)
  target_include_directories(pmio_spank SYSTEM PRIVATE ${PMIO_SLURM_INCLUDE})
  install(TARGETS pmio_spank DESTINATION ${PMIO_RUNTIME_DESTINATION})
endfunction()

# What a site puts to use: modules for its users, its own settings, examples for its batch system and its nodes.
function(pmio_install_site_files)
  foreach(module IN ITEMS pmio pmio-on)
    set(modules ${CMAKE_INSTALL_DATAROOTDIR}/modulefiles/${module})
    pmio_way_to_prefix(${CMAKE_INSTALL_FULL_DATAROOTDIR}/modulefiles/${module} prefix_from_here)
    string(REPLACE "pmio" "modulefile" source ${module})
    pmio_install_configured(${source} ${modules} ${PROJECT_VERSION} ${module}-${PROJECT_VERSION})
    pmio_install_configured(${source}.lua ${modules} ${PROJECT_VERSION}.lua ${module}-${PROJECT_VERSION}.lua)
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/pmio.conf.example DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/pmio)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/contrib/slurm DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/pmio USE_SOURCE_PERMISSIONS)
  pmio_install_units()
  pmio_add_spank_plugin()
endfunction()

function(pmio_install)
  pmio_install_runtimes()
  pmio_install_development_files()
  pmio_install_documents()
  pmio_install_site_files()
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/packaging/uninstall.cmake
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM)
endfunction()
