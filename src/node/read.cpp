// Reading through the logs: bytes that are in any local rank's log from there, the rest from the target.
//
// A read takes no lock that a writer needs. It notes the count of evictions and the floor, copies, and looks
// again: if a segment was given back meanwhile, what was copied may be another generation's, and the read is
// repeated.
#include <algorithm>
#include <cstring>

#include "extent/strided_copy.h"
#include "node/file_impl.h"

namespace pmio {

constexpr uint64_t kLongTail =
    256;  // unmerged records beyond this are merged rather than scanned by every read
constexpr uint64_t kSieveBlock =
    16384;  // blocks below this size are read through a window, where they are dense
constexpr uint64_t kSieveDensity = 16;  // at least one byte in so many is wanted

// Puts n stream bytes from data where the cursor points.
static void scatter(PatternCursor& memory, std::byte* buffer, const std::byte* data, uint64_t n) {
  while (n > 0) {
    const PatternCursor::Piece piece = memory.next_piece(n);
    std::memcpy(buffer + piece.offset, data, piece.length);
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

// Fills what `covered` leaves of [a, b) from the target; bytes beyond its end are zeros.
Status File::Impl::read_gaps(uint64_t a, uint64_t b, std::byte* out) {
  uint64_t at = a;
  const auto fill = [&](uint64_t begin, uint64_t end) -> Status {
    uint64_t got = 0;
    PMIO_TRY(target->read(begin, out + (begin - a), end - begin, &got));
    std::memset(out + (begin - a) + got, 0, end - begin - got);
    reads.file_bytes += got;
    return {};
  };
  for (const Interval& interval : covered) {
    if (interval.begin > at) PMIO_TRY(fill(at, interval.begin));
    at = interval.end;
  }
  return at < b ? fill(at, b) : Status();
}

// The common case: one extent holds all of [a, b).
bool File::Impl::copy_single(uint64_t a, uint64_t b, std::byte* out) {
  if (entries.size() != 1) return false;
  const Entry& entry = entries.front();
  EntrySource::Located located;
  if (entry.vector || entry.offset > a || entry.end < b) return false;
  if (!FileEntrySource(control, job->map.get()).locate(entry, &located)) return false;
  std::memcpy(out, located.data + (a - entry.offset), b - a);
  covered.push_back({a, b});
  return true;
}

Status File::Impl::try_read(uint64_t a, uint64_t b, std::byte* out, bool* stale) {
  const uint64_t evictions = control->evictions.load(std::memory_order_acquire);
  const uint64_t floor = control->floor.load(std::memory_order_acquire);
  entries.clear();
  covered.clear();
  if (index->unmerged() > 0) index->scan_tail(a, b, &entries);
  PMIO_TRY(index->refresh());
  index->find(a, b, floor, &entries);
  *stale = false;
  if (!entries.empty() && !copy_single(a, b, out)) {
    FileEntrySource source(control, job->map.get());
    if (!painter.paint(entries, source, a, b, out, &covered)) *stale = true;
  }
  if (!*stale) {
    PMIO_TRY(read_gaps(a, b, out));
    for (const Interval& interval : covered)
      count(job->counters.read_log_bytes, interval.end - interval.begin);
  }
  // Acquire: the copies above come before these loads.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (control->evictions.load(std::memory_order_relaxed) != evictions ||
      control->floor.load(std::memory_order_relaxed) != floor) {
    *stale = true;
  }
  return {};
}

Status File::Impl::read_range(uint64_t a, uint64_t b, std::byte* out) {
  if (index->unmerged() > kLongTail) {
    control->index_used.store(1, std::memory_order_relaxed);
    Status status;
    {
      RobustLock lock(control->index_mutex);
      status = index->merge_locked(nullptr);
      if (status.ok()) index->tidy_locked();
    }
    // No room for an index: then there is no room for the log either, and its bytes are better off in the
    // file.
    if (!status.ok()) PMIO_TRY(drainer->drain());
  }
  bool stale = true;
  for (int attempt = 0; stale; attempt++) {
    if (attempt == 1000)
      return Status(Code::io, "cannot map the log of a local rank; see 'pmio doctor'", EIO);
    PMIO_TRY(try_read(a, b, out, &stale));
  }
  return {};
}

Status File::Impl::read_contiguous(uint64_t offset, std::byte* data, uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t n = std::min(bytes, kWindowBytes);
    PMIO_TRY(read_range(offset, offset + n, data));
    offset += n;
    data += n;
    bytes -= n;
  }
  return {};
}

// Reads the vectors of `batch`, whose span is at most a window, in stream order into the memory cursor.
Status File::Impl::read_batch(PatternCursor& memory, std::byte* buffer) {
  int64_t begin = batch.front().offset;
  int64_t end = begin;
  uint64_t bytes = 0;
  for (const Vector& vector : batch) {
    begin = std::min(begin, vector.offset);
    end = std::max(end, vector.end());
    bytes += vector.bytes();
  }
  const auto span = static_cast<uint64_t>(end - begin);
  if (window == nullptr) window = std::make_unique_for_overwrite<std::byte[]>(kWindowBytes);
  const bool sieve = bytes * kSieveDensity >= span;
  if (sieve) PMIO_TRY(read_range(static_cast<uint64_t>(begin), static_cast<uint64_t>(end), window.get()));
  for (const Vector& vector : batch) {
    if (sieve) {
      scatter_vector(memory, buffer, window.get() + (vector.offset - begin), vector);
      continue;
    }
    for (uint64_t i = 0; i < vector.count; i++) {
      const auto at = static_cast<uint64_t>(vector.offset + static_cast<int64_t>(i) * vector.stride);
      PMIO_TRY(read_range(at, at + vector.block_length, window.get()));
      scatter(memory, buffer, window.get(), vector.block_length);
    }
  }
  batch.clear();
  return {};
}

uint64_t File::Impl::logged_end() const {
  uint64_t end = 0;
  for (uint32_t rank = 0; rank < control->ranks; rank++) {
    end = std::max(end, control->cells[rank].logged_end.load(std::memory_order_acquire));
  }
  return end;
}

Result<uint64_t> File::size_bytes() {
  const uint64_t logged = impl_->logged_end();
  auto size = impl_->target->size_bytes();
  if (!size.ok()) return size.status();
  return std::max(logged, *size);
}

// A read's count, and the time of some: made under read_mutex.
class ReadCount {
 public:
  explicit ReadCount(ReadTally& reads)
      : reads_(reads), start_(reads.calls++ % kSampled == 0 ? monotonic_ns() : 0) {}
  void done(uint64_t bytes) const {
    reads_.bytes += bytes;
    if (start_ != 0) reads_.sampled_ns += monotonic_ns() - start_;
  }

 private:
  ReadTally& reads_;
  uint64_t start_;
};

Status File::read(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got) {
  Impl& impl = *impl_;
  *got = 0;
  uint64_t n = bytes;
  if (offset + bytes > impl.logged_end()) {  // else the end of the file need not be asked for
    auto size = size_bytes();
    if (!size.ok()) return size.status();
    n = offset >= *size ? 0 : std::min(bytes, *size - offset);
  }
  std::lock_guard lock(impl.read_mutex);
  const ReadCount read_count(impl.reads);
  PMIO_TRY(impl.read_contiguous(offset, data, n));
  *got = n;
  read_count.done(n);
  return {};
}

Status File::Impl::read_views(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t left,
                              uint64_t size, uint64_t* got) {
  batch.clear();
  int64_t batch_begin = 0;
  while (left > 0) {
    Vector vector = file.next(std::min(left, kWindowBytes / 2));
    // A vector that spans more than a window is taken in parts that do not.
    if (static_cast<uint64_t>(vector.end() - vector.offset) > kWindowBytes) {
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
    const bool fits = !batch.empty() && vector.offset >= batch_begin &&
                      static_cast<uint64_t>(vector.end() - batch_begin) <= kWindowBytes &&
                      batch.size() < 4096;
    if (!batch.empty() && (alone || !fits)) PMIO_TRY(read_batch(memory, buffer));
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
    if (batch.empty()) batch_begin = vector.offset;
    batch.push_back(vector);
  }
  if (!batch.empty()) PMIO_TRY(read_batch(memory, buffer));
  return {};
}

Status File::read(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                  uint64_t* got) {
  Impl& impl = *impl_;
  *got = 0;
  auto size = size_bytes();
  if (!size.ok()) return size.status();
  std::lock_guard lock(impl.read_mutex);
  const ReadCount read_count(impl.reads);
  PMIO_TRY(impl.read_views(file, memory, buffer, bytes, *size, got));
  read_count.done(*got);
  return {};
}

}  // namespace pmio
