// Threads of pmio's own in a program that knows nothing of them.
#pragma once

#include <pthread.h>

#include <functional>

namespace pmio {

// A thread in which all signals are blocked: the program's signals stay the program's. Its stack is of a size
// of its own, whatever the program's limit is (ulimit -s). As std::thread: to be joined before it is
// destroyed.
class QuietThread {
 public:
  QuietThread() = default;
  // Throws std::system_error where there can be no more threads; the caller's signals are then as they were.
  explicit QuietThread(std::function<void()> body);
  QuietThread(QuietThread&& other) noexcept;
  QuietThread& operator=(QuietThread&& other) noexcept;
  ~QuietThread();
  bool joinable() const { return runs_; }
  void join();

 private:
  bool runs_ = false;
  pthread_t thread_{};
};

}  // namespace pmio
