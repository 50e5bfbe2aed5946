#include "cluster/leaders.h"

namespace pmio {

Leaders::Leaders(std::span<const PeerAddress> addresses, const PeerToken& token, uint32_t my_node) {
  for (const PeerAddress& address : addresses) {
    const auto node = static_cast<uint32_t>(connections_.size());
    connections_.push_back(std::make_unique<PeerConnection>(address, token, my_node));
    all_.push_back(node);
    if (node != my_node) others_.push_back(node);
  }
}

Result<std::vector<std::byte>> Leaders::ask(uint32_t node, Request kind, const MessageWriter& message) {
  return connections_[node]->call(static_cast<uint32_t>(kind), message.bytes());
}

std::vector<Result<std::vector<std::byte>>> Leaders::ask_all(std::span<const uint32_t> nodes, Request kind,
                                                             std::span<const MessageWriter> messages) {
  std::vector<PeerConnection*> peers;
  peers.reserve(nodes.size());
  for (const uint32_t node : nodes) peers.push_back(connections_[node].get());
  std::vector<std::span<const std::byte>> payloads;
  payloads.reserve(messages.size());
  for (const MessageWriter& message : messages) payloads.push_back(message.bytes());
  return call_all(peers, static_cast<uint32_t>(kind), payloads);
}

}  // namespace pmio
