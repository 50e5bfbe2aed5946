// Collective buffering of one open file: its ranks, and the engine that they call together
// (twophase/two_phase.h). Threads: as of collective calls, one at a time.
#pragma once

#include <memory>

#include "mpi/mpi_collective.h"
#include "node/log_store.h"
#include "twophase/two_phase.h"

namespace pmio {

struct Handle;
class Opening;

class BufferedFile {
 public:
  // Collective over the ranks of an open that goes straight, or that logs; what they are to do is what rank 0
  // says. Null, on all ranks: they can have no communicator.
  static std::unique_ptr<BufferedFile> make(const Handle& handle, const Opening& ranks);

  TwoPhase& engine() { return *engine_; }
  // Of one that logs: what is written from now on is of that call.
  void begin_call(CallNumber call) { log_->begin_call(call); }
  void end_call() { log_->end_call(); }
  // After those that were wished.
  TwoPhaseOptions options_in_force() const;

 private:
  explicit BufferedFile(std::unique_ptr<MpiCollective> ranks) : ranks_(std::move(ranks)) {}
  const std::unique_ptr<MpiCollective> ranks_;
  std::unique_ptr<Store> store_;
  LogStore* log_ = nullptr;  // store_, of one that logs
  std::unique_ptr<TwoPhase> engine_;
};

}  // namespace pmio
