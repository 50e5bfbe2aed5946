// What a job under test says. Its background threads say something at any time, so that nothing is read
// past the lock.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace pmio::test {

class Said {
 public:
  std::function<void(const std::string&)> listener() {
    return [this](const std::string& text) {
      const LockGuard lock(mutex_);
      texts_.push_back(text);
    };
  }
  std::vector<std::string> texts() const {
    const LockGuard lock(mutex_);
    return texts_;
  }
  bool has(const std::string& part) const {
    const LockGuard lock(mutex_);
    for (const std::string& text : texts_)
      if (text.find(part) != std::string::npos) return true;
    return false;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> texts_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio::test
