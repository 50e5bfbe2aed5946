// The engine of a handle with pmio_mode=twophase and pmio_cb_buffering=on: a handle that logs, but what a
// blocking collective call writes is exchanged first, and goes into the logs of the aggregators. All other
// calls are those of a log, which finds these bytes as any others
// (docs/decisions/0032-buffering-over-calls.md).
#include "mpi/exchanged.h"
#include "mpi/log_engine.h"

namespace pmio {
namespace {

class BufferedEngine final : public LogEngine {
 public:
  Status write(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory) {
    if (!is_exchanged(call)) return LogEngine::write(handle, call, etype_offset, memory);
    InHostMemory host(memory);
    PMIO_TRY(fetch_or(host, [&] { (void)exchange(handle, call, {}); }));
    Status written = exchange(handle, call, request_of(handle, etype_offset, memory, host));
    if (written.ok()) handle.buffered->end_call();
    return written;
  }

  Status read(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory, uint64_t* got) {
    if (!is_exchanged(call)) return LogEngine::read(handle, call, etype_offset, memory, got);
    InHostMemory host(memory);
    PMIO_TRY(handle.buffered->engine().read(request_of(handle, etype_offset, memory, host), got));
    return host.store(*got);
  }

  // The others wait for it, and it may be an aggregator.
  void without_bytes(Handle& handle, const Call& call, bool failed) {
    uint64_t got = 0;
    if (is_exchanged(call) && call.direction == Direction::read)
      (void)handle.buffered->engine().read({}, &got);
    const bool writes = is_exchanged(call) && call.direction == Direction::write;
    if (writes && !exchange(handle, call, {}).ok()) return;
    LogEngine::without_bytes(handle, call, failed);
  }

  // A split call is the log's in its begin, so that its end waits for nobody.
  Moved transfer(Handle& handle, const Transfer& transfer, Completion completion) override {
    if (completion == Completion::split) return LogEngine::transfer(handle, transfer, completion);
    return carry_out(*this, handle, transfer, completion);
  }

  int close(Handle& handle) override {
    handle.buffered.reset();
    return LogEngine::close(handle);
  }
  // What this rank has written may lie in another rank's log.
  Status persist(Handle& handle) override { return handle.file->sync(); }
  Mode mode() const override { return Mode::twophase; }

 private:
  // Records of a call may lie in the logs of ranks that gave nothing, and none in those of ranks that did. So
  // each rank notes by itself that the call is over, when all bytes are in some log.
  static Status exchange(Handle& handle, const Call& call, const TwoPhaseRequest& request) {
    handle.buffered->begin_call(call.number);
    return handle.buffered->engine().write(request);
  }
};
constinit BufferedEngine the_buffered_engine;

}  // namespace

Engine& buffered_engine() { return the_buffered_engine; }

}  // namespace pmio
