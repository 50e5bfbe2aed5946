// What the processes of a job share about a file, kept for the next file when nobody has this one open any
// more. To make, map and remove it again for each of many small files costs more than the files.
//
// It stays under the name of the file that it was of, complete, and FileControl::spare says so. Each process
// that has had that file open keeps its mappings. Whoever opens the next file gives it that one's name
// (Job::Impl::recycle). The others that come to the same file know it by what it says.
//
// Threads: any.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "log/ledger.h"
#include "log/target_mark.h"
#include "node/control.h"

namespace pmio {

struct SharedParts {
  std::unique_ptr<Region> region;
  Ledger ledger;
  TargetMark mark;
  FileControl& control() const { return *reinterpret_cast<FileControl*>(region->data()); }
};

class Spares {
 public:
  // Whether there is room for one more, of so many bytes, among those that this process knows. Then it counts
  // as one of them until keep() gets it.
  bool reserve(size_t bytes);
  // The mappings of a File that is going, which looks at them no more: FileControl::holders. reserved: room
  // for them.
  void keep(SharedParts parts, bool reserved);

  // The rest under the job's directory lock.
  // Of the file of that identity: in use by others, or as it was left.
  std::optional<SharedParts> of(const FileIdentity& target);
  // Of another file that nobody uses.
  std::optional<SharedParts> free_one();
  void put_back(SharedParts parts);  // it is left as it was

 private:
  template <class Suits>
  std::optional<SharedParts> take(const Suits& suits);
  Mutex mutex_;
  std::deque<SharedParts> kept_ PMIO_GUARDED_BY(mutex_);  // the last one kept last
  size_t coming_ = 0, coming_bytes_ = 0;
};

}  // namespace pmio
