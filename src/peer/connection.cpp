#include "peer/connection.h"

#include <algorithm>
#include <functional>

#include "peer/exchange.h"

namespace pmio {

PeerConnection::PeerConnection(const Peer& peer, const PeerToken& token, uint32_t my_node,
                               std::chrono::milliseconds dead_after, std::chrono::seconds silent_after)
    : exchange_(std::make_unique<Exchange>(peer, token, my_node, dead_after, silent_after)) {}
PeerConnection::~PeerConnection() = default;

PeerAnswer PeerConnection::call(uint32_t kind, std::span<const std::byte> payload) {
  Exchange* exchange = exchange_.get();
  exchange->acquire();
  exchange->begin(kind, payload);
  run({&exchange, 1});
  PeerAnswer answer = exchange->take_answer();
  exchange->release();
  return answer;
}

std::vector<PeerAnswer> call_all(std::span<PeerConnection* const> peers, uint32_t kind,
                                 std::span<const std::span<const std::byte>> payloads) {
  PMIO_ASSERT(payloads.size() == 1 || payloads.size() == peers.size());
  std::vector<Exchange*> exchanges;
  exchanges.reserve(peers.size());
  for (PeerConnection* peer : peers) exchanges.push_back(peer->exchange_.get());
  // Acquired in one order everywhere: two calls that share peers must not wait for each other.
  auto sorted = exchanges;
  std::sort(sorted.begin(), sorted.end(), std::less<>());
  PMIO_ASSERT(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  for (Exchange* each : sorted) each->acquire();
  for (size_t i = 0; i < exchanges.size(); i++)
    exchanges[i]->begin(kind, payloads[payloads.size() == 1 ? 0 : i]);
  run(exchanges);
  std::vector<PeerAnswer> answers;
  answers.reserve(exchanges.size());
  for (Exchange* each : exchanges) {
    answers.push_back(each->take_answer());
    each->release();
  }
  return answers;
}

}  // namespace pmio
