// The MPI library of this process. It is found at run time: nothing here refers to it at link time.
#pragma once

#include "view/mpi_compat.h"

namespace pmio {

// The MPI library's definition of a symbol, or that of a profiler in between; never this library's own.
// nullptr if there is none. Threads: any.
void* find_mpi_symbol(const char* name);

// As find_mpi_symbol, for what no program can run without. If there is none, it says so and ends the process.
void* require_mpi_symbol(const char* name);

// What pmio calls for itself; the files' functions are in next_functions.
// clang-format off
#define PMIO_MPI_CALLS(X) \
  X(Allgather) X(Allreduce) X(Barrier) X(Bcast) X(Comm_create_group) X(Comm_dup) X(Comm_free) X(Comm_get_attr) X(Comm_split) \
  X(Comm_group) X(Comm_rank) X(Comm_set_errhandler) X(Comm_size) X(Comm_split_type) X(Comm_test_inter) \
  X(Errhandler_free) X(Exscan) X(File_call_errhandler) X(File_get_errhandler) X(File_set_errhandler) X(Gather) \
  X(Gatherv) X(Get_count) X(Get_library_version) X(Grequest_complete) X(Grequest_start) X(Group_free) X(Group_incl) X(Group_size) X(Group_translate_ranks) \
  X(Info_create) X(Info_dup) X(Info_free) X(Info_get) X(Info_get_nkeys) X(Info_get_nthkey) \
  X(Info_get_valuelen) X(Info_set) X(Iprobe) X(Irecv) X(Isend) X(Pack) X(Pack_size) X(Query_thread) X(Sendrecv) X(Status_set_cancelled) \
  X(Status_set_elements_x) X(Test) X(Type_dup) X(Type_free) X(Type_get_envelope) X(Type_size_x) X(Unpack)
// clang-format on

struct MpiFunctions {
#define PMIO_DECLARE(name) decltype(&PMPI_##name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  PMIO_MPI_CALLS(PMIO_DECLARE)
#undef PMIO_DECLARE
};

// Fills mpi() and the view's table. False if the library lacks something. Called once, before any use of them
// or of a handle constant such as MPI_COMM_WORLD.
bool bind_mpi_library();

inline MpiFunctions mpi_functions;
inline const MpiFunctions& mpi() { return mpi_functions; }

}  // namespace pmio
