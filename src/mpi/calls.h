// What the entry points call: one function per MPI function that pmio serves itself.
//
// Those of class `whole` return MPI's code. The others take a handle that pmio knows and return an Outcome.
// Errors have been through the file's error handler when they are returned.
#pragma once

#include "mpi/call.h"
#include "mpi/handle.h"

namespace pmio {

int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();
int file_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh);
int file_close(MPI_File* fh);
int file_delete(const char* filename, MPI_Info info);

Outcome file_set_atomicity(Handle& handle, int flag);
Outcome file_set_info(Handle& handle, MPI_Info info);
Outcome file_get_info(Handle& handle, MPI_Info* info_used);

Outcome file_set_view(Handle& handle, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                      const char* datarep, MPI_Info info);
Outcome file_get_view(Handle& handle, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                      char* datarep);
Outcome file_seek(Handle& handle, MPI_Offset offset, int whence);
Outcome file_get_position(Handle& handle, MPI_Offset* offset);
Outcome file_get_byte_offset(Handle& handle, MPI_Offset offset, MPI_Offset* disp);
Outcome file_seek_shared(Handle& handle, MPI_Offset offset, int whence);
Outcome file_get_position_shared(Handle& handle, MPI_Offset* offset);

// What a call that was handed on returns to the program; code: the library's.
inline int after_library_call(Handle& handle, int code) {
  if (handle.undrained_error.load(std::memory_order_relaxed) == MPI_SUCCESS) return code;
  const int undrained = handle.undrained_error.exchange(MPI_SUCCESS);
  return code != MPI_SUCCESS ? code : undrained;
}

Outcome blocking(Handle& handle, const Transfer& transfer, MPI_Status* status);
// Does it at once; the request that it returns is complete.
Outcome nonblocking(Handle& handle, const Transfer& transfer, MPI_Request* request);
// Does it at once, and keeps the status for the end.
Outcome split_begin(Handle& handle, const Transfer& transfer);
Outcome split_end(Handle& handle, MPI_Status* status);

}  // namespace pmio
