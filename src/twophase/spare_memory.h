// Memory that ranks have shared for a file that is closed, kept for the next file of the same ranks: the
// kernel zeroes new memory at its first use, which takes a millisecond for what one file's ranks share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/mutex.h"

namespace pmio {

// Threads: any.
class SpareMemory {
 public:
  struct Kind {
    uint32_t ranks;  // that share it
    uint64_t bytes;
    bool operator==(const Kind&) const = default;
  };
  static constexpr int64_t kNone = -1;
  static constexpr size_t kMostKept = 2;  // the oldest is given back

  static SpareMemory& of_process();

  // Which shares this memory then, so that it comes here when nobody of this process holds it any more.
  // number: the same on all ranks that share it, and no other memory's; at least 0.
  std::shared_ptr<std::byte> returning(int64_t number, const Kind& kind, std::shared_ptr<std::byte> memory);
  // The number of what has come last; kNone: there is nothing of that kind.
  int64_t newest(const Kind& kind) const;
  // Null: it is not here. It returns as before.
  std::shared_ptr<std::byte> take(int64_t number, const Kind& kind);

 private:
  struct Spare {
    int64_t number = kNone;
    Kind kind{};
    std::shared_ptr<std::byte> memory;  // null: nothing is kept here
  };
  void keep(Spare spare) noexcept;

  mutable Mutex mutex_;
  std::array<Spare, kMostKept> spares_ PMIO_GUARDED_BY(mutex_);  // the newest first
};

}  // namespace pmio
