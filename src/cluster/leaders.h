// The connections of one process to the leaders of all nodes. Threads: any; a question to a leader waits for
// the answer to the question before it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cluster/message.h"
#include "peer/connection.h"

namespace pmio {

constexpr uint32_t kCoordinator = 0;  // the node whose leader is the coordinator

class Leaders {
 public:
  // leaders: by node.
  Leaders(std::span<const PeerAddress> leaders, const PeerToken& token, uint32_t my_node)
      : Leaders(std::vector<Peer>(leaders.begin(), leaders.end()), token, my_node) {}
  // New connections to the same leaders, for questions that must not wait for those on these connections.
  std::unique_ptr<Leaders> more() const;
  uint32_t count() const { return static_cast<uint32_t>(connections_.size()); }
  // Sends a request again if its answer was lost and that does no harm (may_repeat). A leader disconnects
  // peers that take their answers too slowly (peer/server.h), for example one that was stopped meanwhile.
  Result<std::vector<std::byte>> ask(uint32_t node, Request kind, const MessageWriter& message);
  // Asks all of `nodes` at once; the results are in the same order. There is one message for all, or one
  // each.
  std::vector<Result<std::vector<std::byte>>> ask_all(std::span<const uint32_t> nodes, Request kind,
                                                      std::span<const MessageWriter> messages);
  // Asks all of `nodes` at once, until each has answered in full (NextPart, message.h). `question` makes the
  // question for what is `from` there on, and `take` gets what came.
  using Question = std::function<MessageWriter(NextPart from)>;
  using Take = std::function<Status(uint32_t node, std::vector<std::byte> answer)>;
  Status ask_in_parts(std::span<const uint32_t> nodes, Request kind, const Question& question,
                      const Take& take);
  // Ok if that leader answers on a new connection within a few seconds.
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
