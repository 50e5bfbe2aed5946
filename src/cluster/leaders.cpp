#include "cluster/leaders.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "peer/server.h"

namespace pmio {

// Whoever takes so long for nothing is given up like one that says nothing.
constexpr unsigned kMostLost = 300 / kFrameSeconds;

Leaders::Leaders(std::vector<Peer> leaders, const PeerToken& token, uint32_t my_node)
    : leaders_(std::move(leaders)), token_(token), my_node_(my_node) {
  for (const Peer& leader : leaders_) {
    const auto node = static_cast<uint32_t>(connections_.size());
    connections_.push_back(std::make_unique<PeerConnection>(leader, token, my_node));
    all_.push_back(node);
    if (node != my_node) others_.push_back(node);
  }
}

std::unique_ptr<Leaders> Leaders::more() const {
  return std::unique_ptr<Leaders>(new Leaders(leaders_, token_, my_node_));
}

Status Leaders::reach(uint32_t node) const {
  constexpr std::chrono::seconds kPatience(10);
  PeerConnection connection(leaders_[node], token_, my_node_, kPatience);
  return connection.call(static_cast<uint32_t>(Request::alive), {}).status();
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

Status Leaders::ask_in_parts(std::span<const uint32_t> nodes, Request kind, bool may_repeat,
                             const Question& question, const Take& take) {
  struct Open {
    NextPart from;
    unsigned lost;  // answers to that
  };
  std::vector<uint32_t> asked(nodes.begin(), nodes.end());
  std::vector<Open> open(asked.size(), {0, 0});
  while (!asked.empty()) {
    std::vector<MessageWriter> questions;
    for (const Open& one : open) questions.push_back(question(one.from));
    auto answers = ask_all(asked, kind, questions);
    size_t left = 0;
    for (size_t i = 0; i < answers.size(); i++) {
      Open one = open[i];
      if (answers[i].ok()) {
        NextPart next = 0;
        if (!MessageReader(answers[i].value()).get(&next) || (next != 0 && next <= one.from))
          return nonsense();
        PMIO_TRY(take(asked[i], std::move(answers[i]).value()));
        if (next == 0) continue;
        one = {next, 0};
      } else if (!may_repeat || answers[i].status().system_errno() != ECONNRESET || ++one.lost >= kMostLost) {
        return answers[i].status();
      }
      asked[left] = asked[i];
      open[left++] = one;
    }
    asked.resize(left);
    open.resize(left);
  }
  return {};
}

}  // namespace pmio
