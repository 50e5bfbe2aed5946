// Answers the requests of other nodes: one thread, one address, only for who shows the job's token.
//
// No peer can hold up another: sockets never block the thread, a hello must come within kHelloSeconds, and
// while a frame is on its way, in either direction, seconds with less than kSlowBytes may not outnumber the
// others by more than kFrameSeconds; who is slower is disconnected. (Seconds in which this process was
// stopped don't count.) Memory: kMaxBuffered for requests larger than kSmallPayload, until they are answered
// (but a second more), as much for such answers, and two kSmallPayload for each connection; who comes when
// there are most_connections waits in the kernel's queues.
//
// The address is one of this host's, never all; Linux answers on it through any of its interfaces. Traffic is
// neither encrypted nor signed (peer/frame.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "peer/address.h"

namespace pmio {

constexpr size_t kMaxConnections = 4096;  // where the caller knows no better
constexpr size_t kSmallPayload = size_t{16} << 10;
constexpr size_t kMaxBuffered = size_t{256} << 20;
constexpr unsigned kHelloSeconds = 5;
constexpr unsigned kFrameSeconds = 10;
constexpr size_t kSlowBytes = size_t{64} << 10;

class ReplyChannel;

// Answers one request, from any thread at any later time, once; after the server has gone it does nothing.
// Destroyed without an answer: EIO is sent. Moved from, it may only be assigned to or destroyed.
class PeerReply {
 public:
  explicit PeerReply(std::shared_ptr<ReplyChannel> channel);
  PeerReply(PeerReply&& other) noexcept;
  PeerReply& operator=(PeerReply&& other) noexcept;
  ~PeerReply();
  // error: 0, or an errno; then the payload is a text for people, of at most kMaxErrorText bytes. What the
  // socket doesn't take at once is copied. Where kMaxBuffered of answers wait already, a large payload waits
  // here until slow peers have taken theirs or are disconnected, so hold no lock that the handler takes;
  // inside the handler, which must not wait, it becomes ENOBUFS. More than kMaxPayload becomes EMSGSIZE.
  void send(int error, std::span<const std::byte> payload);
  // Without an error, and without a copy.
  void send(std::vector<std::byte> payload);

 private:
  std::shared_ptr<ReplyChannel> channel_;
};

// Without a payload, or the error with its text.
void send_status(PeerReply& reply, const Status& status);

class PeerServer {
 public:
  // Called on the server's only thread; must not block. What it throws becomes the answer EIO. The payload is
  // the handler's until it returns.
  using Handler = std::function<void(uint32_t kind, std::span<const std::byte> payload, PeerReply reply)>;

  // "" chooses the address (peer/interface.h); else an interface, an address or a network.
  // Errors: invalid, where none of this host's fits; system errors of sockets and threads.
  static Result<std::unique_ptr<PeerServer>> start(const std::string& interface_or_address,
                                                   const PeerToken& token, Handler handler,
                                                   size_t most_connections = kMaxConnections);
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;
  ~PeerServer();  // closes all connections and joins the thread
  PeerAddress address() const;

 private:
  class Impl;
  explicit PeerServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pmio
