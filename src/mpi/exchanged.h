// What engines share that exchange the bytes of collective calls (twophase/two_phase.h).
#pragma once

#include <memory>

#include "mpi/carry_out.h"
#include "mpi/staged.h"

namespace pmio {

inline bool is_exchanged(const Call& call) { return call.collective && call.may_wait; }

// A program's buffer in a GPU's memory, as the exchange wants it.
class InHostMemory {
 public:
  explicit InHostMemory(const Memory& memory) : memory_(memory) {
    if (memory.on_device()) copy_ = std::make_unique_for_overwrite<std::byte[]>(memory.bytes());
  }
  Status fetch() {
    PatternCursor from = memory_.cursor();
    return copy_ ? memory_.fetch(from, copy_.get(), memory_.bytes()) : Status();
  }
  Status store(uint64_t got) {
    PatternCursor to = memory_.cursor();
    return copy_ ? memory_.store(to, copy_.get(), got) : Status();
  }
  void give_to(TwoPhaseRequest& request) const {
    request.memory = copy_ ? &byte_stream() : &memory_.pattern();
    request.base = copy_ ? copy_.get() : memory_.base();
  }

 private:
  const Memory& memory_;
  std::unique_ptr<std::byte[]> copy_;
};

// If the bytes cannot be had, the rank takes part in the exchange without any: the others wait for it.
template <class TakePart>
Status fetch_or(InHostMemory& host, TakePart&& take_part) {
  Status fetched = host.fetch();
  if (!fetched.ok()) take_part();
  return fetched;
}

inline TwoPhaseRequest request_of(const Handle& handle, int64_t etype_offset, const Memory& memory,
                                  const InHostMemory& host) {
  const FileView& view = handle.view;
  TwoPhaseRequest request;
  request.view = &view.filetype->pattern;
  request.displacement = view.displacement;
  request.position = static_cast<uint64_t>(etype_offset) * view.etype_size();
  request.bytes = memory.bytes();
  host.give_to(request);
  return request;
}

}  // namespace pmio
