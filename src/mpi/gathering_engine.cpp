// The engine of a handle that logs, while blocking collective writes are gathered (mpi/gathering.h).
#include "mpi/exchanging_log.h"

namespace pmio {
namespace {

class GatheringEngine final : public ExchangingLog<GatheringEngine> {
 public:
  static Status exchange(Handle& handle, const Call& call, TwoPhaseRequest request) {
    handle.gathering->begin();
    request.asks = asks_to_gather(handle, request.bytes);
    bool goes_on = false;
    Status written = handle.gathering->write(request, call.number, &goes_on);
    if (!goes_on) handle.set_engine(log_engine());
    return written;
  }
  static void end_call(Handle& handle) { handle.gathering->end_call(); }
};
constinit GatheringEngine the_gathering_engine;

}  // namespace

Engine& gathering_engine() { return the_gathering_engine; }

}  // namespace pmio
