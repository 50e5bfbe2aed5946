// pmio's own threads in a program that knows nothing of them.
#pragma once

#include <pthread.h>

#include <functional>

namespace pmio {

// A thread in which all signals are blocked: the program's signals stay the program's. The size of its stack
// does not depend on the program's limit (ulimit -s). Like std::thread it must be joined before it is
// destroyed.
class QuietThread {
 public:
  QuietThread() = default;
  // Throws std::system_error if there can be no more threads. The caller's signals are as they were then.
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
