// Independent writes to a file whose ranks are on several nodes (decision 0011). They are logged if this node
// holds the leases of their windows, and else go straight to the file.
//
// A writer announces itself, looks whether it holds the leases and what the horizon is, takes a stamp and
// publishes its record. It waits for nobody in between. So whoever gives leases up, or raises the horizon,
// knows after a wait for those that were announced that nothing more comes under the old ones.
#include <algorithm>
#include <set>

#include "base/atomic_max.h"
#include "base/clock.h"
#include "drain/blocks.h"
#include "log/call_stamp.h"
#include "node/job_impl.h"
#include "span/spanning.h"

namespace pmio {

constexpr uint64_t kMostWindows = 256;  // of one write, and asked for at once
constexpr int kMostLooks = 1024;        // at the ranges to come
// Where other nodes want the same windows all the time, the log is no gain.
constexpr int kMostQuestions = 2;
constexpr uint32_t kMostUnasked = 63;  // writes

namespace {

class Announcement {
 public:
  explicit Announcement(RankCell& cell) : logging_(cell.logging) { step(); }
  ~Announcement() { step(); }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

 private:
  // One thread of the rank at a time.
  void step() { logging_.store(logging_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst); }
  std::atomic<uint32_t>& logging_;
};

// The windows in which the range has bytes, in their order, until one is refused. False if one was.
template <class Accept>
bool each_window(const Vector& range, Accept accept) {
  const bool without_holes = range.stride <= static_cast<int64_t>(kWindowBytes);  // as large as a window
  const uint64_t blocks = without_holes ? 1 : range.count;
  uint64_t next = 0;
  for (uint64_t block = 0; block < blocks; block++) {
    const uint64_t end = without_holes ? static_cast<uint64_t>(range.end()) : block_end(range, block);
    next = std::max(next, block_begin(range, block) / kWindowBytes);
    for (; next <= (end - 1) / kWindowBytes; next++)
      if (!accept(next)) return false;
  }
  return true;
}

bool has_fewer_windows(const Vector& range, uint64_t most) {
  return each_window(range, [&](uint64_t) { return --most > 0; });
}

}  // namespace

Status Spanning::await_announced() const {
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) {
    const std::atomic<uint32_t>& logging = file_.control->cells[seat].logging;
    const uint32_t then = logging.load(std::memory_order_seq_cst);
    if (then % 2 == 0) continue;
    PMIO_TRY(file_.await_rank([&] { return logging.load(std::memory_order_seq_cst) != then; }));
  }
  return {};
}

Status Spanning::give_up_leases(std::span<const Vector> ranges) {
  for (const Vector& range : ranges) {
    if (!has_fewer_windows(range, Leases::kMost)) {
      file_.control->leases.give_up_all();
      break;
    }
    each_window(range, [&](uint64_t window) {
      file_.control->leases.give_up(window);
      return true;
    });
  }
  return await_announced();
}

bool Spanning::threads_at_once() const { return file_.job->member->options().threads_at_once; }

// By a rank that has begun a collective write call, so that nobody is told from now on that all have come
// equally far (decision 0035). Others of its node that begin the call wait meanwhile.
Status Spanning::unsettle() {
  FileControl& control = *file_.control;
  const uint64_t questions = control.settled_questions.load(std::memory_order_seq_cst);
  if (control.settled_ended.load(std::memory_order_acquire) >= questions) return {};
  const RobustLock lock(control.settled_mutex);
  if (control.settled_ended.load(std::memory_order_acquire) >= questions) return {};
  const Vector all{0, INT64_MAX, 0, 1};
  PMIO_TRY(give_up_leases({&all, 1}));
  PMIO_TRY(neighbours_.ask(number(), 0, {&all, 1}, Neighbours::Purpose::call).status());
  raise_to(control.settled_ended, questions);
  return {};
}

bool Spanning::holds_leases(const Vector& range) const {
  return each_window(range, [&](uint64_t window) { return file_.control->leases.holds(window); });
}

// Of the windows of the next bytes to be written.
Status Spanning::ask_for_leases(PatternCursor file, uint64_t bytes, bool* granted) {
  const uint64_t calls = file_.cell->completed.load(std::memory_order_relaxed);
  *granted = !threads_at_once() || settled_calls() == calls;
  if (!*granted) return {};
  file_.control->settled_questions.fetch_add(1, std::memory_order_seq_cst);
  std::set<uint64_t> windows;
  for (int looks = 0; bytes > 0 && windows.size() < kMostWindows && looks < kMostLooks; looks++) {
    const Vector range = file.next(bytes);
    bytes -= range.bytes();
    each_window(range, [&](uint64_t window) {
      windows.insert(window);
      return windows.size() < kMostWindows;
    });
  }
  std::vector<Vector> ranges;
  std::vector<uint64_t> questions;
  for (const uint64_t at : windows) {
    questions.push_back(file_.control->leases.ask(at));
    ranges.push_back({static_cast<int64_t>(at * kWindowBytes), kWindowBytes, 0, 1});
  }
  const auto answers = neighbours_.ask(number(), 0, ranges, Neighbours::Purpose::log);
  if (!answers.ok()) return answers.status();
  raise_to(file_.control->clock, answers.value().clock);
  *granted = !threads_at_once() || (answers.value().settled == calls && settled_calls() == calls);
  if (!*granted) return {};
  auto question = questions.begin();
  for (const uint64_t at : windows) file_.control->leases.grant(at, *question++);
  return {};
}

// Later than all that this rank has logged and than what it may have learnt of, and beyond the horizon: or
// none, also where others may learn of it that have not begun the calls that it counts.
std::optional<CallStamp> Spanning::independent_stamp() {
  parts_.appender.counts_as_held();  // by write_independent
  const uint64_t calls = file_.cell->completed.load(std::memory_order_relaxed);
  const uint64_t clock = file_.control->clock.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (clock == kLastClock + 1) used_up_stamps_.store(true, std::memory_order_relaxed);
  if (calls >= kLastCall || clock > kLastClock) return {};
  if (calls != 0 && calls == only_started_.load(std::memory_order_relaxed)) return {};
  const CallStamp stamp = call_stamp(calls, clock);
  // Of another rank's collective call, which this one has not come to, some is drained.
  if (stamp <= parts_.appender.last_stamp() ||
      stamp <= file_.control->horizon.load(std::memory_order_seq_cst))
    return {};
  return stamp;
}

// *logged: so many of the next bytes; 0: it is better not to log them.
Status Spanning::log_independent(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                                 uint64_t bytes, CallNumber call, uint64_t* logged) {
  *logged = 0;
  Appender& appender = parts_.appender;
  appender.counts_as_held();  // by write_independent
  bool room = false;
  PMIO_TRY(appender.make_room(Appender::Patience::none, &room));
  if (!room) return {};
  PatternCursor ahead = file;
  const Vector where = ahead.next(std::min(bytes, appender.writer().room_bytes()));
  if (!has_fewer_windows(where, kMostWindows + 1)) return {};
  for (int questions = 0; questions <= kMostQuestions; questions++) {
    if (questions > 0) {
      appender.is_slow();
      if (unasked_ > 0) {
        unasked_--;
        return {};
      }
      bool granted = false;
      PMIO_TRY(ask_for_leases(file, bytes, &granted));
      // Where ranks make collective calls all the time, each question is one too many.
      refused_ = granted ? 0 : std::min(2 * refused_ + 1, kMostUnasked);
      unasked_ = refused_;
      if (!granted) return {};
    }
    const Announcement announced(*file_.cell);
    if (!holds_leases(where)) continue;
    const std::optional<CallStamp> stamp = independent_stamp();
    if (!stamp) return {};
    appender.take_stamp(*stamp);
    appender.writer().append(where, memory, buffer, *stamp, call, where.bytes() == bytes && !call.goes_on);
    appender.note(static_cast<uint64_t>(where.offset), static_cast<uint64_t>(where.end()));
    PMIO_TRY(appender.publish(*stamp, static_cast<uint64_t>(where.end())));
    appender.finished_or_not(call);
    file = ahead;
    *logged = where.bytes();
    return {};
  }
  return {};
}

bool Spanning::has_used_up_stamps() {
  return used_up_stamps_.load(std::memory_order_relaxed) && used_up_stamps_.exchange(false);
}

Status Spanning::write_independent(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                                   uint64_t bytes, CallNumber call) {
  Appender& appender = parts_.appender;
  uint64_t left = bytes;
  if (parts_.contest.ends_log()) return parts_.contest.write(file, memory, buffer, bytes, call);
  {
    const LockGuard lock(appender.mutex);
    const uint64_t begin_ns = appender.begin_ns(bytes);
    for (uint64_t logged = 0; left > 0; left -= logged) {
      PMIO_TRY(log_independent(file, memory, buffer, left, call, &logged));
      if (logged == 0) break;
    }
    if (left < bytes) appender.tally(bytes - left, begin_ns, call);
  }
  if (left < bytes && parts_.contest.possible()) PMIO_TRY(parts_.contest.after_append());
  return left == 0 ? Status() : appender.write_past_log(file, memory, buffer, left, left == bytes, call);
}

}  // namespace pmio
