#include "twophase/pieces.h"

#include <algorithm>
#include <cstring>

#include "extent/strided_copy.h"

namespace pmio {
namespace {

// Short pieces are a few moves, if the compiler knows their length.
constexpr uint64_t kShortPiece = 64;

template <Way way>
void copy_blocks(std::byte* image, int64_t image_stride, std::byte* memory, int64_t memory_stride,
                 uint64_t length, uint64_t count) {
  if (length > kShortPiece) {
    for (uint64_t i = 0; i < count; ++i, image += image_stride, memory += memory_stride)
      copy_piece<way>(image, memory, length);
    return;
  }
  with_block_length(length, [&](auto block) {
    for (uint64_t i = 0; i < count; ++i, image += image_stride, memory += memory_stride) {
      if constexpr (way == Way::to_image)
        std::memcpy(image, memory, block());
      else
        std::memcpy(memory, image, block());
    }
  });
}

}  // namespace

template <Way way>
void copy_run(const Vector& group, uint64_t done, std::byte* at, std::byte* memory, uint64_t bytes) {
  if (group.count == 1) return copy_piece<way>(at + done, memory, bytes);
  while (bytes > 0) {
    const uint64_t inside = done % group.block_length;
    std::byte* const image = at + static_cast<int64_t>(done / group.block_length) * group.stride + inside;
    uint64_t n = std::min(bytes, group.block_length - inside);
    if (inside == 0 && bytes > group.block_length) {
      const uint64_t blocks = bytes / group.block_length;
      copy_blocks<way>(image, group.stride, memory, static_cast<int64_t>(group.block_length),
                       group.block_length, blocks);
      n = blocks * group.block_length;
    } else {
      copy_piece<way>(image, memory, n);
    }
    done += n;
    memory += n;
    bytes -= n;
  }
}

template <Way way>
void copy_group(const Vector& group, PatternCursor& memory, std::byte* base, std::byte* at) {
  for (uint64_t done = 0; done < group.bytes();) {
    const Vector from = memory.next(group.bytes() - done);
    if (from.count > 1 && from.block_length == group.block_length && done % group.block_length == 0) {
      copy_blocks<way>(at + static_cast<int64_t>(done / group.block_length) * group.stride, group.stride,
                       base + from.offset, from.stride, from.block_length, from.count);
      done += from.bytes();
      continue;
    }
    for (uint64_t i = 0; i < from.count; ++i, done += from.block_length)
      copy_run<way>(group, done, at, base + from.offset + static_cast<int64_t>(i) * from.stride,
                    from.block_length);
  }
}

template void copy_run<Way::to_image>(const Vector&, uint64_t, std::byte*, std::byte*, uint64_t);
template void copy_run<Way::from_image>(const Vector&, uint64_t, std::byte*, std::byte*, uint64_t);
template void copy_group<Way::to_image>(const Vector&, PatternCursor&, std::byte*, std::byte*);
template void copy_group<Way::from_image>(const Vector&, PatternCursor&, std::byte*, std::byte*);

void take_pieces(const Stream& stream, const Interval& part, uint64_t begin, const std::byte* image) {
  PatternCursor from = stream.file_cursor(part.begin);
  BufferCursor to(stream, part.begin);
  for (uint64_t left = part.bytes(); left > 0;) {
    const Vector group = from.next(left);
    // The image is only read.
    to.copy<Way::from_image>(group,
                             const_cast<std::byte*>(image) + (static_cast<uint64_t>(group.offset) - begin));
    left -= group.bytes();
  }
}

}  // namespace pmio
