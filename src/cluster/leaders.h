// The connections of one process to the leaders of all nodes. Threads: any; a question to a leader waits
// until the one before it has been answered.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cluster/message.h"
#include "peer/connection.h"

namespace pmio {

constexpr uint32_t kCoordinator = 0;  // the node whose leader it is

class Leaders {
 public:
  // By node.
  Leaders(std::span<const PeerAddress> leaders, const PeerToken& token, uint32_t my_node)
      : Leaders(std::vector<Peer>(leaders.begin(), leaders.end()), token, my_node) {}
  // Other connections to the same leaders, for questions that must not wait for these.
  std::unique_ptr<Leaders> more() const;
  uint32_t count() const { return static_cast<uint32_t>(connections_.size()); }
  // A request whose answer was lost is sent again where that does no harm (may_repeat): a leader disconnects
  // who takes its answers too slowly (peer/server.h), as one does that was stopped meanwhile.
  Result<std::vector<std::byte>> ask(uint32_t node, Request kind, const MessageWriter& message);
  // All of `nodes` at once; the results in the same order. One message for all, or one each.
  std::vector<Result<std::vector<std::byte>>> ask_all(std::span<const uint32_t> nodes, Request kind,
                                                      std::span<const MessageWriter> messages);
  // All of `nodes` at once, until each has answered in full (NextPart, message.h). question: for what is
  // `from` there on; take: what came.
  using Question = std::function<MessageWriter(NextPart from)>;
  using Take = std::function<Status(uint32_t node, std::vector<std::byte> answer)>;
  Status ask_in_parts(std::span<const uint32_t> nodes, Request kind, const Question& question,
                      const Take& take);
  // Whether a new connection to it is answered within a few seconds.
  Status reach(uint32_t node) const;
  std::span<const uint32_t> all() const { return all_; }
  std::span<const uint32_t> others() const { return others_; }

 private:
  void repeat(uint32_t node, Request kind, const MessageWriter& message,
              Result<std::vector<std::byte>>* answer);
  Leaders(std::vector<Peer> leaders, const PeerToken& token, uint32_t my_node);
  const std::vector<Peer> leaders_;
  const PeerToken token_;
  const uint32_t my_node_;
  std::vector<std::unique_ptr<PeerConnection>> connections_;
  std::vector<uint32_t> all_, others_;
};

}  // namespace pmio
