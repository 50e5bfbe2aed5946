// The engine of a handle with pmio_mode=twophase and pmio_cb_buffering=on: a handle that logs, but what a
// blocking collective call writes is exchanged first, and goes into the logs of the aggregators. All other
// calls are those of a log, which finds these bytes as any others
// (docs/decisions/0032-buffering-over-calls.md).
#include "mpi/exchanging_log.h"

namespace pmio {
namespace {

class BufferedEngine final : public ExchangingLog<BufferedEngine> {
 public:
  static Status exchange(Handle& handle, const Call& call, const TwoPhaseRequest& request) {
    handle.buffered->begin_call(call.number);
    return handle.buffered->engine().write(request);
  }
  static void end_call(Handle& handle) { handle.buffered->end_call(); }

  Status read(Handle& handle, const Call& call, int64_t etype_offset, const Memory& memory, uint64_t* got) {
    if (!is_exchanged(call)) return LogEngine::read(handle, call, etype_offset, memory, got);
    InHostMemory host(memory);
    PMIO_TRY(handle.buffered->engine().read(request_of(handle, etype_offset, memory, host), got));
    return host.store(*got);
  }

  void without_bytes(Handle& handle, const Call& call, bool failed) {
    uint64_t got = 0;
    if (is_exchanged(call) && call.direction == Direction::read)
      (void)handle.buffered->engine().read({}, &got);
    ExchangingLog::without_bytes(handle, call, failed);
  }

  int close(Handle& handle) override {
    handle.buffered.reset();
    return LogEngine::close(handle);
  }
  // What this rank has written may lie in another rank's log.
  Status persist(Handle& handle) override { return handle.file->sync(); }
  Mode mode() const override { return Mode::twophase; }
};
constinit BufferedEngine the_buffered_engine;

}  // namespace

Engine& buffered_engine() { return the_buffered_engine; }

}  // namespace pmio
