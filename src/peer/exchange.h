// One request and its answer, on a socket that never blocks. The connection survives for the next request.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "base/file_descriptor.h"
#include "peer/connection.h"
#include "peer/frame.h"

namespace pmio {

// Threads: between acquire() and release(), one.
class Exchange {
 public:
  using Clock = std::chrono::steady_clock;

  Exchange(const Peer& peer, const PeerToken& token, uint32_t node, std::chrono::milliseconds dead_after,
           std::chrono::seconds silent_after);
  void acquire();  // waits until no other thread has it
  void release();

  // Only begins; advance() does the rest. The payload is used until done().
  void begin(uint32_t kind, std::span<const std::byte> payload);
  // Goes on as far as it can without waiting. scratch: memory for received bytes, with any content.
  void advance(std::span<std::byte> scratch);
  bool done() const { return stage_ == Stage::done; }
  pollfd wanted() const;  // when to advance again
  Clock::time_point deadline() const { return deadline_; }
  void expire();                           // to be called when the deadline is over
  void fail(int error, const char* what);  // ends the request, and disconnects
  PeerAnswer take_answer();

 private:
  enum class Stage { connecting, greeting, requesting, done };
  void begin_connection();
  void begin_request();
  void lost(int error);  // the connection
  void send_next(const FrameHeader& header, std::span<const std::byte> payload);
  bool take(std::span<const std::byte> bytes);
  bool transfer(
      std::span<std::byte> scratch);  // sends that frame and receives one; false: not yet, or failed
  bool connected();
  bool welcomed();
  void answered();

  const Peer peer_;
  const PeerToken token_;
  const Hello hello_;
  const std::chrono::milliseconds dead_after_;
  const std::chrono::seconds silent_after_;
  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;

  FileDescriptor socket_;  // none: not connected
  bool reused_ = false;    // the connection is of an earlier call
  Stage stage_ = Stage::done;
  Clock::time_point deadline_;      // while requesting: the end of the next second
  std::chrono::seconds silent_{0};  // for so long nothing has come
  uint32_t kind_ = 0;
  std::span<const std::byte> payload_;  // of the request
  FrameHeader header_{};                // of the frame that goes out, with its payload
  std::span<const std::byte> outgoing_;
  size_t sent_ = 0;
  bool all_sent_ = false;
  FrameReader reader_{FrameType::welcome, 0};
  Status status_;
};

// Runs until all are done.
void run(std::span<Exchange* const> exchanges);

}  // namespace pmio
