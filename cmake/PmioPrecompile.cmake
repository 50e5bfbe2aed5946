# Precompiled headers. They take a quarter off the time in which most sources are compiled. Static analysis reads them without
# (scripts/test, tests/locks.py), and CMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without them.

# pmio_precompile(<target> [<header>...]): what most of its sources include of the standard library, and these headers of other
# projects, are read once. None of pmio's own is among them: a change of it would compile all.
function(pmio_precompile target)
  list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE headers)
  foreach(name IN ITEMS
      algorithm array atomic bit cerrno chrono cmath cstddef cstdint cstdio cstdlib cstring deque filesystem functional limits map
      memory mutex new numeric optional set span string string_view thread tuple unordered_map unordered_set utility vector)
    list(APPEND headers <${name}>)
  endforeach()
  target_precompile_headers(${target} PRIVATE ${headers})
  pmio_let_cache(${target})
endfunction()

# pmio_precompile_as(<target> <other>): those of another target that is compiled with the same options.
function(pmio_precompile_as target other)
  target_precompile_headers(${target} REUSE_FROM ${other})
  pmio_let_cache(${target})
endfunction()

# ccache wants this of gcc (and CCACHE_SLOPPINESS, scripts/build).
function(pmio_let_cache target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endfunction()
