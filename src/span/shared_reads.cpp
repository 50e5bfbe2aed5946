#include "span/shared_reads.h"

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "base/copy.h"
#include "span/fresh_reader.h"

namespace pmio {

struct alignas(64) SharedReads::Stretch {
  RobustMutex mutex;  // robust; guards what follows, but for the loads of atomic ones
  std::atomic<uint64_t>
      number;  // its first byte / kStretchBytes, and 1; 0: none. Changes with `taking` held, too
  std::atomic<uint64_t> used_ns;
  std::atomic<uint64_t> read_ns;  // when that began; 0: nothing is there. The last to be stored
  Epoch epoch;
  uint64_t bytes;
};

struct SharedReads::Table {
  std::atomic<uint64_t> number;
  uint32_t count;
  RobustMutex taking;  // robust. Before the mutex of a stretch, or by try_lock
  Stretch stretches[];
};

static size_t head_bytes(size_t table, size_t stretch, uint32_t count) {
  return (table + stretch * count + kFetchUnit - 1) / kFetchUnit * kFetchUnit;
}

size_t SharedReads::memory_bytes(uint32_t stretches) {
  return head_bytes(sizeof(Table), sizeof(Stretch), stretches) + stretches * kStretchBytes;
}

void SharedReads::init(std::byte* memory, uint32_t stretches, uint64_t number) {
  auto& table = *reinterpret_cast<Table*>(memory);
  table.count = stretches;
  table.taking.init();
  for (uint32_t i = 0; i < stretches; i++) table.stretches[i].mutex.init();
  table.number.store(number, std::memory_order_release);
}

std::optional<SharedReads> SharedReads::attach(std::byte* memory, size_t bytes, uint64_t number) {
  const auto& table = *reinterpret_cast<const Table*>(memory);
  if (bytes < sizeof table || table.number.load(std::memory_order_acquire) != number ||
      bytes < memory_bytes(table.count))
    return {};
  return SharedReads(memory);
}

SharedReads::Table& SharedReads::table() const { return *reinterpret_cast<Table*>(memory_); }

std::byte* SharedReads::bytes_of(const Stretch& stretch) const {
  const Table& all = table();
  return memory_ + head_bytes(sizeof(Table), sizeof(Stretch), all.count) +
         static_cast<size_t>(&stretch - all.stretches) * kStretchBytes;
}

SharedReads::Stretch* SharedReads::find(uint64_t number) const {
  Table& all = table();
  if (all.stretches[last_].number.load(std::memory_order_relaxed) == number + 1) return &all.stretches[last_];
  for (uint32_t i = 0; i < all.count; i++)
    if (all.stretches[i].number.load(std::memory_order_relaxed) == number + 1) return &all.stretches[i];
  return nullptr;
}

SharedReads::Stretch* SharedReads::hold(uint64_t number, std::optional<RobustLock>* lock) {
  for (;;) {
    Stretch* found = find(number);
    if (found == nullptr) return take(number, lock);
    lock->emplace(found->mutex);
    if (found->number.load(std::memory_order_relaxed) == number + 1) return found;
    lock->reset();  // taken for another one meanwhile
  }
}

// The one that has not been used for the longest time.
SharedReads::Stretch* SharedReads::take(uint64_t number, std::optional<RobustLock>* lock) {
  Table& all = table();
  std::optional<RobustLock> taking(std::in_place, all.taking);
  if (find(number) != nullptr) {  // by another rank, just now
    taking.reset();
    return hold(number, lock);
  }
  Stretch* oldest = nullptr;
  for (uint32_t i = 0; i < all.count; i++) {
    Stretch& stretch = all.stretches[i];
    if (oldest != nullptr &&
        stretch.used_ns.load(std::memory_order_relaxed) >= oldest->used_ns.load(std::memory_order_relaxed))
      continue;
    std::optional<RobustLock> mine(std::in_place, stretch.mutex, std::try_to_lock);
    if (mine->held()) oldest = &stretch;
  }
  if (oldest == nullptr) return nullptr;
  lock->emplace(oldest->mutex, std::try_to_lock);
  if (!(*lock)->held()) {
    lock->reset();
    return nullptr;
  }
  oldest->read_ns.store(0, std::memory_order_relaxed);
  oldest->number.store(number + 1, std::memory_order_release);
  return oldest;
}

bool SharedReads::serves(const Stretch& stretch, const Reader& reader) {
  const uint64_t read_ns = stretch.read_ns.load(std::memory_order_relaxed);
  return read_ns != 0 && stretch.epoch == reader.epoch && read_ns >= reader.since_ns &&
         monotonic_ns() - read_ns <= kMostAgeNs;
}

Status SharedReads::fill(Stretch& stretch, uint64_t number, const Reader& reader, const Fetch& fetch) {
  stretch.read_ns.store(0, std::memory_order_relaxed);
  const uint64_t begin_ns = monotonic_ns();
  std::atomic_signal_fence(std::memory_order_seq_cst);  // whoever is killed in between has left it empty
  PMIO_TRY(fetch(number * kStretchBytes, bytes_of(stretch), kStretchBytes, &stretch.bytes));
  stretch.epoch = reader.epoch;
  stretch.read_ns.store(begin_ns, std::memory_order_release);
  return {};
}

Status SharedReads::read(const Reader& reader, uint64_t offset, std::byte* to, uint64_t bytes,
                         const Fetch& fetch, uint64_t* got, uint32_t* fetches) {
  *fetches = 0;
  for (*got = 0; *got < bytes;) {
    const uint64_t number = (offset + *got) / kStretchBytes, begin = (offset + *got) % kStretchBytes;
    std::optional<RobustLock> lock;
    Stretch* stretch = hold(number, &lock);
    if (stretch == nullptr) return {};
    last_ = static_cast<size_t>(stretch - table().stretches);
    if (!serves(*stretch, reader)) {
      ++*fetches;
      PMIO_TRY(fill(*stretch, number, reader, fetch));
    }
    const uint64_t wanted = std::min(bytes - *got, kStretchBytes - begin);
    const uint64_t n = std::min(wanted, stretch->bytes - std::min(begin, stretch->bytes));
    copy_bytes(to + *got, bytes_of(*stretch) + begin, n);
    stretch->used_ns.store(monotonic_ns(), std::memory_order_relaxed);
    *got += n;
    if (n < wanted) return {};
  }
  return {};
}

}  // namespace pmio
