// Copies between a program's buffer and the image of a window.
#pragma once

#include "base/copy.h"
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

// The same of bytes that are contiguous in memory, and begin `done` bytes into the group.
template <Way way>
void copy_run(const Vector& group, uint64_t done, std::byte* at, std::byte* memory, uint64_t bytes);

template <Way way>
void copy_piece(std::byte* image, std::byte* memory, uint64_t length) {
  way == Way::to_image ? copy_piece(image, memory, length) : copy_piece(memory, image, length);
}

// A request's buffer, from one of its bytes on.
class BufferCursor {
 public:
  BufferCursor(const Stream& stream, uint64_t byte)
      : base_(stream.request().base), cursor_(stream.memory_cursor(byte)) {
    if (stream.request().memory->dense) next_ = base_ + cursor_.offset();
  }

  template <Way way>
  void copy(const Vector& group, std::byte* at) {
    if (next_ == nullptr) return copy_group<way>(group, cursor_, base_, at);
    if (group.count == 1)
      copy_piece<way>(at, next_, group.block_length);
    else
      copy_run<way>(group, 0, at, next_, group.bytes());
    next_ += group.bytes();
  }

 private:
  std::byte* base_;
  PatternCursor cursor_;
  std::byte* next_ = nullptr;  // of a buffer without gaps, instead of the cursor
};

template <class Tell>
void put_pieces(const Stream& stream, const Interval& part, uint64_t begin, std::byte* image, Tell tell) {
  PatternCursor to = stream.file_cursor(part.begin);
  BufferCursor from(stream, part.begin);
  for (uint64_t left = part.bytes(); left > 0;) {
    const Vector group = to.next(left);
    from.copy<Way::to_image>(group, image + (static_cast<uint64_t>(group.offset) - begin));
    tell(group);
    left -= group.bytes();
  }
}

}  // namespace pmio
