// The ranks of a file that are all on one node as collective buffering sees them (twophase/collective.h):
// what they exchange goes through shared memory, and they agree on that by the file's Team. They send no
// messages, and need no communicator. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "mpi/team.h"
#include "twophase/collective.h"
#include "twophase/spare_memory.h"

namespace pmio {

class NodeCollective final : public Collective {
 public:
  // The team must outlive it. number: the file's, the same on all ranks, and no other's in the job. It and
  // the job's name are the shared memory's.
  NodeCollective(uint32_t rank, uint32_t ranks, const Team& team, std::string job, int64_t number)
      : Collective({rank, std::vector<uint32_t>(ranks)}),
        team_(team),
        job_(std::move(job)),
        number_(number) {}

  Result<std::shared_ptr<std::byte>> share(uint64_t bytes, uint64_t zeroed) override;
  Message send(uint32_t to, uint32_t channel, std::span<const std::byte> bytes) override;
  Message receive(uint32_t from, uint32_t channel, std::span<std::byte> room) override;
  State test(Message message, uint64_t* bytes) override;
  void progress() override { team_.progress(); }

 private:
  // What the same ranks have shared for another file, which is closed. Null: there is none.
  std::shared_ptr<std::byte> shared_before(uint64_t bytes, uint64_t zeroed);
  SpareMemory::Kind kind(uint64_t bytes) const { return {members().ranks(), bytes}; }

  const Team& team_;
  const std::string job_;
  const int64_t number_;
};

}  // namespace pmio
