// The seam: what the calls of an open file go through.
//
// A Handle has one engine at a time, and all ranks of an open have the same one. It changes in collective
// calls only, on all ranks alike. Either the MPI library has the handle, with its view and its file pointers,
// and calls are handed on as they came (mpi/library_engine.h). Or pmio keeps the view and the pointers, and
// the engine moves the bytes (mpi/carry_out.h): to the log, or straight to the file (mpi/straight_engine.h).
//
// Errors have been through the file's error handler when an Outcome is returned, and have not when a Status
// is. Threads: any, as MPI allows it for one handle.
#pragma once

#include "base/status.h"
#include "hints/hints.h"
#include "mpi/call.h"

namespace pmio {

struct Handle;

class Engine {
 public:
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Whether the MPI library has the handle.
  bool is_library() const { return is_library_; }

  // A read or write. A collective one is told to the engine on every rank, also on a rank that has an error
  // or no bytes.
  virtual Moved transfer(Handle& handle, const Transfer& transfer, Completion completion) = 0;

  // The end of a split collective of which transfer has left SplitLater in the handle.
  virtual Moved end_split(Handle& handle);

  // Collective.
  virtual Outcome set_size(Handle& handle, MPI_Offset size) = 0;
  virtual Outcome preallocate(Handle& handle, MPI_Offset size) = 0;
  // MPI_File_sync. Waits for nobody: some programs call it from one rank.
  virtual Outcome sync(Handle& handle) = 0;
  // Collective, before the library's close: on return the file holds what the handle's ranks have written.
  // MPI's code, the same on all ranks; it has not been through the error handler.
  virtual int close(Handle& handle) = 0;

  // Local.
  virtual Outcome get_size(Handle& handle, MPI_Offset* size);
  // The same, of a handle that the library does not have.
  virtual Result<uint64_t> size_bytes(Handle& handle) = 0;
  // What this rank has written survives what the log's medium survives.
  virtual Status persist(Handle& handle) = 0;
  // What the ranks of this node have written is in the file.
  virtual Status drain(Handle& handle) = 0;
  // Whether its file counts the calls for the statistics.
  virtual bool counts_calls() const { return false; }
  // As MPI_File_get_info tells it.
  virtual Mode mode() const = 0;

 protected:
  constexpr explicit Engine(bool is_library) : is_library_(is_library) {}
  ~Engine() = default;

 private:
  const bool is_library_;
};

// Engines without a state of their own: what they know of a file is in its Handle.
Engine& library_engine();
// The library's, until it is decided whether the handle logs (mpi/undecided.h).
Engine& undecided_engine();
Engine& log_engine();
// pmio_mode=independent.
Engine& independent_engine();
// pmio_mode=twophase.
Engine& two_phase_engine();
// The same with pmio_cb_buffering=on.
Engine& buffered_engine();
// Of a handle that logs, while collective writes of small pieces are gathered (mpi/gathering.h).
Engine& gathering_engine();

}  // namespace pmio
