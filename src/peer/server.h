// Answers the requests of other nodes, on one thread and one address, if they show the job's token.
//
// No peer can hold up another. Sockets never block the thread, and a hello must come within kHelloSeconds.
// While a frame is on its way, in either direction, seconds with less than kSlowBytes may not outnumber the
// others by more than kFrameSeconds. A slower peer is disconnected. Seconds in which this process was stopped
// do not count.
//
// Memory: requests larger than kSmallPayload take kMaxBuffered together, until they are answered (and a
// second more). Such answers take as much, and each connection two kSmallPayload. If there are
// most_connections, new ones wait in the kernel's queues.
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

constexpr size_t kMaxConnections = 4096;  // if the caller knows no better
constexpr size_t kSmallPayload = size_t{16} << 10;
constexpr size_t kMaxBuffered = size_t{256} << 20;
constexpr unsigned kHelloSeconds = 5;
constexpr unsigned kFrameSeconds = 10;
constexpr size_t kSlowBytes = size_t{64} << 10;

class ReplyChannel;

// Answers one request once, on any thread and at any later time. If the server has gone, it does nothing. A
// reply that is destroyed without an answer sends EIO. One that was moved from may only be assigned to or
// destroyed.
class PeerReply {
 public:
  explicit PeerReply(std::shared_ptr<ReplyChannel> channel);
  PeerReply(PeerReply&& other) noexcept;
  PeerReply& operator=(PeerReply&& other) noexcept;
  ~PeerReply();
  // error: 0, or an errno; with an errno the payload is a text for people, of at most kMaxErrorText bytes.
  // What the socket does not take at once is copied. If kMaxBuffered of answers wait already, a large payload
  // waits here until slow peers have taken theirs or are disconnected. So hold no lock that the handler
  // takes. Inside the handler, which must not wait, it becomes ENOBUFS. More than kMaxPayload becomes
  // EMSGSIZE.
  void send(int error, std::span<const std::byte> payload);
  // Sends without an error, and without a copy.
  void send(std::vector<std::byte> payload);

 private:
  std::shared_ptr<ReplyChannel> channel_;
};

// Sends success without a payload, or the error with its text.
void send_status(PeerReply& reply, const Status& status);

class PeerServer {
 public:
  // Called on the server's only thread, and must not block. What it throws becomes the answer EIO. The
  // payload is valid until the handler returns.
  using Handler = std::function<void(uint32_t kind, std::span<const std::byte> payload, PeerReply reply)>;

  // interface_or_address: an interface, an address or a network; "" chooses the address (peer/interface.h).
  // Errors: invalid: no address of this host fits; system errors of sockets and threads.
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
