// The MPI functions that the view calls, as pointers that are found at run time.
//
// Threads: they are bound once, before any other use, and only read afterwards.
#pragma once

#include "view/mpi_compat.h"

// Each is looked up as PMPI_<name>, then as MPI_<name>.
#define PMIO_VIEW_MPI_CALLS(X) \
  X(Type_size_x)               \
  X(Type_get_extent_x)         \
  X(Type_get_envelope)         \
  X(Type_get_contents)         \
  X(Type_free)                 \
  X(Type_create_keyval)        \
  X(Type_free_keyval)          \
  X(Type_set_attr)             \
  X(Type_get_attr)

// Types built by the large-count constructors can only be taken apart by these. Open MPI 5 has none.
#if MPI_VERSION >= 4
#define PMIO_VIEW_MPI_CALLS_LARGE(X) \
  X(Type_get_envelope_c)             \
  X(Type_get_contents_c)
#else
#define PMIO_VIEW_MPI_CALLS_LARGE(X)
#endif

namespace pmio {

struct MpiCalls {
#define PMIO_DECLARE(name) decltype(&PMPI_##name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  PMIO_VIEW_MPI_CALLS(PMIO_DECLARE)
  PMIO_VIEW_MPI_CALLS_LARGE(PMIO_DECLARE)  // nullptr: the library at run time is older than mpi.h
#undef PMIO_DECLARE
};

// Fills the table. False: a function is missing; the large ones may be missing. `lookup` is kept for
// mpi_symbol().
bool bind_mpi_calls(void* (*lookup)(const char* symbol));
const MpiCalls& mpi_calls();

}  // namespace pmio
