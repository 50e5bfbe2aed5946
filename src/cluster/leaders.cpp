#include "cluster/leaders.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "peer/server.h"

namespace pmio {

// A leader that loses so many answers in a row is given up, like one that says nothing.
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

// If the leader is gone, the first error tells more than the refusal of a new connection.
void Leaders::repeat(uint32_t node, Request kind, const MessageWriter& message,
                     Result<std::vector<std::byte>>* answer) {
  for (unsigned lost = 1; lost < kMostLost && answer->status().system_errno() == ECONNRESET; lost++) {
    auto again = connections_[node]->call(static_cast<uint32_t>(kind), message.bytes());
    if (again.status().system_errno() == ECONNREFUSED) return;
    *answer = std::move(again);
  }
}

Result<std::vector<std::byte>> Leaders::ask(uint32_t node, Request kind, const MessageWriter& message) {
  PMIO_ASSERT(node < connections_.size());
  auto answer = connections_[node]->call(static_cast<uint32_t>(kind), message.bytes());
  if (may_repeat(kind)) repeat(node, kind, message, &answer);
  return answer;
}

std::vector<Result<std::vector<std::byte>>> Leaders::ask_all(std::span<const uint32_t> nodes, Request kind,
                                                             std::span<const MessageWriter> messages) {
  std::vector<PeerConnection*> peers;
  peers.reserve(nodes.size());
  for (const uint32_t node : nodes) {
    PMIO_ASSERT(node < connections_.size());
    peers.push_back(connections_[node].get());
  }
  std::vector<std::span<const std::byte>> payloads;
  payloads.reserve(messages.size());
  for (const MessageWriter& message : messages) payloads.push_back(message.bytes());
  auto answers = call_all(peers, static_cast<uint32_t>(kind), payloads);
  if (!may_repeat(kind)) return answers;
  for (size_t i = 0; i < answers.size(); i++)
    repeat(nodes[i], kind, messages[messages.size() == 1 ? 0 : i], &answers[i]);
  return answers;
}

Status Leaders::ask_in_parts(std::span<const uint32_t> nodes, Request kind, const Question& question,
                             const Take& take) {
  std::vector<uint32_t> asked(nodes.begin(), nodes.end());
  std::vector<NextPart> from(asked.size(), 0);
  while (!asked.empty()) {
    std::vector<MessageWriter> questions;
    for (const NextPart part : from) questions.push_back(question(part));
    auto answers = ask_all(asked, kind, questions);
    size_t left = 0;
    for (size_t i = 0; i < answers.size(); i++) {
      if (!answers[i].ok()) return answers[i].status();
      NextPart next = 0;
      if (!MessageReader(answers[i].value()).get(&next) || (next != 0 && next <= from[i])) return nonsense();
      PMIO_TRY(take(asked[i], std::move(answers[i]).value()));
      if (next == 0) continue;
      asked[left] = asked[i];
      from[left++] = next;
    }
    asked.resize(left);
    from.resize(left);
  }
  return {};
}

}  // namespace pmio
