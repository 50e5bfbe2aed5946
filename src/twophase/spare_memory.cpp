#include "twophase/spare_memory.h"

#include <algorithm>
#include <utility>

namespace pmio {

// Never destroyed: a file may be closed as late as the program ends.
SpareMemory& SpareMemory::of_process() {
  static SpareMemory* const spares = new SpareMemory;
  return *spares;
}

std::shared_ptr<std::byte> SpareMemory::returning(int64_t number, const Kind& kind,
                                                  std::shared_ptr<std::byte> memory) {
  std::byte* const bytes = memory.get();
  return {bytes, [this, spare = Spare{number, kind, std::move(memory)}](std::byte*) { keep(spare); }};
}

void SpareMemory::keep(Spare spare) noexcept {
  const LockGuard lock(mutex_);
  std::rotate(spares_.begin(), spares_.end() - 1, spares_.end());
  spares_.front() = std::move(spare);
}

int64_t SpareMemory::newest(const Kind& kind) const {
  const LockGuard lock(mutex_);
  for (const Spare& spare : spares_)
    if (spare.memory != nullptr && spare.kind == kind) return spare.number;
  return kNone;
}

std::shared_ptr<std::byte> SpareMemory::take(int64_t number, const Kind& kind) {
  const LockGuard lock(mutex_);
  for (Spare& spare : spares_)
    if (spare.memory != nullptr && spare.number == number && spare.kind == kind)
      return returning(number, kind, std::exchange(spare.memory, nullptr));
  return nullptr;
}

}  // namespace pmio
