#include "view/view.h"

#include <algorithm>
#include <limits>

namespace pmio {
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
  if (file_offset <= displacement) return 0;
  return pmio::bytes_before(filetype->pattern, file_offset - displacement);
}

int64_t FileView::end_of_file(int64_t file_size) const {
  return static_cast<int64_t>((bytes_before(file_size) + etype->size - 1) / etype->size);
}

}  // namespace pmio
