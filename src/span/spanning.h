// The reach of a file whose ranks are on several nodes: its questions to the other nodes, and theirs to this
// one (decision 0011).
//
// Nobody reads or writes a byte of the file itself before two things. What another node has logged of it has
// been drained, and what another node has written past its log has been synced.
//
// Threads: any.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "log/call_stamp.h"
#include "log/segment.h"
#include "node/file.h"
#include "node/file_parts.h"
#include "node/index.h"
#include "node/reach.h"
#include "span/fresh_reader.h"
#include "span/neighbours.h"
#include "span/read_habit.h"
#include "span/remote_holdings.h"
#include "span/resting.h"
#include "span/shared_reads.h"

namespace pmio {

class Spanning : public Reach {
 public:
  Spanning(FileParts& file, Neighbours& neighbours)
      : Reach(neighbours.place().span),
        parts_(file),
        file_(file.shared),
        neighbours_(neighbours),
        resting_(file.shared) {}
  // Of a file that spans nodes.
  static Spanning& of(File& file);
  // For Job::OpenOptions.
  static ReachMaker over(Neighbours& neighbours);

  // What all ranks have agreed on when they have opened the file.
  struct Agreed {
    uint64_t number;  // the file's among the nodes: what some rank has from an earlier open; else a new one
    // The highest that any of them knows of.
    uint64_t last_call;
    CallStamp horizon, finished_horizon;
    uint64_t size;
  };
  // An error: nothing may be logged.
  Status join_nodes(const Agreed& all);
  // The last collective write call that this rank knows of.
  uint64_t last_call() const;
  // Of the last round that was begun on this node; 0: none.
  CallStamp horizon() const;
  // Of the last round that was finished on this node, as its ledger says; 0: none.
  CallStamp finished_horizon() const;

  // Around each collective write call, also if this rank fails in it: its number is the stamp of its records.
  // Another thread's call waits for the end of this one. may_wait: by its definition it may wait for all
  // ranks to begin it. So no rank learns of what comes behind it before it has begun it too. The analysis
  // does not see that they come in pairs (LogEngine::Turn).
  // If threads make calls at once, and some rank may log independently, it ends that on all nodes first: who
  // learns of this call writes with a later stamp. If it cannot, that is an error of the file's drains.
  void begin_call(bool may_wait = true) PMIO_NO_THREAD_SAFETY_ANALYSIS;
  void end_call() PMIO_NO_THREAD_SAFETY_ANALYSIS;
  // An independent write. It is logged as by append, after the other nodes have been asked if that is not
  // known to be needless. Or it goes straight to the file, if they want the same windows or the log has no
  // room. On return it is seen by all, and as durable as what is logged.
  Status write_independent(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                           uint64_t bytes, CallNumber call);
  // Whether independent writes have just used up the last stamp, on this node: all later ones go to the file.
  // True once, on one rank.
  bool has_used_up_stamps();

  // Between the drains of the last close and the first release.
  RestingState resting_state(bool decides);
  // Whether the file rested since its last close, on this rank.
  bool has_rested() const { return resting_.has_rested(); }

  // What the other nodes ask of this one; each from one of its processes.
  // A file whose close has failed keeps its number.
  uint64_t number() const override { return number_.load(std::memory_order_acquire); }
  // Collective write calls that all local ranks have finished, and that some have begun.
  uint64_t calls_finished_here() const;
  uint64_t calls_begun_here() const;
  // Those that all local ranks have finished, none having begun one more; else nothing.
  std::optional<uint64_t> settled_calls() const;
  uint64_t clock() const;  // of the latest independent write that this node knows of
  // How many writes past the log this node has synced: WritesToSync::synced.
  uint64_t writes_synced() const;
  // Neighbours::ask, for this node: whether it holds undrained bytes.
  Result<bool> answer(CallStamp upto, std::span<const Vector> ranges, Neighbours::Purpose purpose);
  // What a node holds undrained; nullopt: not all of it can be told.
  using Holdings = std::optional<std::vector<Vector>>;
  // Neighbours::holdings, for this node.
  Result<Holdings> holdings(uint64_t calls, const Interval& bytes);
  // Some local rank is gone without having closed the file: nobody can tell how far it would have come.
  bool some_rank_died() const;
  bool all_drained_here() const { return file_.all_drained(); }
  Status discard_here();
  // Others than its ranks open the file, too (node/contest.h). The caller drains when all nodes have been
  // told.
  void declare_contest_here();

  // For a round: on return what ranks of this node have logged independently, and had begun before, is
  // published.
  Status await_announced() const;

  Status attached() override;
  Status note_nodes() override;
  Status drain(DrainScope scope) override;
  bool is_drained() const override;
  Status before_read(std::span<const Vector> ranges, uint64_t* end) override;
  Status before_read(PatternCursor file, uint64_t bytes, uint64_t* end) override;
  Status begin_reading_target() override;
  void end_reading_target() override;
  Status read_target(uint64_t offset, std::byte* to, uint64_t bytes, bool sparse, uint64_t* got) override;
  Status begin_direct_write() override { return {}; }
  Status before_direct_write(std::span<const Vector> ranges) override;
  void end_direct_write() override {}
  Result<uint64_t> target_bytes() const override;
  Result<uint64_t> bytes_elsewhere() override;
  void synced() override;
  void note_foreign_write() override {}  // the mark says so all the time
  void forget_elsewhere() override;
  void note_truncation() override;
  void truncated_elsewhere() override;
  Status discard() override;
  bool rests_as(const RestingState& resting) override { return resting_.begin(resting); }
  void lay_down() override;
  void take_up(std::unique_ptr<TargetFile> opened) override;
  void stays_open() override { resting_.stays_open(); }

 private:
  // Of a contested file: others write it whenever they like, and tell nobody.
  void forget_what_is_known();
  Status raise_horizon(CallStamp horizon, CallStamp finished);
  Status drain_log(bool room);
  Status drain_everywhere(bool will_write);
  // Waits until no other node holds undrained bytes of the ranges, of those that are there by now. *end: of
  // the file.
  Status meet_nodes(std::span<const Vector> ranges, bool will_write, uint64_t* end);
  Result<bool> is_clear(std::span<const Vector> ranges, uint64_t finished, uint64_t* end);
  Result<bool> answer_here(CallStamp upto, std::span<const Vector> ranges, bool will_write);
  Result<bool> holds(const Vector& range, CallStamp upto, FileIndex::Which which);
  void stop_serving(const Vector& range);
  Result<Holdings> holdings_in_log(uint64_t calls, const Interval& bytes);
  Holdings unite_held(uint64_t calls, const Interval& bytes, const std::vector<Entry>& found);

  // How often other nodes may have changed the file; never less than before.
  uint64_t changes_seen() const;
  Status await_older_reads(uint64_t changes) const;
  bool has_shared_reads();
  Result<std::unique_ptr<Region>> make_shared_reads(uint64_t number);
  Status read_shared(uint64_t offset, std::byte* to, uint64_t bytes, uint64_t* got);

  // The append lock is held.
  Status log_independent(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                         CallNumber call, uint64_t* logged);
  std::optional<CallStamp> independent_stamp();
  bool holds_leases(const Vector& range) const;
  // *granted: false if threads make calls at once and not all ranks of the file have come equally far. What
  // one of its other threads does, a rank does not know of then.
  Status ask_for_leases(PatternCursor file, uint64_t bytes, bool* granted);
  bool threads_at_once() const;
  Status unsettle();
  // On return no rank of this node logs anything in the ranges before it has asked the other nodes.
  Status give_up_leases(std::span<const Vector> ranges);

  FileParts& parts_;
  SharedFile& file_;
  Neighbours& neighbours_;
  RemoteHoldings others_;  // what they hold
  ToldHoldings told_;      // what they have been told of this node's log; under the reader's mutex
  std::atomic<uint64_t> number_{0};
  std::atomic<uint64_t> only_started_{0};  // the last collective call whose beginning waits for nobody
  std::atomic<uint64_t> last_waiting_{0};  // the last one that may wait for all ranks
  Mutex call_mutex_;  // held from begin_call to end_call: records and ends of calls come in their order
  std::atomic<bool> used_up_stamps_{false};  // and nobody has been told
  // Under the append lock: how many writes are to go past the log without a question for a lease, and how
  // many that were when it was last refused.
  uint32_t unasked_ = 0, refused_ = 0;

  // Under the reader's mutex: opened since other nodes last changed the file, as all others are by which this
  // node's ranks read it now.
  std::unique_ptr<FreshReader> reader_;
  uint64_t reader_changes_ = 0, reader_writes_ = 0;
  // Likewise: what this node's ranks read for each other.
  ReadHabit habit_;
  std::unique_ptr<Region> reads_region_;
  std::optional<SharedReads> reads_;
  bool reads_tried_ = false;
  Resting resting_;
};

}  // namespace pmio
