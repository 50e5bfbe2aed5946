// Connections for questions that others may hold up: each question has a connection to itself. Threads: any.
#pragma once

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "cluster/leaders.h"

namespace pmio {

class ConnectionPool {
 public:
  // To the same leaders; `leaders` outlives this.
  explicit ConnectionPool(const Leaders& leaders) : leaders_(leaders) {}
  // So many connections stay open while nobody asks.
  static constexpr size_t kMostIdle = 2;
  Result<std::vector<std::byte>> ask(uint32_t node, Request kind, const MessageWriter& message);

 private:
  const Leaders& leaders_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Leaders>> idle_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
