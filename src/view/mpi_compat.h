// mpi.h for code that must not depend on an MPI at link time: include this in place of <mpi.h>.
//
// The runtime library is loaded into programs that may load their MPI late and privately, as Python does. So
// every function is called through a table of pointers, and every data symbol is found when it is first
// needed. MPICH's handles are integer constants. Open MPI's are addresses of global variables; one macro of
// its mpi.h takes all of them, and is redefined here. Function symbols in disguise, such as
// MPI_TYPE_NULL_COPY_FN, must not be used.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace pmio {

// The address of a data symbol of the MPI library, by the lookup that bind_mpi_calls() was given; nullptr: it
// has none. Must not be called before that.
void* mpi_symbol(const char* name);

}  // namespace pmio

#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
// Each use has a local static of its own: it costs one lookup, then one load and one well-predicted branch.
#define OMPI_PREDEFINED_GLOBAL(type, global)                  \
  (static_cast<type>([]() -> void* {                          \
    static void* const address = ::pmio::mpi_symbol(#global); \
    return address;                                           \
  }()))
#endif
