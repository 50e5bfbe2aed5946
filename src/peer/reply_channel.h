// The answering side of an accepted connection, shared by the server's thread and by whoever holds the reply.
// An answer is sent by the thread that gives it; what the socket has no room for, the server's thread sends
// later.
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

// Whether the peer of a frame keeps up. Threads: none shared.
class Pace {
 public:
  void moved(size_t bytes) { bytes_ += bytes; }
  // Called each second: adds up those with fewer than kSlowBytes, less the others.
  bool too_slow_after_tick(unsigned most_seconds);

 private:
  size_t bytes_ = 0;
  unsigned slow_seconds_ = 0;
};

// How many bytes of large answers are buffered for all connections of a server. Threads: any.
class ReplyBudget {
 public:
  // Waits for room, but not on the server's thread. False: there is none, or the server stops.
  bool take(size_t bytes);
  void give(size_t bytes);
  void set_server_thread(std::thread::id id);
  void stop();  // nobody waits any more

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

  // Any thread. owner: what holds the payload, if that may be taken instead of copied.
  void answer(int error, std::span<const std::byte> payload, std::vector<std::byte> owner = {});

  // The server's thread only, from here on.
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
  Mutex mutex_;  // held while something is sent, too
  State state_ PMIO_GUARDED_BY(mutex_) = State::idle;
  FrameHeader header_ PMIO_GUARDED_BY(mutex_){};
  std::vector<std::byte> payload_ PMIO_GUARDED_BY(mutex_);
  size_t sent_ PMIO_GUARDED_BY(mutex_) = 0;
  size_t budgeted_ PMIO_GUARDED_BY(mutex_) = 0;
  unsigned answering_seconds_ PMIO_GUARDED_BY(mutex_) = 0;
  Pace pace_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
