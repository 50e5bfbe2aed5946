// The ranks of a file that are all on one node as collective buffering sees them (twophase/collective.h):
// what they exchange goes through shared memory, and they agree on that by the file's Team. They send no
// messages, and need no communicator. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "mpi/team.h"
#include "twophase/collective.h"

namespace pmio {

class NodeCollective final : public Collective {
 public:
  // The team must outlive it. name: for the shared memory, the same on all ranks, and no other open file's.
  NodeCollective(uint32_t rank, uint32_t ranks, const Team& team, std::string name)
      : Collective({rank, std::vector<uint32_t>(ranks)}), team_(team), name_(std::move(name)) {}

  Result<std::shared_ptr<std::byte>> share(uint64_t bytes) override;
  Message send(uint32_t to, uint32_t channel, std::span<const std::byte> bytes) override;
  Message receive(uint32_t from, uint32_t channel, std::span<std::byte> room) override;
  State test(Message message, uint64_t* bytes) override;
  void progress() override { team_.progress(); }

 private:
  const Team& team_;
  const std::string name_;
  uint64_t shared_ = 0;  // calls of share
};

}  // namespace pmio
