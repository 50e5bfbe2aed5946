// The engine of a handle that is handed on: each call goes to the MPI library as it came, once what others
// have logged to the file has been drained.
#pragma once

#include "mpi/engine.h"

namespace pmio {

// Whether the library may still write or read some file of this process, by a call that has returned: a
// nonblocking one of a handle that is handed on. Nobody learns when the library is done with it.
bool library_may_write_later();

class LibraryEngine : public Engine {
 public:
  constexpr LibraryEngine() : Engine(true) {}

  Moved transfer(Handle& handle, const Transfer& transfer, Completion completion) override;
  Outcome set_size(Handle& handle, MPI_Offset size) override;
  Outcome preallocate(Handle& handle, MPI_Offset size) override;
  Outcome sync(Handle& handle) override;
  int close(Handle& handle) override;
  Outcome get_size(Handle& handle, MPI_Offset* size) override;
  Status persist(Handle& handle) override;
  Status drain(Handle& handle) override;
  Result<uint64_t> size_bytes(Handle& handle) override;
  Mode mode() const override { return Mode::off; }

 protected:
  ~LibraryEngine() = default;
};

}  // namespace pmio
