// When somebody who may write a file of several nodes was last at it. A job's processes say so in the job's
// file `alive`, a recovery in `seen-<key>`. Recovery compares this with the file's time, and so notices that
// somebody else has changed the file since. A mark (target_mark.h) cannot tell that here, because other nodes
// change the file at any time. docs/format.md has the bytes. Threads: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace pmio {

// Every process of a job holds a shared flock on this file.
constexpr const char* kAlive = "alive";

// How often they say so, and by how much the file may be younger than what they have said last. The margin
// covers the time until the next say, what a node's crash loses of its page cache, and clocks that differ.
constexpr uint64_t kSeenEveryNs = 20'000'000'000;
constexpr uint64_t kSeenMarginNs = 120'000'000'000;

using LastSeen = std::array<uint64_t, 3>;  // as it is stored

// realtime_ns: since 1970.
LastSeen last_seen(uint64_t realtime_ns);
// nullopt: nothing was said, or it is torn.
std::optional<uint64_t> parse_last_seen(std::span<const std::byte> bytes);

// Writes the current time to the beginning of a file. False: it could not.
bool note_seen(int fd);

}  // namespace pmio
