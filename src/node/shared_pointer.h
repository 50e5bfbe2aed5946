// The shared file pointer of one handle, kept where all ranks of the node can reach it without a message. It
// is in a small file of the job's directory, which the first rank to need it creates.
//
// MPI_File_set_view resets the pointer, but must not wait for other ranks. So each call names its epoch: how
// many set_views the rank has done on the handle, the same number on all ranks. Whoever comes first with a
// new epoch starts its value. The values of the last few epochs stay, for ranks that have not come to the
// set_view yet.
//
// Survives the death of a rank at any point: the lock is the kernel's, on the open file. Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "base/epoch_slots.h"
#include "base/mutex.h"
#include "base/status.h"

namespace pmio {

class SharedPointer {
 public:
  explicit SharedPointer(std::string path) : path_(std::move(path)) {}
  ~SharedPointer();
  SharedPointer(const SharedPointer&) = delete;
  SharedPointer& operator=(const SharedPointer&) = delete;

  // Adds `by` (etypes) to the epoch's value, which starts as `initial`; returns the value before.
  Result<int64_t> fetch_add(uint64_t epoch, int64_t initial, int64_t by);
  Status store(uint64_t epoch, int64_t value);
  // Whether this process has used the pointer.
  bool used() const {
    const LockGuard lock(mutex_);
    return slots_ != nullptr;
  }
  // Removes the file; the last thing that is done with the pointer, by one rank.
  void remove();

 private:
  class Locked;
  Status map() PMIO_REQUIRES(mutex_);

  const std::string path_;
  mutable Mutex mutex_;  // the file's lock does not tell the threads of a process apart
  int fd_ PMIO_GUARDED_BY(mutex_) = -1;
  // Etypes. What is in them is shared with other processes, and written with the file's lock too.
  EpochSlots* slots_ PMIO_GUARDED_BY(mutex_) PMIO_PT_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace pmio
