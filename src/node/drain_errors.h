// The errors of a file's drains, which every local process reports once, whoever drained.
//
// Threads: any.
#pragma once

#include "base/status.h"

namespace pmio {

struct SharedFile;

class DrainErrors {
 public:
  explicit DrainErrors(SharedFile& file) : file_(file) {}

  // The first one not yet reported by this process; ok if none, or if a later round has succeeded.
  Status take();
  // Those so far have been reported.
  void forgive();
  // A drain has failed with this errno: every local rank will report it.
  void add(int error);

 private:
  SharedFile& file_;
};

}  // namespace pmio
