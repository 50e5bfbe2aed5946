// Bytes of a window as one message between nodes: the covered bytes without the holes, and behind them a
// trailer that says where they belong. The trailer is short if the pieces are regular, and never longer than
// one bit for each byte of the window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "drain/interval.h"

namespace pmio {

uint64_t most_trailer_bytes(uint64_t window_bytes);
inline uint64_t most_message_bytes(uint64_t window_bytes) {
  return window_bytes + most_trailer_bytes(window_bytes);
}

// Moves the covered bytes of a window to the front of its image, and writes the trailer behind them. The
// image has room for most_trailer_bytes more than the window. Returns the message, which lies in the image.
std::span<std::byte> pack(const Interval& window, std::span<const Interval> covered, std::byte* image);
// The same from an image that stays as it is, to other memory with such room. `end`: bytes of the window from
// there on are left out.
std::span<std::byte> pack_copy(const Interval& window, std::span<const Interval> covered, uint64_t end,
                               const std::byte* image, std::byte* to);
// A trailer alone: what is asked for.
std::span<std::byte> ask(const Interval& window, std::span<const Interval> covered, std::byte* to);

// What a message holds. corrupt: it is none of this window.
struct Package {
  std::vector<Interval> covered;  // bytes of the file
  uint64_t data_bytes = 0;        // the message's first; 0 if it only asks
};
Status unpack(const Interval& window, std::span<const std::byte> message, Package* package);
// Brings a message's bytes to their places in an image, which may begin where the message does.
void spread(const Interval& window, const Package& package, const std::byte* message, std::byte* image);

}  // namespace pmio
