// Connections for questions that may wait for what others hold up: each has one to itself. Threads: any.
#pragma once

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "cluster/leaders.h"

namespace pmio {

class SpareLeaders {
 public:
  // The same leaders as those, which outlive this.
  explicit SpareLeaders(const Leaders& leaders) : leaders_(leaders) {}
  // Connections that stay open where nobody asks.
  static constexpr size_t kMostIdle = 2;
  Result<std::vector<std::byte>> ask(uint32_t node, Request kind, const MessageWriter& message);

 private:
  const Leaders& leaders_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Leaders>> idle_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
