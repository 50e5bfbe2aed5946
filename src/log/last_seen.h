// When somebody who may write a file of several nodes was last at it: in a job's file `alive` the job's
// processes, in `seen-<key>` a recovery. So that recovery notices that somebody else has changed the file
// since: a mark (target_mark.h) cannot tell, for other nodes change the file whenever they like.
// docs/format.md has the bytes. Threads: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace pmio {

// Every process of a job holds a shared flock on it.
constexpr const char* kAlive = "alive";

// How often they say so, and by how much the file may be younger than what they have said last: for the time
// until the next, what a node's crash loses of its page cache, and clocks that differ.
constexpr uint64_t kSeenEveryNs = 20'000'000'000;
constexpr uint64_t kSeenMarginNs = 120'000'000'000;

using LastSeen = std::array<uint64_t, 3>;  // as stored

// realtime_ns: since 1970.
LastSeen last_seen(uint64_t realtime_ns);
// nullopt: nothing is said, or torn.
std::optional<uint64_t> parse_last_seen(std::span<const std::byte> bytes);

// Writes "now" to the beginning of a file. False: it could not.
bool note_seen(int fd);

}  // namespace pmio
