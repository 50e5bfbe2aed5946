// What engines of a handle that logs share if the ranks exchange what blocking collective calls write. All
// other calls are those of a log, which finds these bytes as any others.
#pragma once

#include "mpi/exchanged.h"
#include "mpi/log_engine.h"

namespace pmio {

// Self has exchange(handle, call, request): what the ranks do together; and end_call(handle).
template <class Self>
class ExchangingLog : public LogEngine {
 public:
  // Records of a call may lie in the logs of ranks that gave nothing, and none in those of ranks that did. So
  // each rank notes by itself that the call is over, when all bytes are in some log or in the file.
  Status write(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory) {
    if (!is_exchanged(call)) return LogEngine::write(handle, call, etype_offset, memory);
    InHostMemory host(memory);
    PMIO_TRY(fetch_or(host, [&] { (void)Self::exchange(handle, call, {}); }));
    Status written = Self::exchange(handle, call, request_of(handle, etype_offset, memory, host));
    if (written.ok()) Self::end_call(handle);
    return written;
  }

  // The others wait for it, and it may be an aggregator.
  void without_bytes(Handle& handle, const Call& call, bool failed) {
    const bool writes = is_exchanged(call) && call.direction == Direction::write;
    if (writes && !Self::exchange(handle, call, {}).ok()) return;
    LogEngine::without_bytes(handle, call, failed);
  }

  // A split call is the log's in its begin, so that its end waits for nobody.
  Moved transfer(Handle& handle, const Transfer& transfer, Completion completion) override {
    if (completion == Completion::split) return LogEngine::transfer(handle, transfer, completion);
    return carry_out(static_cast<Self&>(*this), handle, transfer, completion);
  }

 protected:
  ~ExchangingLog() = default;
};

}  // namespace pmio
