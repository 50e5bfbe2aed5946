#include "node/background_drain.h"

#include "base/clock.h"

namespace pmio {

// Whether some of it has been in the log for longer than that. What is appended while it is drained counts
// from then on. If the rank that has to look after it does not, because it only reads, say, any other does.
bool BackgroundDrain::is_old(uint64_t appended, uint64_t drained, uint64_t now, uint64_t age_ns) {
  if (drained >= mark_) {
    mark_ = appended;
    mark_ns_ = now;
  }
  return age_ns != 0 && now - mark_ns_ > age_ns;
}

void BackgroundDrain::drain_if_due(bool filling, const Times& times) {
  // If this process only reads, those drain who write.
  if (!file_.target->opened_to_write()) {
    all_drained_ = true;
    return;
  }
  uint64_t appended = 0;
  uint64_t drained = 0;
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) {
    const RankCell& cell = file_.control->cells[seat];
    appended += cell.appended.load(std::memory_order_acquire);
    drained += cell.drained_records.load(std::memory_order_acquire);
  }
  const uint64_t now = monotonic_ns();
  if (appended != appended_ || changed_ns_ == 0) changed_ns_ = now;
  appended_ = appended;
  all_drained_ = appended == drained;
  const bool old = is_old(appended, drained, now, times.age_ns);
  if (all_drained_ || now < retry_ns_) return;
  // One that lags has a thread of its own, which must not disturb the program.
  const bool lags = file_.cell->attached.load(std::memory_order_relaxed) == kLags;
  const bool idle = !lags && now - changed_ns_ > times.idle_ns;
  const bool due = (lags || !holds_back()) && (((idle || old) && file_.looks_after_it()) ||
                                               is_old(appended, drained, now, 2 * times.age_ns));
  if (!filling && !due && file_.control->drain_wanted.load(std::memory_order_acquire) == 0) return;
  const Status status = reach_.drain(DrainScope::possible);
  // Records of calls that other nodes' ranks have not reached cannot be drained, however often it is asked.
  constexpr uint64_t kPauseNs = 50'000'000;
  mark_ = 0;  // look anew
  if (!status.ok())
    retry_ns_ = now + times.retry_ns;
  else if (reach_.spans_nodes())
    retry_ns_ = monotonic_ns() + kPauseNs;
}

}  // namespace pmio
