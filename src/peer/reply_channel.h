// The answering side of an accepted connection. The server's thread and the holder of the reply share it. The
// thread that gives an answer sends it. The server's thread sends later what the socket has no room for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "peer/frame.h"

namespace pmio {

// Whether the peer of a frame keeps up. Threads: one at a time.
class Pace {
 public:
  void moved(size_t bytes) { bytes_ += bytes; }
  // Called each second: counts the seconds with fewer than kSlowBytes, less the other seconds.
  bool too_slow_after_tick(unsigned most_seconds);

 private:
  size_t bytes_ = 0;
  unsigned slow_seconds_ = 0;
};

// How many bytes of large answers are buffered for all connections of a server. Threads: any.
class ReplyBudget {
 public:
  // Waits for room, unless it is on the server's thread. False: there is no room, or the server stops.
  bool take(size_t bytes);
  void give(size_t bytes);
  void set_server_thread(std::thread::id id);
  void stop();  // from now on nobody waits

 private:
  Mutex mutex_;
  Condition condition_;
  std::thread::id server_thread_ PMIO_GUARDED_BY(mutex_);
  size_t used_ PMIO_GUARDED_BY(mutex_) = 0;
  bool stopped_ PMIO_GUARDED_BY(mutex_) = false;
};

// The connection is idle (a request may come), answering (one is being worked on), sending, or closed.
class ReplyChannel {
 public:
  // epoll reports the socket under `key`; both outlive close().
  ReplyChannel(FileDescriptor socket, int epoll, uint64_t key, std::shared_ptr<ReplyBudget> budget);

  // Any thread. owner: holds the payload, if it may be taken instead of copied.
  void answer(int error, std::span<const std::byte> payload, std::vector<std::byte> owner = {});

  // From here on: the server's thread only.
  int socket() const { return socket_.get(); }
  uint64_t key() const { return key_; }
  bool idle();
  bool answered();  // nobody works on a request
  void begin_answering();
  bool flush();                   // false: the connection is broken
  bool say_working_after_tick();  // called each second; false: the connection is broken
  bool overdue_after_tick();      // called each second: whether the peer takes its answer too slowly
  void listen(bool to_input);     // while idle: whether epoll reports input
  void close();

 private:
  enum class State { idle, answering, sending, closed };
  void watch(uint32_t events) PMIO_REQUIRES(mutex_);
  void send_or_keep(const FrameHeader& header, std::span<const std::byte> payload,
                    std::vector<std::byte> owner, size_t budgeted) PMIO_REQUIRES(mutex_);
  // False: no memory.
  bool keep(std::span<const std::byte> payload, std::vector<std::byte> owner) PMIO_REQUIRES(mutex_);
  void forget_answer() PMIO_REQUIRES(mutex_);

  FileDescriptor socket_;
  const int epoll_;
  const uint64_t key_;
  const std::shared_ptr<ReplyBudget> budget_;
  Mutex mutex_;  // also held while something is sent
  State state_ PMIO_GUARDED_BY(mutex_) = State::idle;
  FrameHeader header_ PMIO_GUARDED_BY(mutex_){};
  std::vector<std::byte> payload_ PMIO_GUARDED_BY(mutex_);
  size_t sent_ PMIO_GUARDED_BY(mutex_) = 0;
  size_t budgeted_ PMIO_GUARDED_BY(mutex_) = 0;
  unsigned answering_seconds_ PMIO_GUARDED_BY(mutex_) = 0;
  Pace pace_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
