// The engine of a handle that logs, while blocking collective writes are gathered (mpi/gathering.h). All
// other calls are those of a log, which finds these bytes as any others.
#include "mpi/exchanged.h"
#include "mpi/log_engine.h"

namespace pmio {
namespace {

class GatheringEngine final : public LogEngine {
 public:
  Status write(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory) {
    if (!is_exchanged(call)) return LogEngine::write(handle, call, etype_offset, memory);
    handle.gathering->begin();
    InHostMemory host(memory);
    PMIO_TRY(fetch_or(host, [&] { (void)gather(handle, call, {}); }));
    TwoPhaseRequest request = request_of(handle, etype_offset, memory, host);
    request.asks = asks_to_gather(handle, request.bytes);
    Status written = gather(handle, call, request);
    if (written.ok()) handle.gathering->end_call();
    return written;
  }

  // The others wait for it, and it may be the rank that gathers.
  void without_bytes(Handle& handle, const Call& call, bool failed) {
    const bool gathers = is_exchanged(call) && call.direction == Direction::write;
    if (gathers) handle.gathering->begin();
    if (gathers && !gather(handle, call, {}).ok()) return;
    LogEngine::without_bytes(handle, call, failed);
  }

  // A split call is the log's in its begin, so that its end waits for nobody.
  Moved transfer(Handle& handle, const Transfer& transfer, Completion completion) override {
    if (completion == Completion::split) return LogEngine::transfer(handle, transfer, completion);
    return carry_out(*this, handle, transfer, completion);
  }

 private:
  // Records of a call may lie in the log of a rank that gave nothing, and none in those of ranks that did. So
  // each rank notes by itself that the call is over, when all bytes are in some log or in the file.
  static Status gather(Handle& handle, const Call& call, const TwoPhaseRequest& request) {
    bool goes_on = false;
    Status written = handle.gathering->write(request, call.number, &goes_on);
    if (!goes_on) handle.set_engine(log_engine());
    return written;
  }
};
constinit GatheringEngine the_gathering_engine;

}  // namespace

Engine& gathering_engine() { return the_gathering_engine; }

}  // namespace pmio
