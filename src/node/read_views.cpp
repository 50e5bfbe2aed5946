// Reading through a view. Vectors that were written as they are read are copied whole. The rest goes through
// a window_ of the file, or block by block if blocks are large or far apart.
#include <algorithm>

#include "base/copy.h"
#include "drain/blocks.h"
#include "extent/strided_copy.h"
#include "node/job_impl.h"
#include "node/log_reader.h"

namespace pmio {

constexpr uint64_t kSieveBlock =
    16384;  // blocks below this size are read through a window_, where they are dense
constexpr uint64_t kWorthwhile = 16384;  // vectors below this are not looked for one by one
constexpr uint64_t kSieveDensity = 16;   // at least one byte in so many is wanted

// Puts n stream bytes from data where the cursor points.
static void scatter(PatternCursor& memory, std::byte* buffer, const std::byte* data, uint64_t n) {
  while (n > 0) {
    const PatternCursor::Piece piece = memory.next_piece(n);
    copy_bytes(buffer + piece.offset, data, piece.length);
    data += piece.length;
    n -= piece.length;
  }
}

// The same for the blocks of a vector whose first byte is at data.
static void scatter_vector(PatternCursor& memory, std::byte* buffer, const std::byte* data,
                           const Vector& vector) {
  if (vector.count > 1) {
    const PatternCursor::Piece piece = memory.next_piece(vector.bytes());
    if (piece.length == vector.bytes()) {
      gather_blocks(buffer + piece.offset, data, vector.block_length, vector.stride, vector.count);
      return;
    }
    memory.rewind(piece.length);
  }
  for (uint64_t i = 0; i < vector.count; i++) {
    scatter(memory, buffer, data + static_cast<int64_t>(i) * vector.stride, vector.block_length);
  }
}

// True where b's blocks are of a's kind and fall on its places, before its first and behind its last one too.
static bool same_shape(const Vector& a, const Vector& b) {
  return a.count > 1 && b.count > 1 && a.stride == b.stride && a.stride > 0 &&
         a.block_length == b.block_length && (b.offset - a.offset) % a.stride == 0;
}

// Sets *data to the bytes of the first *blocks blocks of `wanted`, where one record holds them, nothing newer
// lies over them, and it is of the same shape. *blocks is 0 otherwise.
void LogReader::find_same_shape(const Vector& wanted, const std::byte** data, uint64_t* blocks) {
  *blocks = 0;
  FileEntrySource source(file_.control, &file_.job->map);
  const Entry* newest = nullptr;
  uint64_t held = 0, most = wanted.count;
  for (const Entry& entry : entries_) {
    EntrySource::Located located;
    if (!source.locate(entry, &located)) return;
    if (interleaved(wanted, located.range)) continue;
    if (!same_shape(wanted, located.range)) return;
    const int64_t first = (located.range.offset - wanted.offset) / wanted.stride;
    if (first > 0) {
      most = std::min(most, static_cast<uint64_t>(first));
      continue;
    }
    const auto skipped = static_cast<uint64_t>(-first);
    if (skipped >= located.range.count) continue;
    if (newest != nullptr && older(entry, *newest)) continue;
    newest = &entry;
    *data = located.data + skipped * wanted.block_length;
    held = located.range.count - skipped;
  }
  *blocks = std::min(held, most);
}

// Serves the first *done bytes of `wanted`, as far as they can be copied whole.
Status LogReader::read_same_shape(const Vector& wanted, PatternCursor& memory, std::byte* buffer,
                                  uint64_t* done) {
  *done = 0;
  if (!batch_.empty()) PMIO_TRY(read_batch(memory, buffer));  // the memory cursor moves in stream order
  merge_if_due();
  Epoch epoch;
  constexpr size_t kMostRecords = 64;
  PMIO_TRY(look_up(static_cast<uint64_t>(wanted.offset), static_cast<uint64_t>(wanted.end()), kMostRecords,
                   &epoch));
  if (!epoch.complete) return {};
  const std::byte* data = nullptr;
  uint64_t blocks = 0;
  find_same_shape(wanted, &data, &blocks);
  if (blocks == 0) return {};
  const uint64_t bytes = blocks * wanted.block_length;
  scatter(memory, buffer, data, bytes);
  if (is_over(epoch)) {  // what was copied may be another generation's
    memory.rewind(bytes);
    return {};
  }
  tally_.log_bytes += bytes;
  *done = bytes;
  return {};
}

// `bytes` of the range that was read last are the batch's; file_bytes: Tally::file_bytes before that.
void LogReader::count_in_part(uint64_t bytes, uint64_t span, uint64_t file_bytes) {
  const bool all_logged = covered_.size() == 1 && covered_.front().bytes() == span;
  const uint64_t logged = all_logged ? bytes : covered_bytes_of_batch();
  tally_.log_bytes += logged;
  tally_.file_bytes = std::min(tally_.file_bytes, file_bytes + bytes - logged);
}

uint64_t LogReader::covered_bytes_of_batch() const {
  if (covered_.empty()) return 0;
  uint64_t bytes = 0;
  for (const Vector& vector : batch_) {
    auto interval = std::partition_point(covered_.begin(), covered_.end(), [&](const Interval& covered) {
      return covered.end <= static_cast<uint64_t>(vector.offset);
    });
    for (uint64_t i = 0; i < vector.count; i++) {
      const auto begin = static_cast<uint64_t>(vector.offset + static_cast<int64_t>(i) * vector.stride);
      const uint64_t end = begin + vector.block_length;
      while (interval != covered_.end() && interval->end <= begin) ++interval;
      for (auto next = interval; next != covered_.end() && next->begin < end; ++next)
        bytes += std::min(next->end, end) - std::max(next->begin, begin);
    }
  }
  return bytes;
}

// Puts the `bytes` of the batch where the cursor points. Byte `begin` of the file is *image.
void LogReader::scatter_batch(PatternCursor& memory, std::byte* buffer, const std::byte* image, int64_t begin,
                              uint64_t bytes) const {
  const PatternCursor::Piece piece = memory.next_piece(bytes);
  if (piece.length < bytes) {
    memory.rewind(piece.length);
    for (const Vector& vector : batch_)
      scatter_vector(memory, buffer, image + (vector.offset - begin), vector);
    return;
  }
  std::byte* to = buffer + piece.offset;
  for (const Vector& vector : batch_) {
    const std::byte* const from = image + (vector.offset - begin);
    if (vector.count == 1)
      copy_piece(to, from, vector.block_length);
    else
      gather_blocks(to, from, vector.block_length, vector.stride, vector.count);
    to += vector.bytes();
  }
}

// Reads the vectors of `batch_`, whose span is at most a window_, in stream order into the memory cursor.
Status LogReader::read_batch(PatternCursor& memory, std::byte* buffer) {
  int64_t begin = batch_.front().offset;
  int64_t end = begin;
  uint64_t bytes = 0;
  for (const Vector& vector : batch_) {
    begin = std::min(begin, vector.offset);
    end = std::max(end, vector.end());
    bytes += vector.bytes();
  }
  const auto span = static_cast<uint64_t>(end - begin);
  std::byte* const window = window_.at(static_cast<uint64_t>(begin));
  const bool sieve = bytes * kSieveDensity >= span;
  if (sieve) {
    wanted_in_part_ = bytes < span;
    const uint64_t file_bytes = tally_.file_bytes;
    const Status read = read_range(static_cast<uint64_t>(begin), static_cast<uint64_t>(end), window);
    wanted_in_part_ = false;
    PMIO_TRY(read);
    if (bytes < span) count_in_part(bytes, span, file_bytes);
  }
  if (sieve) {
    scatter_batch(memory, buffer, window, begin, bytes);
    batch_.clear();
    return {};
  }
  for (const Vector& vector : batch_) {
    for (uint64_t i = 0; i < vector.count; i++) {
      const auto at = static_cast<uint64_t>(vector.offset + static_cast<int64_t>(i) * vector.stride);
      std::byte* const block = window_.at(at);
      PMIO_TRY(read_range(at, at + vector.block_length, block));
      scatter(memory, buffer, block, vector.block_length);
    }
  }
  batch_.clear();
  return {};
}

Status LogReader::read_views(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t left,
                             uint64_t size, uint64_t* got) {
  batch_.clear();
  int64_t batch_begin = 0;
  while (left > 0) {
    Vector vector = file.next(left);
    const bool worthwhile =
        vector.count > 1 && vector.bytes() >= kWorthwhile && static_cast<uint64_t>(vector.end()) <= size;
    if (worthwhile || vector.bytes() > kWindowBytes / 2) {
      uint64_t done = 0;
      if (worthwhile) PMIO_TRY(read_same_shape(vector, memory, buffer, &done));
      file.rewind(vector.bytes() - done);
      left -= done;
      *got += done;
      if (left == 0) break;
      vector = file.next(std::min(left, kWindowBytes / 2));
    }
    // A vector that spans more than a window_ is taken in parts that do not.
    if (vector.count > 1 && static_cast<uint64_t>(vector.end() - vector.offset) > kWindowBytes) {
      const uint64_t blocks = std::max<uint64_t>(
          1, (kWindowBytes - vector.block_length) / static_cast<uint64_t>(vector.stride) + 1);
      if (blocks < vector.count) {
        file.rewind((vector.count - blocks) * vector.block_length);
        vector.count = blocks;
      }
    }
    if (static_cast<uint64_t>(vector.offset) >= size) break;
    if (static_cast<uint64_t>(vector.end()) > size) {
      // The end of the file lies within: take whole blocks up to it, then the part of one.
      const uint64_t room = size - static_cast<uint64_t>(vector.offset);
      const uint64_t whole = vector.count == 1 ? 0 : room / static_cast<uint64_t>(vector.stride);
      const uint64_t rest =
          std::min(vector.block_length, room - whole * static_cast<uint64_t>(vector.stride));
      const uint64_t available = whole * vector.block_length + rest;
      file.rewind(vector.bytes());
      vector = file.next(whole > 0 ? whole * vector.block_length : rest);
      left = whole > 0 ? available : rest;
    }
    const bool alone = vector.count == 1 && vector.block_length >= kSieveBlock;
    const bool fits = !batch_.empty() && vector.offset >= batch_begin &&
                      static_cast<uint64_t>(vector.end() - batch_begin) <= kWindowBytes &&
                      batch_.size() < 4096;
    if (!batch_.empty() && (alone || !fits)) PMIO_TRY(read_batch(memory, buffer));
    left -= vector.bytes();
    *got += vector.bytes();
    if (alone) {
      PatternCursor::Piece piece = memory.next_piece(vector.block_length);
      if (piece.length == vector.block_length) {
        PMIO_TRY(read_contiguous(static_cast<uint64_t>(vector.offset), buffer + piece.offset, piece.length));
        continue;
      }
      memory.rewind(piece.length);
    }
    if (batch_.empty()) batch_begin = vector.offset;
    batch_.push_back(vector);
  }
  if (!batch_.empty()) PMIO_TRY(read_batch(memory, buffer));
  return {};
}

}  // namespace pmio
