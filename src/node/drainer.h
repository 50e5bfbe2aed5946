// Writes what the local ranks have logged of one file into the target, in rounds. A round takes all dirty
// runs and walks the file in windows that end at stripe boundaries, server by server. Any process that wants
// the round done helps: it claims windows until none is left. The leader (the holder of drain_mutex) then
// makes the result known.
//
// A round that is broken off (error, death) has changed nothing but bytes of the target that it would write
// again. The next one begins when nobody writes for it any more. A late write would bring old bytes back.
//
// Somebody who is not of the job may have written the file since the last round. If the file system tells of
// it, no byte between those of the log is written any more. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drain/paint.h"
#include "drain/target.h"
#include "layout/layout.h"
#include "log/ledger.h"
#include "log/target_mark.h"
#include "node/index.h"

namespace pmio {

class LostLog;

class Drainer {
 public:
  struct Parts {
    FileControl* control;
    FileIndex* index;
    SegmentMap* map;
    TargetFile* target;
    Ledger* ledger;
    TargetMark* mark;
    Counters* counters;
    LostLog* lost_log;
    Layout layout;
    FileIdentity identity;
    uint32_t seat;
    bool sync_target;  // the log survives a power failure, so the target must before the log lets go
    bool times_tell;   // the target's size and time of modification tell of every write by others
    std::function<void(const std::string&)> say;  // JobOptions::say
  };
  explicit Drainer(const Parts& parts) : parts_(parts) {}

  // All records published before the call are in the target on return.
  Status drain();
  // Counts everything published so far as drained, without writing it. Durable on return.
  Status discard();
  // Notes the state that the file is in before pmio writes it for the first time.
  void note_before_first_write();
  // Notes that the job itself writes the file, past the log.
  void note_foreign_write();
  // Around a write of a piece that goes straight to the target, although the log has room. Before the first
  // one of this process: no round, not even one that had begun before, fills gaps from then on.
  void expect_large_writes();
  void begin_large_write();
  void end_large_write();
  // Counts as drained what the ledger says, where a leader has died while it did so.
  void count_last_round();
  // Notes that the target has been truncated: what was drained before does not count for the end of the file.
  void note_truncation();
  // Where the log is lost (node/lost_log.h): on return all that is undrained can be read here, or a reason
  // why not. No lock is held but the file's append lock.
  Status await_reach();
  // After a drain: nobody needs the names of runs any more.
  void forget_runs();
  // Some local process that has the file open is gone.
  bool some_rank_died() const;

  // For who leads a round itself; drain_mutex is held.
  // Takes all that the round is to bring into the file. write: others may help.
  Status begin_round(bool write, FileIndex::Leftover* leftover, std::vector<LedgerEntry>* marks);
  // All of it is in the file: it is drained, durably known.
  Status finish_round(const std::vector<LedgerEntry>& marks, const FileIndex::Leftover& leftover);
  // After a failure, of a round that began when `knew` told whether the log was known to be lost.
  bool is_worth_another_try(const Status& failure, bool knew) const;

 private:
  static constexpr unsigned kPollMicroseconds = 50;
  struct Work;  // the round as this process sees it
  Status lead(bool write);
  void settle_mark(bool ahead);
  Status withdraw_state();  // the mark says that the target is being written
  void look_for_others();
  Status write_round(FileIndex::Leftover& leftover);
  void count_last_round_locked();
  void count_round_locked(const std::vector<LedgerEntry>& marks);
  bool help();
  void work_on(Work& work);
  Status send_on(uint64_t losses);
  void note_failure_locked(const Work& work, const Status& status);
  bool claim(Work& work, uint64_t* a, uint64_t* b);
  Status write_window(Work& work, uint64_t a, uint64_t b);
  bool write_directly(std::vector<Entry>& entries, uint64_t a, uint64_t b, Status* status);
  void stop_helpers();
  std::optional<uint32_t> out_of_reach() const;
  bool all_drained(const std::vector<uint64_t>& wanted) const;

  Parts parts_;
};

}  // namespace pmio
