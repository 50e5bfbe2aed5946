#include "mpi/node_collective.h"

#include "mpi/shared_memory.h"

namespace pmio {

Result<std::shared_ptr<std::byte>> NodeCollective::share(uint64_t bytes) {
  const std::string name = "pmio-gather-" + name_ + "-" + std::to_string(shared_++);
  MemoryPlace place;
  bool all = false;
  Shared memory = share_in(
      place, name, bytes, members().rank == 0, [this] { return team_.largest({}); },
      [this](bool here) { return team_.all(here); }, &all);
  if (!all && memory.ok()) return Status(Code::io, "a rank of the file cannot have the shared memory");
  return memory;
}

// There is no other node.
Collective::Message NodeCollective::send(uint32_t, uint32_t, std::span<const std::byte>) { return 0; }
Collective::Message NodeCollective::receive(uint32_t, uint32_t, std::span<std::byte>) { return 0; }
Collective::State NodeCollective::test(Message, uint64_t*) { return State::lost; }

}  // namespace pmio
