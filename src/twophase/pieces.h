// Copies between a program's buffer and the image of a window.
#pragma once

#include "twophase/stream.h"

namespace pmio {

// Puts the request's bytes [part.begin, part.end) into the image, whose first byte is byte `begin` of the
// file. Calls tell(Vector) for each group of pieces in the file.
template <class Tell>
void put_pieces(const Stream& stream, const Interval& part, uint64_t begin, std::byte* image, Tell tell);
// Takes them from the image.
void take_pieces(const Stream& stream, const Interval& part, uint64_t begin, const std::byte* image);

enum class Way { to_image, from_image };

// Copies the bytes of a group of pieces from or to where the cursor stands in the buffer, and advances it.
template <Way way>
void copy_group(const Vector& group, PatternCursor& memory, std::byte* base, std::byte* at);

template <class Tell>
void put_pieces(const Stream& stream, const Interval& part, uint64_t begin, std::byte* image, Tell tell) {
  PatternCursor to = stream.file_cursor(part.begin), from = stream.memory_cursor(part.begin);
  for (uint64_t left = part.bytes(); left > 0;) {
    const Vector group = to.next(left);
    copy_group<Way::to_image>(group, from, stream.request().base,
                              image + (static_cast<uint64_t>(group.offset) - begin));
    tell(group);
    left -= group.bytes();
  }
}

}  // namespace pmio
