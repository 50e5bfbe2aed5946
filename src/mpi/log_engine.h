// The engine of a handle that logs: node's File serves its reads and writes.
#pragma once

#include "mpi/carry_out.h"
#include "mpi/engine.h"
#include "span/spanning.h"

namespace pmio {

class LogEngine : public Engine {
 public:
  constexpr LogEngine() : Engine(false) {}

  // A collective write of a file whose ranks are on several nodes is counted on all of them alike.
  class Turn {
   public:
    Turn(Handle& handle, const Call& call)
        : reach_(call.is_collective_write() && handle.file->reach().spans_nodes()
                     ? &Spanning::of(*handle.file)
                     : nullptr) {
      if (reach_ != nullptr) reach_->begin_call(call.may_wait);
    }
    ~Turn() {
      if (reach_ != nullptr) reach_->end_call();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Spanning* reach_;
  };

  Status write(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory);
  Status read(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory, uint64_t* got);
  // A log waits for nobody, so that nobody misses a rank with an error.
  void without_bytes(Handle& handle, const Call& call, bool failed) {
    if (!failed && call.is_collective_write()) handle.file->opens().note_empty_call(call.number);
  }

  Status take_error(Handle& handle) { return handle.file->errors().take(); }

  Moved transfer(Handle& handle, const Transfer& transfer, Completion completion) override;
  Outcome set_size(Handle& handle, MPI_Offset size) override;
  Outcome preallocate(Handle& handle, MPI_Offset size) override;
  Outcome sync(Handle& handle) override;
  int close(Handle& handle) override;
  Result<uint64_t> size_bytes(Handle& handle) override { return handle.file->size_bytes(); }
  // What this rank has written may lie in another rank's log if it was gathered.
  Status persist(Handle& handle) override {
    return handle.gathering ? handle.file->sync() : handle.file->persist();
  }
  Status drain(Handle& handle) override { return handle.file->drain(); }
  bool counts_calls() const override { return true; }
  Mode mode() const override { return Mode::log; }

 protected:
  ~LogEngine() = default;
};

}  // namespace pmio
