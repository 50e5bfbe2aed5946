#include "mpi/node_collective.h"

#include <cstring>

#include "mpi/shared_memory.h"

namespace pmio {

// The first rank says which. As many ranks have it as share it now, and all of these have it: they are the
// same.
std::shared_ptr<std::byte> NodeCollective::shared_before(uint64_t bytes, uint64_t zeroed) {
  SpareMemory& spares = SpareMemory::of_process();
  const bool first = members().rank == 0;
  const int64_t number = team_.from(0, first ? spares.newest(kind(bytes)) : SpareMemory::kNone);
  if (number == SpareMemory::kNone) return nullptr;
  std::shared_ptr<std::byte> memory = spares.take(number, kind(bytes));
  if (!team_.all(memory != nullptr)) return nullptr;
  if (first) std::memset(memory.get(), 0, zeroed);
  team_.barrier();
  return memory;
}

Result<std::shared_ptr<std::byte>> NodeCollective::share(uint64_t bytes, uint64_t zeroed) {
  if (auto memory = shared_before(bytes, zeroed)) return memory;
  const std::string name = "pmio-gather-" + job_ + "-" + std::to_string(number_);
  MemoryPlace place;
  bool all = false;
  Shared memory = share_in(
      place, name, bytes, members().rank == 0, [this] { return team_.largest({}); },
      [this](bool here) { return team_.all(here); }, &all);
  if (!memory.ok()) return memory;
  if (!all) return Status(Code::io, "a rank of the file cannot have the shared memory");
  return SpareMemory::of_process().returning(number_, kind(bytes), std::move(memory).value());
}

// There is no other node.
Collective::Message NodeCollective::send(uint32_t, uint32_t, std::span<const std::byte>) { return 0; }
Collective::Message NodeCollective::receive(uint32_t, uint32_t, std::span<std::byte>) { return 0; }
Collective::State NodeCollective::test(Message, uint64_t*) { return State::lost; }

}  // namespace pmio
