#include <limits>

#include "view/flatten.h"

namespace pmio {
namespace {

// Whether every block of the part has offsets within int64_t, and its bytes can be counted.
bool representable(const Vector& part) {
  int64_t distance = 0, last = 0, end = 0;
  uint64_t size = 0;
  return part.block_length <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) &&
         !__builtin_mul_overflow(part.block_length, part.count, &size) &&
         size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) &&
         !__builtin_mul_overflow(part.count - 1, part.stride, &distance) &&
         !__builtin_add_overflow(part.offset, distance, &last) &&
         !__builtin_add_overflow(last, part.block_length, &end) &&
         !__builtin_add_overflow(part.offset, part.block_length, &end);
}

// `count` copies of one part at an even distance, as one part; false if they don't make one.
bool repeated(Vector part, int64_t distance, int64_t count, Vector* out) {
  if (count > 1) {
    int64_t span = 0;
    if (part.count == 1) {
      part.stride = distance;
    } else if (__builtin_mul_overflow(part.count, part.stride, &span) || span != distance) {
      return false;
    }
    if (__builtin_mul_overflow(part.count, count, &part.count)) return false;
  }
  *out = part;
  return true;
}

}  // namespace

void PartList::add(const Vector& part) {
  if (part.count == 0 || part.block_length == 0 || failed_) return;
  if (!representable(part) || pattern_.parts.size() >= kMaxParts) {
    fail();
    return;
  }
  pattern_.add(part);
}

void PartList::repeat(const PartList& child, int64_t displacement, int64_t distance, int64_t count) {
  if (child.failed()) fail();
  if (count < 0) fail();
  if (failed_ || count == 0 || child.parts().empty()) return;
  if (child.parts().size() == 1) {
    Vector part;
    if (repeated(child.parts()[0], distance, count, &part)) {
      if (__builtin_add_overflow(part.offset, displacement, &part.offset)) return fail();
      add(part);
      return;
    }
  }
  size_t copies = 0;
  if (__builtin_mul_overflow(child.parts().size(), count, &copies) || copies > kMaxParts) return fail();
  for (int64_t i = 0; i < count && !failed_; ++i) {
    int64_t shift = 0;
    if (__builtin_mul_overflow(i, distance, &shift) || __builtin_add_overflow(shift, displacement, &shift))
      return fail();
    for (Vector part : child.parts()) {
      if (__builtin_add_overflow(part.offset, shift, &part.offset)) return fail();
      add(part);
    }
  }
}

}  // namespace pmio
