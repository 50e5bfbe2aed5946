#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/checksum.h"
#include "base/clock.h"
#include "extent/strided_copy.h"
#include "log/segment.h"
#include "medium/streaming_copy.h"

namespace pmio {

namespace {

uint64_t random_seed() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof seed))
    seed = realtime_ns() * 0x9e3779b97f4a7c15 ^ monotonic_ns();
  return seed;
}

// Random, never 0, and with other record seeds than the generation before, whose records still lie in the
// region. The kernel is asked once. The next salts come from SplitMix64 (Steele, Lea, Flood, 2014), which
// gives no number twice in a process.
uint64_t fresh_salt(uint64_t old_salt) {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  static std::atomic<uint64_t> state{random_seed()};
  uint64_t salt = 0;
  do {
    salt = state.fetch_add(kStep, std::memory_order_relaxed) + kStep;
    salt = (salt ^ (salt >> 30)) * 0xbf58476d1ce4e5b9;
    salt = (salt ^ (salt >> 27)) * 0x94d049bb133111eb;
    salt ^= salt >> 31;
  } while (salt == 0 || record_seed(salt, 0) == record_seed(old_salt, 0));
  return salt;
}

SegmentHeader make_header(const Region& region, const SegmentIdentity& identity) {
  SegmentHeader header{};
  header.magic = kSegmentMagic;
  header.version = kFormatMajor;
  header.compat = kFencedRecords | kOpenTable | (identity.durable_fences ? kDurableFences : 0);
  header.segment_bytes = region.size_bytes();
  uint64_t old_salt;
  std::memcpy(&old_salt, region.data() + offsetof(SegmentHeader, salt), sizeof old_salt);
  header.salt = fresh_salt(old_salt);
  header.job = identity.job;
  header.rank = identity.rank;
  header.slot = identity.slot;
  header.target = identity.target;
  header.start_ns = monotonic_ns();
  header.start_realtime_ns = realtime_ns();
  header.ranks = identity.ranks;
  header.path_length = static_cast<uint32_t>(identity.path.size());
  std::memcpy(header.path, identity.path.data(), identity.path.size());
  header.header_crc = header_checksum(header);
  return header;
}

constexpr size_t kGatherBytes = 4 << 10;

constexpr uint64_t aligned(uint64_t bytes) {
  return (bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
}

}  // namespace

Result<SegmentWriter> SegmentWriter::format(Region& region, const SegmentIdentity& identity) {
  const size_t size = region.size_bytes();
  if (size < kMinSegmentBytes || size > kMaxSegmentBytes || size % sizeof(LogRecord) != 0)
    return Status(Code::invalid, "a segment of " + std::to_string(size) +
                                     " bytes; it must be a multiple of 64 from 256 KiB to 4 GiB");
  if (identity.path.size() > kMaxPath)
    return Status(Code::invalid,
                  "the path of the target is longer than " + std::to_string(kMaxPath) + " bytes");
  const SegmentHeader header = make_header(region, identity);
  // The magic is cleared first and written last. A crash in between leaves a segment that says nothing,
  // rather than a damaged one. sync, not fence: if a power failure brought the old header back, it would
  // bring the generation before back, too.
  constexpr size_t kBehindMagic = sizeof header.magic;
  PMIO_TRY(invalidate(region));
  region.copy(kBehindMagic, reinterpret_cast<const std::byte*>(&header) + kBehindMagic,
              sizeof header - kBehindMagic);
  region.flush(kBehindMagic, sizeof header - kBehindMagic);
  PMIO_TRY(region.sync());
  region.copy(0, &header.magic, sizeof header.magic);
  region.flush(0, sizeof header.magic);
  PMIO_TRY(region.sync());
  SegmentWriter writer;
  writer.region_ = &region;
  writer.plain_ = region.plain();
  writer.salt_ = header.salt;
  writer.salt_seed_ = salt_seed(header.salt);
  writer.data_end_ = writer.flushed_data_ = kHeaderBytes;
  return writer;
}

Status SegmentWriter::invalidate(Region& region) {
  const uint64_t no_magic = 0;
  region.copy(0, &no_magic, sizeof no_magic);
  region.flush(0, sizeof no_magic);
  return region.sync();
}

uint64_t SegmentWriter::room_bytes() const {
  if (region_ == nullptr || sealed_) return 0;
  const uint64_t taken =
      data_end_ + sizeof(LogRecord) * (uint64_t{records_} + 2);  // the last is for the seal
  return region_->size_bytes() > taken ? region_->size_bytes() - taken : 0;
}

// Before a record of so many bytes is stored.
inline void SegmentWriter::touch(uint64_t bytes) {
  if (touched_.lacks_front(data_end_ + bytes)) [[unlikely]]
    touched_.touch_front(*region_, data_end_ + bytes);
  const uint64_t position = region_->size_bytes() - sizeof(LogRecord) * (uint64_t{records_} + 1);
  if (touched_.lacks_back(position)) [[unlikely]]
    touched_.touch_back(*region_, position);
}

// Stores word by word, into the log itself if that is plain memory. The checksum then loads word by word: a
// processor finds a word that was just stored before the word is in the cache. A wider load takes its parts
// from several stores. It waits until these are in the cache, and so until all earlier stores are: the data
// that the record tells of. The stores are atomic because the compiler would make wider ones otherwise. The
// function is inlined because the record would be copied otherwise.
[[gnu::always_inline]] inline void SegmentWriter::store_record(LogRecord record, uint32_t index) {
  record.fenced_records = flushed_records_;
  const RecordWords words = record_words(record);
  const uint64_t position = region_->size_bytes() - sizeof words * (uint64_t{index} + 1);
  RecordWords line;
  std::byte* const to = plain_ ? region_->data() + position : reinterpret_cast<std::byte*>(line.data());
  for (size_t i = 0; i < words.size(); ++i)
    std::atomic_ref(reinterpret_cast<uint64_t*>(to)[i]).store(words[i], std::memory_order_relaxed);
  // The record is not valid before its checksum is there.
  const uint32_t crc = record_checksum_seeded(to, salt_seed_, index);
  std::memcpy(to, &crc, sizeof crc);
  if (!plain_) region_->copy(position, to, sizeof words);
  // Records go downwards, one line per append; no hardware prefetcher sees a stream in that. position is not
  // below the header.
  constexpr uint64_t kAhead = 4 * sizeof words;
  __builtin_prefetch(region_->data() + position - kAhead, 1);
}

void SegmentWriter::append(const Vector& where, PatternCursor& memory, const std::byte* buffer,
                           uint64_t stamp_ns, CallNumber call, bool last_of_call) {
  const uint64_t bytes = where.bytes();
  PMIO_ASSERT(bytes > 0 && bytes <= room_bytes());
  touch(bytes);
  // Small pieces are gathered first. A checksum and a copy into the region for each piece would cost more
  // than the bytes.
  std::byte gathered[kGatherBytes];
  uint32_t crc = 0;
  for (uint64_t done = 0; done < bytes;) {
    const Vector piece = memory.next(bytes - done);
    const std::byte* from = buffer + piece.offset;
    if (piece.count == 1 || piece.block_length >= kGatherBytes / 2) {
      for (uint64_t i = 0; i < piece.count; ++i, from += piece.stride, done += piece.block_length)
        crc = region_->copy_checksummed(data_end_ + done, from, piece.block_length, crc);
      continue;
    }
    const uint64_t batch = kGatherBytes / piece.block_length;
    for (uint64_t i = 0; i < piece.count; i += batch) {
      const uint64_t blocks = std::min(batch, piece.count - i);
      gather_blocks(gathered, from + static_cast<int64_t>(i) * piece.stride, piece.block_length, piece.stride,
                    blocks);
      crc = region_->copy_checksummed(data_end_ + done, gathered, blocks * piece.block_length, crc);
      done += blocks * piece.block_length;
    }
  }
  put_record(where, crc, data_end_, stamp_ns, call, last_of_call);
  data_end_ = aligned(data_end_ + bytes);
}

void SegmentWriter::append(const Vector& where, const std::byte* data, uint64_t stamp_ns, CallNumber call,
                           bool last_of_call) {
  const uint64_t bytes = where.bytes();
  PMIO_ASSERT(bytes > 0 && bytes <= room_bytes());
  touch(bytes);
  const uint32_t crc = plain_ ? copy_with_checksum(region_->data() + data_end_, data, bytes, 0)
                              : region_->copy_checksummed(data_end_, data, bytes, 0);
  put_record(where, crc, data_end_, stamp_ns, call, last_of_call);
  data_end_ = aligned(data_end_ + bytes);
}

void SegmentWriter::put_record(const Vector& where, uint32_t data_crc, uint64_t data_position,
                               uint64_t stamp_ns, CallNumber call, bool last_of_call) {
  LogRecord record{};
  record.data_crc = data_crc;
  record.file_offset = static_cast<uint64_t>(where.offset);
  record.length = where.bytes();
  record.block_length = where.block_length;
  record.stride = where.count == 1 ? 0 : static_cast<uint64_t>(where.stride);
  record.stamp_ns = stamp_ns;
  record.data_position = static_cast<uint32_t>(data_position / kDataAlignment);
  record.collective_call = call.number;
  record.kind = static_cast<uint16_t>(where.count == 1 ? RecordKind::extent : RecordKind::vector);
  record.flags = static_cast<uint16_t>(call.flags() | (last_of_call ? kLastOfCall : 0));
  store_record(record, records_++);
}

void SegmentWriter::set_open(uint32_t index, OpenEntry entry) {
  PMIO_ASSERT(index < kMaxOpens);
  entry.update = ++open_updates_[index];
  // The copy that holds the last state is not touched.
  const uint32_t copy = 2 * index + entry.update % 2;
  entry.crc = open_checksum(entry, salt_, copy);
  const size_t position = kOpenTableAt + copy * sizeof entry;
  region_->copy(position, &entry, sizeof entry);
  region_->flush(position, sizeof entry);
}

OpenEntry SegmentWriter::open_entry(uint32_t index) const {
  PMIO_ASSERT(index < kMaxOpens && open_updates_[index] != 0);
  OpenEntry entry;
  const uint32_t copy = 2 * index + open_updates_[index] % 2;
  std::memcpy(&entry, region_->data() + kOpenTableAt + copy * sizeof entry, sizeof entry);
  return entry;
}

void SegmentWriter::advance_open(uint32_t index, uint32_t last_call) {
  OpenEntry entry = open_entry(index);
  entry.last_call = last_call;
  set_open(index, entry);
}

void SegmentWriter::close_open(uint32_t index, uint64_t number) {
  PMIO_ASSERT(index < kMaxOpens);
  if (open_updates_[index] == 0) return;
  OpenEntry entry = open_entry(index);
  if (entry.open != number) return;
  entry.closed = 1;
  set_open(index, entry);
}

Status SegmentWriter::seal() {
  PMIO_ASSERT(flushed_records_ == records_);
  if (sealed_) return Status();
  sealed_ = true;
  LogRecord record{};
  record.kind = static_cast<uint16_t>(RecordKind::seal);
  store_record(record, records_);
  region_->flush(region_->size_bytes() - sizeof record * (uint64_t{records_} + 1), sizeof record);
  return region_->fence();
}

// If these records stayed valid, recovery could put them over what others have written and drained since.
void SegmentWriter::take_back() {
  PMIO_ASSERT(flushed_records_ <= records_ && flushed_data_ <= data_end_);
  const LogRecord none{};
  for (uint32_t index = flushed_records_; index < records_; ++index)
    region_->copy(region_->size_bytes() - sizeof none * (uint64_t{index} + 1), &none, sizeof none);
  region_->flush(region_->size_bytes() - sizeof none * uint64_t{records_},
                 sizeof none * uint64_t{records_ - flushed_records_});
  // If the medium goes on failing, this segment takes nothing more.
  if (!region_->fence().ok()) sealed_ = true;
  records_ = flushed_records_;
  data_end_ = flushed_data_;
}

Status SegmentWriter::fence() {
  if (!plain_) {
    PMIO_ASSERT(flushed_records_ <= records_ && flushed_data_ <= data_end_);
    region_->flush(flushed_data_, data_end_ - flushed_data_);
    region_->flush(region_->size_bytes() - sizeof(LogRecord) * uint64_t{records_},
                   sizeof(LogRecord) * uint64_t{records_ - flushed_records_});
    // One fence is enough for data and records: a record that got there without its data does not validate.
    if (Status status = region_->fence(); !status.ok()) {
      take_back();
      return status;
    }
  }
  flushed_data_ = data_end_;
  flushed_records_ = records_;
  return Status();
}

}  // namespace pmio
