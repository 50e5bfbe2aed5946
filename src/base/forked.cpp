#include "base/forked.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/atomic_max.h"

namespace pmio {
namespace {

constexpr int kBits = 64;
constexpr int kMostDescriptors =
    1 << 20;  // as many descriptors as a process has where nobody has changed fs.nr_open

// A set by number, because a handler of fork can neither lock nor allocate. Pages that nobody uses take no
// memory.
std::array<std::atomic<uint64_t>, kMostDescriptors / kBits> kept_descriptors;
std::atomic<uint64_t> words{0};  // so many words of `kept_descriptors` have ever had a descriptor
void (*then)() = nullptr;

bool fits(int fd) { return fd >= 0 && fd < kMostDescriptors; }
uint64_t bit(int fd) { return uint64_t{1} << (fd % kBits); }

void close_in_child() {
  for (uint64_t word = 0; word < words.load(std::memory_order_relaxed); word++) {
    for (uint64_t bits = kept_descriptors[word].exchange(0, std::memory_order_relaxed); bits != 0;
         bits &= bits - 1)
      close(static_cast<int>(word * kBits) + std::countr_zero(bits));
  }
  then();
}

}  // namespace

void keep_from_children(int fd) {
  if (!fits(fd)) return;
  kept_descriptors[static_cast<size_t>(fd / kBits)].fetch_or(bit(fd), std::memory_order_relaxed);
  raise_to(words, static_cast<uint64_t>(fd / kBits) + 1);
}

void forget_descriptor(int fd) {
  if (fits(fd))
    kept_descriptors[static_cast<size_t>(fd / kBits)].fetch_and(~bit(fd), std::memory_order_relaxed);
}

void watch_forks(void (*in_child)()) {
  if (then != nullptr) return;
  then = in_child;
  pthread_atfork(nullptr, nullptr, &close_in_child);
}

}  // namespace pmio
