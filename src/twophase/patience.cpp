#include "twophase/patience.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace pmio {
namespace {

static_assert(sizeof(Bell) == sizeof(uint32_t) && Bell::is_always_lock_free, "the kernel looks at it");

}  // namespace

// Both sides write the bell: the one that comes later sees what the other one has stored before.
void ring(Bell& bell) {
  constexpr int kWaiters = 1;
  if (bell.exchange(0, std::memory_order_acq_rel) != 0)
    syscall(SYS_futex, &bell, FUTEX_WAKE, kWaiters, nullptr, nullptr, 0);
}

void lie_down(Bell& bell) { bell.exchange(1, std::memory_order_acq_rel); }

void sleep_on(Bell& bell, uint64_t most_ns) {
  const timespec most{0, static_cast<long>(most_ns)};
  syscall(SYS_futex, &bell, FUTEX_WAIT, 1, &most, nullptr, 0);
}

void get_up(Bell& bell) { bell.store(0, std::memory_order_relaxed); }

}  // namespace pmio
