// This rank's log of a file: appending is the hot path. No communication, no lock that another rank could
// hold, no system call and no allocation, but when a segment is full.
//
// Threads: any; what wants `mutex` says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/biased_mutex.h"
#include "base/mutex.h"
#include "base/relaxed_count.h"
#include "extent/pattern.h"
#include "log/segment.h"
#include "node/logged_end.h"
#include "node/reach.h"
#include "node/shared_file.h"
#include "stats/call_timer.h"

namespace pmio {

class DirectWriter;
class LargePieces;

// While a thread that holds the append lock may wait.
class WaitsInAppend {
 public:
  explicit WaitsInAppend(std::atomic<std::thread::id>& who)
      : who_(who), before_(who.exchange(std::this_thread::get_id(), std::memory_order_relaxed)) {}
  ~WaitsInAppend() { who_.store(before_, std::memory_order_relaxed); }
  WaitsInAppend(const WaitsInAppend&) = delete;
  WaitsInAppend& operator=(const WaitsInAppend&) = delete;

 private:
  std::atomic<std::thread::id>& who_;
  const std::thread::id before_;
};

class Appender {
 public:
  Appender(SharedFile& file, Reach& reach, LoggedEnd& logged_end, DirectWriter& direct_writer,
           LargePieces& large_pieces)
      : file_(file),
        reach_(reach),
        logged_end_(logged_end),
        direct_writer_(direct_writer),
        large_pieces_(large_pieces),
        several_nodes_(reach.spans_nodes()) {}

  // Lock order: this, then the file table's, then other files' of this: by try_lock only.
  BiasedMutex mutex;

  // The caller holds it by a way that is not checked, or nobody else can want it any more.
  void counts_as_held() const PMIO_ASSERT_CAPABILITY(mutex) {}

  // File::append.
  Status append(uint64_t offset, const std::byte* data, uint64_t bytes, CallNumber call) PMIO_EXCLUDES(mutex);
  Status append(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                CallNumber call) PMIO_EXCLUDES(mutex);
  // Of a file of several nodes: by the direct writer, and counted. is_call: nothing of the call was logged.
  Status write_past_log(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                        bool is_call, CallNumber call) PMIO_EXCLUDES(mutex);
  void note_empty_call(CallNumber call) PMIO_EXCLUDES(mutex);
  void note_exchanged_call(CallNumber call, uint64_t exchange_ns) PMIO_EXCLUDES(mutex);
  uint32_t add_open(uint64_t number, uint32_t ranks, uint32_t rank) PMIO_EXCLUDES(mutex);
  void remove_open(uint32_t open) PMIO_EXCLUDES(mutex);

  // How long a call waits for room in the log.
  enum class Patience {
    none,  // not for other nodes' ranks, as its caller may go past the log
    full,  // as long as any can come
  };
  // On return `*found` tells whether the last segment has room. It has none if nothing is logged any more.
  // Nor has it any if room can come only from ranks of other nodes. These may, in other threads, wait for
  // this call.
  Status make_room(Patience patience, bool* found) PMIO_REQUIRES(mutex);

  // For who appends a record itself, after make_room.
  SegmentWriter& writer() PMIO_REQUIRES(mutex) { return owned_.back().writer; }
  // That a record of these file bytes has been appended.
  void note(uint64_t begin, uint64_t end) PMIO_REQUIRES(mutex);
  Status publish(uint64_t stamp, uint64_t end) PMIO_REQUIRES(mutex);  // fence, then let others see
  void finished_or_not(CallNumber call) PMIO_REQUIRES(mutex) {
    call.goes_on ? interrupted(call) : finished(call);
  }
  uint64_t last_stamp() const PMIO_REQUIRES(mutex) { return last_stamp_; }
  void take_stamp(uint64_t stamp) PMIO_REQUIRES(mutex) { last_stamp_ = stamp; }
  // When the call that is about to be counted began, for tally; 0 if that does not want to know.
  uint64_t begin_ns(uint64_t bytes) const PMIO_REQUIRES(mutex);
  // Whether pieces of so many bytes together would go to memory of the log that nobody has touched, of a file
  // whose large pieces may go straight to it.
  bool is_cold_for(uint64_t bytes) PMIO_EXCLUDES(mutex);
  // Ends the count of a call.
  void tally(uint64_t bytes, uint64_t begin_ns, CallNumber call) PMIO_REQUIRES(mutex);
  void is_slow() PMIO_REQUIRES(mutex) { tally_.timer.slow(); }

  // Nothing more goes into the last segment.
  void seal() PMIO_REQUIRES(mutex);
  Status sync_segments() PMIO_REQUIRES(mutex);
  bool frees_oldest_drained() PMIO_REQUIRES(mutex);  // gives back a segment all of whose records are drained
  void give_all_back() PMIO_REQUIRES(mutex);         // all records are drained
  void keep_all() PMIO_REQUIRES(mutex);              // they are not: their segments stay on the medium
  size_t segments() const PMIO_REQUIRES(mutex) { return owned_.size(); }
  bool owns_undrained() const PMIO_REQUIRES(mutex);
  // Whether this rank's open of the file counts in Rendezvous::logs_in_use.
  bool counts_as_log() const { return counts_as_log_; }

  // Any thread, with or without `mutex`:
  // The log is lost: what others may not be able to map any more is copied to where they can.
  void give_up();
  bool has_given_up() const { return has_given_up_.load(std::memory_order_acquire); }
  uint64_t undrained_segment_bytes() const;  // of segments as such, one that is empty yet among them
  // Whether the last segment was taken for a call without data, and holds none yet.
  bool has_table_only() const;
  // Who holds `mutex`, and may wait.
  std::atomic<std::thread::id>& who_waits() { return waits_; }
  // That were logged since the last add_up; without the mutex.
  uint64_t new_bytes() const { return new_bytes_; }
  // The tally becomes the process's. waits: for a thread that appends.
  void add_up(bool waits) PMIO_EXCLUDES(mutex);
  struct Calls {
    uint64_t calls = 0, collective = 0, bytes = 0;
  };
  Calls calls() PMIO_EXCLUDES(mutex);

 private:
  struct Owned {
    SegmentPool::Segment* segment;
    SegmentWriter writer;
    uint32_t cell;
  };
  // What the hot path counts, under the lock that it holds anyway.
  struct Tally {
    uint64_t calls = 0, collective = 0, bytes = 0, records = 0;
    uint64_t exchanged = 0, exchange_ns = 0;  // calls whose bytes were exchanged, and the time that took
    CallTimer timer;
  };
  static constexpr uint32_t kNoCell = UINT32_MAX;
  // Of a call: what of it went straight to the file, and the time that this took.
  struct LargeBytes {
    uint64_t bytes = 0, ns = 0;
    bool any = false;  // also if they were logged
  };

  void give_up_held();  // this thread holds `mutex`, which it may have taken some calls before
  uint64_t next_stamp() PMIO_REQUIRES(mutex);
  bool has_room() const PMIO_REQUIRES(mutex);
  bool takes_nothing(Patience patience) PMIO_REQUIRES(mutex);
  Result<bool> find_segment(Patience patience) PMIO_REQUIRES(mutex);
  Result<bool> free_some(Patience patience, bool has_cell, bool again) PMIO_REQUIRES(mutex);
  Result<bool> free_a_cell() PMIO_REQUIRES(mutex);
  Result<bool> free_a_segment() PMIO_REQUIRES(mutex);
  std::optional<uint32_t> free_cell() const;
  Status attach(SegmentPool::Segment* segment, uint32_t cell) PMIO_REQUIRES(mutex);
  void show_cell(const Owned& owned) PMIO_REQUIRES(mutex);
  void detach(size_t position) PMIO_REQUIRES(mutex);  // gives owned_[position] back
  static void note_begin(SegmentCell& segment, uint64_t begin);
  void declare(uint32_t entry) PMIO_REQUIRES(mutex);  // in the last segment's open table
  void declare_all() PMIO_REQUIRES(mutex);
  // Says in the last segment's open table that the call is over. False: the open is not declared there.
  bool advance_table(CallNumber call) PMIO_REQUIRES(mutex);
  bool attach_for_table() PMIO_REQUIRES(mutex);  // false: there is no free segment
  bool has_warm_room(uint64_t bytes) const PMIO_REQUIRES(mutex);
  bool goes_straight(const Vector& where) const PMIO_REQUIRES(mutex);
  Status append_large(uint64_t offset, const std::byte* data, uint64_t bytes, CallNumber call, bool* written)
      PMIO_REQUIRES(mutex);
  Status write_large(const Vector& where, PatternCursor& memory, const std::byte* buffer, CallNumber call,
                     LargeBytes* large, bool* written) PMIO_REQUIRES(mutex);
  // is_call: the write of a whole call ends with these.
  void count_past_log(uint64_t bytes, uint64_t ns, bool is_call, CallNumber call) PMIO_REQUIRES(mutex);
  void tally_large(uint64_t bytes, const LargeBytes& large, CallNumber call) PMIO_REQUIRES(mutex);
  // A part of it is logged, and goes on in another segment.
  void interrupted(CallNumber call) PMIO_REQUIRES(mutex);
  void finished(CallNumber call) PMIO_REQUIRES(mutex) {
    if (call.open == 0) return;
    file_.cell->opens[call.open - 1].progress.store(progress_of(call.number, call.independent),
                                                    std::memory_order_relaxed);
  }

  SharedFile& file_;
  Reach& reach_;
  LoggedEnd& logged_end_;
  DirectWriter& direct_writer_;
  LargePieces& large_pieces_;
  const bool several_nodes_;
  std::vector<Owned> owned_ PMIO_GUARDED_BY(mutex);  // oldest first; the last one may be open
  bool open_ PMIO_GUARDED_BY(mutex) = false;         // owned_.back() is not sealed
  uint64_t last_stamp_ PMIO_GUARDED_BY(mutex) = 0;
  uint64_t unpublished_ PMIO_GUARDED_BY(mutex) = 0;  // records since the last publish
  uint32_t declared_ PMIO_GUARDED_BY(mutex) = 0;     // bit per entry of the last segment's open table
  std::atomic<uint32_t> table_cell_{kNoCell};     // of the last segment, if it was taken for its table alone
  uint64_t last_end_ PMIO_GUARDED_BY(mutex) = 0;  // file byte behind the last record of the open segment
  bool counts_as_log_ = false;
  Tally tally_ PMIO_GUARDED_BY(mutex);
  uint64_t past_log_ns_ PMIO_GUARDED_BY(mutex) = 0;
  Calls past_log_
      PMIO_GUARDED_BY(mutex);   // calls whose bytes all went straight to the file, and bytes that did
  RelaxedCount new_bytes_ = 0;  // as tally_ has them; stored under the mutex
  std::atomic<std::thread::id> waits_{};
  std::atomic<bool> has_given_up_{false};
};

}  // namespace pmio
