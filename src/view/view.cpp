#include "view/view.h"

#include <algorithm>
#include <limits>

namespace pmio {
namespace {

// Bytes of one part of a monotonic pattern that lie before `offset`, which counts from the part's tile.
uint64_t part_bytes_before(const Vector& part, int64_t offset) {
  if (offset <= part.offset) return 0;
  const auto distance = static_cast<uint64_t>(offset - part.offset);
  if (part.count == 1) return std::min(distance, part.block_length);
  const uint64_t block = distance / static_cast<uint64_t>(part.stride);
  if (block >= part.count) return part.bytes();
  return block * part.block_length +
         std::min(distance % static_cast<uint64_t>(part.stride), part.block_length);
}

// The same for one tile.
uint64_t tile_bytes_before(const Pattern& pattern, int64_t offset) {
  const auto after = std::upper_bound(pattern.parts.begin(), pattern.parts.end(), offset,
                                      [](int64_t at, const Vector& part) { return at < part.offset; });
  if (after == pattern.parts.begin()) return 0;
  const auto index = static_cast<size_t>(after - pattern.parts.begin()) - 1;
  return pattern.starts[index] + part_bytes_before(pattern.parts[index], offset);
}

}  // namespace

Result<FileView> FileView::make(int64_t displacement, MPI_Datatype etype, MPI_Datatype filetype,
                                const std::string& datarep) {
  if (displacement < 0) return Status(Code::invalid, "the displacement of a file view must not be negative");
  if (datarep != "native") return Status(Code::unsupported, "data representation " + datarep);
  FileView view{displacement, flatten_shared(etype), flatten_shared(filetype), datarep};
  if (!view.etype || !view.filetype)
    return Status(Code::unsupported, "a datatype that pmio can't take apart");
  if (view.etype->size == 0) return Status(Code::unsupported, "an etype without bytes");
  if (view.filetype->size % view.etype->size != 0) {
    return Status(Code::invalid, "the filetype is not made of whole etypes");
  }
  if (!view.filetype->ascending)
    return Status(Code::unsupported, "a filetype whose bytes overlap or don't ascend");
  return view;
}

Result<FileView> FileView::bytes() { return make(0, MPI_BYTE, MPI_BYTE); }

PatternCursor FileView::cursor(int64_t etype_offset) const {
  return {filetype->pattern, displacement, static_cast<uint64_t>(etype_offset) * etype->size};
}

bool FileView::reaches(int64_t etype_offset, uint64_t bytes, int64_t limit) const {
  const Pattern& pattern = filetype->pattern;
  if (etype_offset < 0) return false;
  if (pattern.size == 0) return bytes == 0;
  if (pattern.dense) {
    // One extent without end: no tile has to be found.
    int64_t last = 0;
    return !__builtin_mul_overflow(etype_offset, etype->size, &last) &&
           !__builtin_add_overflow(last, bytes, &last) &&
           !__builtin_add_overflow(last, displacement, &last) &&
           !__builtin_add_overflow(last, pattern.parts.back().end(), &last) && last <= limit;
  }
  // In 128 bits nothing overflows; the byte after the last must have an offset too, since a cursor may stand
  // there.
  const auto end = static_cast<__int128>(etype_offset) * static_cast<__int128>(etype->size) + bytes;
  if (end > std::numeric_limits<int64_t>::max()) return false;
  const __int128 tile = end / static_cast<__int128>(pattern.size);
  const int64_t tile_end = pattern.parts.back().end();
  if (!filetype->monotonic &&
      (end > pattern.size || displacement > std::numeric_limits<int64_t>::max() - tile_end))
    return false;
  return displacement + tile * pattern.extent + tile_end <= limit;
}

int64_t FileView::end_offset(int64_t etype_offset, uint64_t bytes) const {
  if (bytes == 0) return byte_offset(etype_offset);
  const uint64_t last = static_cast<uint64_t>(etype_offset) * etype->size + bytes - 1;
  return PatternCursor(filetype->pattern, displacement, last).offset() + 1;
}

uint64_t FileView::bytes_before(int64_t file_offset) const {
  const Pattern& pattern = filetype->pattern;
  if (file_offset <= displacement || pattern.size == 0) return 0;
  const int64_t distance = file_offset - displacement;
  const int64_t first = pattern.parts.front().offset;
  if (distance <= first) return 0;
  // Tiles that count don't overlap, but one may begin before the holes of the one before it end: count from
  // the first data byte.
  const int64_t tile = filetype->monotonic ? (distance - first) / pattern.extent : 0;
  return static_cast<uint64_t>(tile) * pattern.size +
         tile_bytes_before(pattern, distance - tile * pattern.extent);
}

int64_t FileView::end_of_file(int64_t file_size) const {
  return static_cast<int64_t>((bytes_before(file_size) + etype->size - 1) / etype->size);
}

}  // namespace pmio
