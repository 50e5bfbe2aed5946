#include "span/remote_holdings.h"

#include <algorithm>

#include "drain/blocks.h"
#include "drain/pieces.h"
#include "node/control.h"

namespace pmio {

constexpr uint64_t kMostKept = 1 << 18;     // vectors
constexpr size_t kMostTold = 32;            // answers
constexpr uint64_t kMostRangeWindows = 16;  // of a range that is looked at
// Who writes and reads in turn gains nothing by asking for more than it reads.
constexpr uint32_t kPlainQuestions = 2;
constexpr uint32_t kPlainQuestionsInVain = 64;

namespace {

bool meet(const std::vector<Vector>& held, const Vector& range) {
  auto piece = std::lower_bound(held.begin(), held.end(), range.offset,
                                [](const Vector& one, int64_t begin) { return one.end() <= begin; });
  for (; piece != held.end() && piece->offset < range.end(); ++piece)
    if (may_share_a_byte(range, *piece)) return true;
  return false;
}

}  // namespace

void RemoteHoldings::clear() {
  asked_.clear();
  kept_ = 0;
}

// The question whose answer tells of the window; end() where the others cannot tell.
Result<RemoteHoldings::AskedMap::iterator> RemoteHoldings::find(Neighbours& neighbours, uint64_t file,
                                                                uint64_t window, RemoteSyncs* synced) {
  const auto after = asked_.upper_bound(window);
  if (after != asked_.begin() && std::prev(after)->second.end > window) return std::prev(after);
  ahead_ = window == next_ ? std::min(2 * ahead_, most_ahead_) : 1;
  if (after != asked_.end()) ahead_ = std::min(ahead_, after->first - window);
  for (;;) {
    auto told = neighbours.holdings(file, calls_,
                                    {window_bytes(window).begin, window_bytes(window + ahead_ - 1).end});
    if (!told.ok()) return told.status();
    if (!told.value().complete && ahead_ > 1) {  // too much, perhaps
      most_ahead_ = ahead_ / 2;
      ahead_ = 1;
      continue;
    }
    if (!told.value().complete) {
      wait_ = kPlainQuestionsInVain;
      return asked_.end();
    }
    next_ = window + ahead_;
    end_ = std::max(end_, told.value().end);
    synced->learn(told.value().synced);
    uint64_t vectors = 1;
    for (const auto& of_node : told.value().held) vectors += of_node.size();
    if (kept_ + vectors > kMostKept) clear();
    kept_ += vectors;
    return asked_.insert_or_assign(window, Asked{next_, std::move(told.value().held)}).first;
  }
}

Result<bool> RemoteHoldings::clear_of(Neighbours& neighbours, uint64_t file, uint64_t calls, uint64_t changes,
                                      std::span<const Vector> ranges, RemoteSyncs* synced, uint64_t* end) {
  const LockGuard lock(mutex_);
  if (calls != calls_ || changes != changes_) {
    clear();
    calls_ = calls;
    changes_ = changes;
    end_ = 0;
    wait_ = kPlainQuestions;
    most_ahead_ = kMostAhead;
    next_ = kNone;
  }
  if (wait_ > 0) {
    wait_--;
    return false;
  }
  for (const Vector& range : ranges) {
    const uint64_t first = static_cast<uint64_t>(range.offset) / kWindowBytes;
    const uint64_t last = (static_cast<uint64_t>(range.end()) - 1) / kWindowBytes;
    if (last - first >= kMostRangeWindows) return false;
    for (uint64_t number = first; number <= last; number++) {
      const auto asked = find(neighbours, file, number, synced);
      if (!asked.ok()) return asked.status();
      if (asked.value() == asked_.end()) return false;
      const auto& held = asked.value()->second.held;
      if (std::none_of(held.begin(), held.end(), [&](const auto& of_node) { return meet(of_node, range); }))
        continue;
      asked_.erase(asked.value());  // to be asked anew: it may have been drained
      return false;
    }
    if (static_cast<uint64_t>(range.end()) > end_) return false;  // the file may be longer by now
  }
  *end = end_;
  return true;
}

const std::vector<Vector>* ToldHoldings::find(const State& state, uint64_t calls, const Interval& bytes) {
  if (!(state == state_)) told_.clear();
  state_ = state;
  for (const Told& one : told_)
    if (one.calls == calls && one.bytes == bytes) return &one.held;
  return nullptr;
}

void ToldHoldings::add(uint64_t calls, const Interval& bytes, const std::vector<Vector>& held) {
  if (told_.size() == kMostTold) told_.pop_front();
  told_.push_back({calls, bytes, held});
}

}  // namespace pmio
