#include "cluster/connection_pool.h"

#include <utility>

namespace pmio {

Result<std::vector<std::byte>> ConnectionPool::ask(uint32_t node, Request kind,
                                                   const MessageWriter& message) {
  std::unique_ptr<Leaders> mine;
  {
    const LockGuard lock(mutex_);
    if (!idle_.empty()) {
      mine = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (mine == nullptr) mine = leaders_.more();
  auto answer = mine->ask(node, kind, message);
  const LockGuard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(mine));
  return answer;
}

}  // namespace pmio
