#include "log/last_seen.h"

#include <unistd.h>

#include <cstring>

#include "base/clock.h"

namespace pmio {

constexpr uint64_t kMagic = 0x4e4545534f494d50;  // "PMIOSEEN"

LastSeen last_seen(uint64_t realtime_ns) { return {kMagic, realtime_ns, ~realtime_ns}; }

std::optional<uint64_t> parse_last_seen(std::span<const std::byte> bytes) {
  LastSeen stored;
  if (bytes.size() < sizeof stored) return {};
  std::memcpy(stored.data(), bytes.data(), sizeof stored);
  return stored == last_seen(stored[1]) ? std::optional(stored[1]) : std::nullopt;
}

bool note_seen(int fd) {
  const LastSeen now = last_seen(realtime_ns());
  return pwrite(fd, now.data(), sizeof now, 0) == static_cast<ssize_t>(sizeof now);
}

}  // namespace pmio
