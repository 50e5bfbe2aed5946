// The loop of a server's thread: accepts, checks tokens, reads requests, sends what answers have left over.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "peer/frame.h"
#include "peer/reply_channel.h"
#include "peer/server.h"

namespace pmio {

class PeerService {
 public:
  static Result<std::unique_ptr<PeerService>> create(FileDescriptor listener, const PeerToken& token,
                                                     PeerServer::Handler handler, size_t most_connections);
  void run();   // until stop(); then all connections are closed
  void stop();  // any thread

 private:
  struct Session {
    explicit Session(std::shared_ptr<ReplyChannel> to) : channel(std::move(to)) {}
    std::shared_ptr<ReplyChannel> channel;
    FrameReader reader{FrameType::hello, sizeof(Hello)};
    bool authenticated = false;
    Pace pace;            // of the hello, or of the frame that has begun
    size_t budgeted = 0;  // its part of kMaxBuffered
    size_t held = 0;      // likewise, for a request that is being worked on
    bool parked = false;  // waits for room for its request
  };
  using Sessions = std::unordered_map<uint64_t, Session>;

  PeerService(FileDescriptor listener, FileDescriptor epoll, FileDescriptor wakeup, const PeerToken& token,
              PeerServer::Handler handler, size_t most_connections);
  bool watch(int fd, uint64_t key, bool add);
  void handle_safely(uint64_t key, uint32_t events);
  void handle_event(uint64_t key, uint32_t events);
  void accept_some();
  void tick();
  void close(Sessions::iterator session);
  // These return false if the connection is to be closed.
  bool read(Session& session);
  bool consume(Session& session, std::span<const std::byte> bytes);
  bool greet(Session& session);
  bool admit(Session& session);
  bool begin_large(Session& session);
  void serve(Session& session);
  void release(Session& session);
  void release_answered(Session& session);
  void admit_parked();

  const FileDescriptor listener_, epoll_, wakeup_;
  const PeerToken token_;
  const PeerServer::Handler handler_;
  const size_t most_connections_;
  const std::shared_ptr<ReplyBudget> reply_budget_ = std::make_shared<ReplyBudget>();
  std::atomic<bool> stop_{false};
  bool accepting_ = true;
  Sessions sessions_;
  uint64_t next_key_;
  size_t buffered_ = 0;  // bytes of requests that are larger than kSmallPayload
  std::deque<uint64_t> parked_;
  std::chrono::steady_clock::time_point last_tick_;
  std::array<std::byte, size_t{256} << 10> scratch_;
};

}  // namespace pmio
