// Where the bytes that the ranks of a node have logged of a file end, whether they are drained or not.
//
// RankCell::logged_end says it for each rank, as long as the rank knows of all truncations of the file
// (RankCell::truncations). A rank that does not know of one is looked through.
//
// Threads: any.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "node/shared_file.h"

namespace pmio {

class LoggedEnd {
 public:
  // several_nodes: other threads of this rank may write past the log while one appends.
  LoggedEnd(SharedFile& file, bool several_nodes) : file_(file), several_nodes_(several_nodes) {}

  // Of this rank: bytes up to `end` have been published, or written past the log.
  void raise(uint64_t end) PMIO_EXCLUDES(mutex_);
  // As RankCell::logged_end says; 0: the rank has logged nothing since the file was truncated, as far as it
  // knows. Over all local ranks it is never more than bytes().
  uint64_t noted(uint32_t seat) const;
  uint64_t noted() const;
  // Over all local ranks, with a look at the logs where that is needed. What is drained meanwhile is missing:
  // who needs the size of the file asks for the target's afterwards.
  uint64_t bytes() const;
  // Whether the target ends before something that a local rank had drained to it, since the last time that
  // somebody noticed.
  bool is_beyond_target() const;

 private:
  void begin_anew() PMIO_EXCLUDES(mutex_);

  SharedFile& file_;
  const bool several_nodes_;
  // Of RankCell::truncations of this rank, which only begin_anew writes. Only a file of several nodes has it
  // called by more than one thread.
  Mutex mutex_;
};

}  // namespace pmio
