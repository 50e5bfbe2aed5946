// The ranks that do collective buffering together, and what they exchange: messages between nodes, and memory
// that the ranks of a node share. src/mpi has one over MPI, the tests have one of threads.
//
// Everything else is made of these by the engine: barriers, sums and counters of a node are in its shared
// memory, and only few ranks of a node send messages. A rank that waits for others in shared memory calls
// progress() meanwhile. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"

namespace pmio {

// Who is where. The same on all ranks.
struct Members {
  uint32_t rank = 0;                // this one's
  std::vector<uint32_t> node_of{};  // of each rank; nodes are numbered from 0 without a gap
  uint32_t ranks() const { return static_cast<uint32_t>(node_of.size()); }
};

class Collective {
 public:
  explicit Collective(Members members) : members_(std::move(members)) {}
  virtual ~Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  const Members& members() const { return members_; }

  // Collective over all ranks: memory of so many bytes for each node, which all ranks of the node map as long
  // as they hold it. Its first `zeroed` bytes are 0, the others may be anything. Both sizes may differ from
  // node to node, and are the same on all ranks of one. It begins at a multiple of 4096. If it cannot be had
  // on some rank, there is an error on all of them.
  virtual Result<std::shared_ptr<std::byte>> share(uint64_t bytes, uint64_t zeroed) = 0;

  // Messages, on one of two channels. Those of one rank to another on the same channel arrive in the order in
  // which they were sent: the receives of a pair of ranks take them in the order in which they were begun. A
  // message is never longer than its receive, nor than kMostMessageBytes. The engine has at most some dozens
  // begun at a time. The bytes stay untouched until test() has said that the message is done.
  static constexpr uint64_t kMostMessageBytes = uint64_t{1} << 30;
  static constexpr uint32_t kChannels = 2;
  using Message = uint32_t;
  virtual Message send(uint32_t to, uint32_t channel, std::span<const std::byte> bytes) = 0;
  virtual Message receive(uint32_t from, uint32_t channel, std::span<std::byte> room) = 0;
  // Whether it is done, without waiting. Then the number means nothing any more, and may be given to the next
  // message. *bytes, of a receive: how many have come. lost: it will never be done, because a rank has died;
  // counts as done.
  enum class State { pending, done, lost };
  virtual State test(Message message, uint64_t* bytes) = 0;

  // What the MPI library has to do for calls that the program has begun before: other ranks may wait for
  // these, and not come to this call before. Waits for nothing. Called again and again by a rank that waits.
  virtual void progress() = 0;

 private:
  const Members members_;
};

}  // namespace pmio
