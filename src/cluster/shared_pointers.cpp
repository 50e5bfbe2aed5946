#include "cluster/shared_pointers.h"

namespace pmio {

SharedPointers::Slot& SharedPointers::slot(uint64_t handle, uint64_t epoch, int64_t initial) {
  auto& slots = handles_[handle];
  Slot& slot = slots[epoch % slots.size()];
  if (slot.epoch_plus_1 < epoch + 1) slot = {epoch + 1, initial};
  return slot;
}

int64_t SharedPointers::fetch_add(uint64_t handle, uint64_t epoch, int64_t initial, int64_t by) {
  std::lock_guard lock(mutex_);
  Slot& current = slot(handle, epoch, initial);
  const int64_t before = current.value;
  current.value += by;
  return before;
}

void SharedPointers::store(uint64_t handle, uint64_t epoch, int64_t value) {
  std::lock_guard lock(mutex_);
  slot(handle, epoch, value).value = value;
}

}  // namespace pmio
