// What the processes of a node share of a file, as this process has it. That is the control block, this
// rank's cell in it, the ledger, the mark, the index, the drain, and the file itself.
//
// Threads: any, as each member says.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "layout/layout.h"
#include "log/ledger.h"
#include "log/target_mark.h"
#include "node/control.h"
#include "node/drainer.h"
#include "node/index.h"
#include "node/job.h"

namespace pmio {

struct SharedFile {
  Job::Impl* job = nullptr;
  std::string key;  // file_key
  std::string path;
  FileIdentity identity;
  Layout layout;
  std::unique_ptr<TargetFile> target;
  std::unique_ptr<Region> control_region;
  FileControl* control = nullptr;
  RankCell* cell = nullptr;  // this rank's
  Ledger ledger;
  TargetMark mark;
  std::unique_ptr<FileIndex> index;
  std::unique_ptr<Drainer> drainer;
  std::atomic<bool> only_read{false};  // by all handles that there are
  // Nobody waits for a drain of it: no handle of this process that there is does when it is closed.
  std::atomic<bool> closes_in_background{false};
  std::atomic<uint64_t> reported_errors{0};  // FileControl::error_number
  bool leaves_spare = false;                 // the control block is kept for another file

  // All that the ranks of this node have published is in the file, and no round is being closed.
  bool all_drained() const;
  // What this rank has published is in the file.
  bool own_is_drained() const;
  // Bytes that the ranks of this node have published and that are not in the file.
  uint64_t undrained_bytes() const;
  // When all are idle: whether this rank is the lowest that has the file open.
  bool looks_after_it() const;
  // Waits for what a rank of this node has announced, which that rank does not wait with for anybody. io:
  // some rank has died.
  Status await_rank(const std::function<bool()>& done) const;
  // The system calls on the target become the process's.
  void add_up_target() const;
};

}  // namespace pmio
