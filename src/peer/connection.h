// Asks another node's server. No call waits for ever for a host that is gone or a process that is stopped; it
// does wait for an answer, as long as it takes, from one that says now and then that it is working on it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "peer/address.h"

namespace pmio {

class Exchange;

using PeerAnswer = Result<std::vector<std::byte>>;

// Connects at the first call, and at the next one after a failure. One call at a time; others wait for their
// turn.
//
// A call fails with an errno and a message that names the peer. The request may have been carried out all the
// same.
//   ECONNREFUSED, EHOSTUNREACH, ...  it cannot be reached
//   ECONNRESET                       it went away, or disconnected us for being too slow (peer/server.h)
//   ETIMEDOUT                        nothing was heard of its host for dead_after; or it took neither our
//   connection nor
//                                    more of our request for so long; or its process said nothing for
//                                    silent_after, of seconds in which this one was running
//   EACCES, EPROTO                   one of the sides has not the job's token; the peer talks nonsense
//   EMSGSIZE                         the payload is larger than kMaxPayload; nothing was sent
//   any other                        the peer's answer, with its text if it gave one
class PeerConnection {
 public:
  PeerConnection(const PeerAddress& address, const PeerToken& token, uint32_t my_node,
                 std::chrono::milliseconds dead_after = std::chrono::seconds(30),
                 std::chrono::seconds silent_after = std::chrono::minutes(5));
  PeerConnection(const PeerConnection&) = delete;
  PeerConnection& operator=(const PeerConnection&) = delete;
  ~PeerConnection();

  PeerAnswer call(uint32_t kind, std::span<const std::byte> payload);

 private:
  friend std::vector<PeerAnswer> call_all(std::span<PeerConnection* const> peers, uint32_t kind,
                                          std::span<const std::span<const std::byte>> payloads);
  std::unique_ptr<Exchange> exchange_;
};

// Sends a request to each of several different peers at once and waits for all; answers in their order.
// payloads: one per peer, or a single one for all.
std::vector<PeerAnswer> call_all(std::span<PeerConnection* const> peers, uint32_t kind,
                                 std::span<const std::span<const std::byte>> payloads);

}  // namespace pmio
