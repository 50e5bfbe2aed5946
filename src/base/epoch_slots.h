// A value for each of the last few epochs. The first call with a new epoch starts that epoch's value, which
// takes the place of the one kEpochs before. All zeros is a valid state without values: so the slots may lie
// in memory that is shared through a file. Threads: under the owner's lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pmio {

class EpochSlots {
 public:
  // Adds `by` to the epoch's value, which starts as `initial`; returns the value before.
  int64_t fetch_add(uint64_t epoch, int64_t initial, int64_t by) {
    int64_t& value = value_of(epoch, initial);
    const int64_t before = value;
    value += by;
    return before;
  }
  void store(uint64_t epoch, int64_t value) { value_of(epoch, value) = value; }

 private:
  static constexpr size_t kEpochs = 4;
  struct Slot {
    uint64_t epoch_plus_1 = 0;  // 0: never used
    int64_t value = 0;
  };

  int64_t& value_of(uint64_t epoch, int64_t initial) {
    Slot& slot = slots_[epoch % kEpochs];
    if (slot.epoch_plus_1 < epoch + 1) slot = {epoch + 1, initial};
    return slot.value;
  }

  Slot slots_[kEpochs];
};

}  // namespace pmio
