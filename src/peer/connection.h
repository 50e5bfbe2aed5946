// Asks another node's server. No call waits for ever for a host that is gone or a process that is stopped. A
// peer that says now and then that it is working on the answer is waited for as long as it takes.
#pragma once

#include <atomic>
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

// Whether a peer was given up a short while ago because it said nothing. Then the next questions need not
// wait for it anew. Threads: any.
class PeerSilence {
 public:
  using Clock = std::chrono::steady_clock;
  void note(Clock::duration how_long) {
    until_.store((Clock::now() + how_long).time_since_epoch().count(), std::memory_order_relaxed);
  }
  void heard() { until_.store(0, std::memory_order_relaxed); }
  bool given_up() const {
    const auto until = until_.load(std::memory_order_relaxed);
    return until != 0 && Clock::now().time_since_epoch().count() < until;
  }

 private:
  std::atomic<Clock::rep> until_{0};
};

// Copies of it are the same peer, and share what is known of its silence.
struct Peer {
  Peer(const PeerAddress& at) : address(at) {}  // NOLINT(google-explicit-constructor): an address is one
  PeerAddress address;
  std::shared_ptr<PeerSilence> silence = std::make_shared<PeerSilence>();
};

// Connects at the first call, and again at the next call after a failure, or if the connection has died while
// nobody asked. There is one call at a time; others wait for their turn. A request is sent once, and again
// only if no more than a part of it has been sent.
//
// A call fails with an errno and a message that names the peer. The request may have been carried out all the
// same.
//   ECONNREFUSED, EHOSTUNREACH, ...  it cannot be reached
//   ECONNRESET                       it went away, or disconnected us for being too slow (peer/server.h)
//   ETIMEDOUT                        one of these:
//                                    - nothing was heard of its host for dead_after
//                                    - for so long it took neither our connection nor more of our request
//                                    - its process said nothing for silent_after, of which only the seconds
//                                      count in which this process was running
//                                    - another call has found that out within the last dead_after
//   EACCES, EPROTO                   one of the sides lacks the job's token; the peer talks nonsense
//   EMSGSIZE                         the payload is larger than kMaxPayload; nothing was sent
//   any other                        the peer's answer, with its text if it gave one
class PeerConnection {
 public:
  PeerConnection(const Peer& peer, const PeerToken& token, uint32_t my_node,
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

// Sends a request to several different peers at once and waits for all. The answers are in the peers' order.
// payloads: one per peer, or a single one for all.
std::vector<PeerAnswer> call_all(std::span<PeerConnection* const> peers, uint32_t kind,
                                 std::span<const std::span<const std::byte>> payloads);

}  // namespace pmio
