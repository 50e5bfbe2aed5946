// Engines of handles that go straight to the file (drain/straight_file.h), without a log. pmio keeps the view
// and the pointers, so that these are right whatever the MPI library makes of them; the bytes of a call are
// in the file when it returns.
//
// Before each call what other handles have logged to the file is drained, and nothing older is written over
// what the call writes. docs/decisions/0030-modes.md.
#pragma once

#include "mpi/carry_out.h"
#include "mpi/engine.h"

namespace pmio {

// All but the transfers of blocking collective calls.
class StraightEngine : public Engine {
 public:
  Outcome set_size(Handle& handle, MPI_Offset size) override;
  Outcome preallocate(Handle& handle, MPI_Offset size) override;
  Outcome sync(Handle& handle) override;
  int close(Handle& handle) override;
  Result<uint64_t> size_bytes(Handle& handle) override;
  Status persist(Handle& handle) override;
  Status drain(Handle& /*handle*/) override { return {}; }

 protected:
  constexpr StraightEngine() : Engine(false) {}
  ~StraightEngine() = default;

  // By this rank alone.
  static Status write_straight(Handle& handle, int64_t etype_offset, const Memory& memory);
  static Status read_straight(Handle& handle, int64_t etype_offset, const Memory& memory, uint64_t* got);
  // Handle::shared_in_library: the outcome of a call by that pointer, which is handed on.
  static Outcome hand_on(Handle& handle, const Transfer& transfer);
};

// For the statistics, once: what such a handle has done, before its file is let go.
void note_straight(Handle& handle);

// Collective: the end of such a handle, also of one that has been handed on since. MPI's code, the same on
// all ranks.
int close_straight(Handle& handle);

}  // namespace pmio
