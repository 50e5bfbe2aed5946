// Says in the job's directory every now and then that the process lives (log/last_seen.h), by a thread that
// does nothing else: the background thread may be at a drain for minutes. It makes no MPI call, blocks all
// signals, and sleeps otherwise.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace pmio {

class Pulse {
 public:
  // fd: of the job's `alive`, open for writing; stays the caller's.
  explicit Pulse(int fd);
  ~Pulse();  // joins

 private:
  void loop();
  const int fd_;
  std::mutex mutex_;
  std::condition_variable condition_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pmio
