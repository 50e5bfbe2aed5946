// What the times of a file of several nodes told when others last knew of its records (decision 0014). By
// them it may rest when it is closed, and its next open sees whether somebody outside of the job has written
// it.
//
// Threads: any for what says so; else in the open or the close of all ranks.
#pragma once

#include <optional>

#include "base/mutex.h"
#include "drain/target.h"
#include "log/call_stamp.h"
#include "node/reach.h"
#include "node/shared_file.h"

namespace pmio {

class Resting {
 public:
  explicit Resting(SharedFile& file) : file_(file) {}

  // When all ranks are in the open, and what dead jobs had left for the file is in it. Compares it with what
  // it was like at the last close.
  void compare();
  // Before a sync returns: others know of all that has been drained. Any thread.
  void note_sync();
  // The same, and nobody can tell what they write from now on. Any thread.
  void note_uncertain();

  // Between the drains of the last close and the first release. may_rest: of the rank that decides.
  RestingState state(bool may_rest);
  // Whether anything is left to serve; then the file rests as that says.
  bool begin(const RestingState& resting);
  void end() { woken_ = true; }
  // A close has failed: it does not count as having rested.
  void stays_open() { woken_ = false; }
  // Whether the file rested since its last close, on this rank.
  bool has_rested() const { return woken_; }

 private:
  // Which drained records programs outside of the job know of, by a sync or the last close, and so may write
  // over.
  struct Known {
    CallStamp upto = 0;
    std::optional<FileState> state;  // of the file since, as long as none of them writes; nothing: unknown
    CallStamp uncertain = 0;         // those that they may have written over since they knew of them
  };

  std::optional<FileState> state_to_know();
  Known known_by_others();
  bool is_as(const Known& known_then) const;  // nothing has been drained or written since
  void others_know(const std::optional<FileState>& state);

  SharedFile& file_;
  bool woken_ = false;           // it has rested
  bool mtime_reliable_ = false;  // the file's times show that somebody writes
  FileState closed_{};           // as it was left at its last close, if it has rested
  Mutex known_mutex_;            // nothing else is locked, and no system call made, while it is held
  Known known_ PMIO_GUARDED_BY(known_mutex_);
};

}  // namespace pmio
