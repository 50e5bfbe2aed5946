// One segment of a log: the writer that appends to it and the reader that trusts nothing in it.
//
// Threads: a SegmentWriter belongs to its rank, one thread at a time. Readers, in any local process, may read
// records [0, n) and their data. First they must have learnt n from a release store after the append, which
// the node layer makes. Durability: nothing is durable before fence(), and everything appended before is
// after it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "extent/pattern.h"
#include "log/format.h"
#include "medium/medium.h"
#include "medium/touched_pages.h"

namespace pmio {

struct SegmentIdentity {
  uint64_t job;
  uint32_t rank;
  uint32_t slot;
  uint32_t ranks;
  FileIdentity target;
  std::string path;
  bool durable_fences = true;  // what a fence has covered outlives a power failure
};

// The call of a program that a record belongs to.
struct CallNumber {
  // collective: the number of the collective write call, from 1; 0: independent, and nothing else is known.
  constexpr CallNumber(uint32_t collective = 0) : number(collective), independent(collective == 0) {}
  constexpr CallNumber(uint32_t of_open, uint32_t call, bool is_independent)
      : number(call), open(static_cast<uint16_t>(of_open)), independent(is_independent) {}
  uint32_t number;  // of the collective call; of an independent one, that of the last collective call before
  uint16_t open = 0;  // 1 + index in the open table; 0: not known
  bool independent;
  bool goes_on = false;  // another append follows for the same call: this one does not end it

  uint16_t flags() const {
    return static_cast<uint16_t>(open << kOpenShift | (independent && open != 0 ? kIndependent : 0));
  }
};

class SegmentWriter {
 public:
  SegmentWriter() = default;
  // Starts a new generation in region: with a fresh salt, and a header that is durable on return. The region
  // outlives the writer.
  static Result<SegmentWriter> format(Region& region, const SegmentIdentity& identity);
  // Makes the header invalid, durably. Nothing of the segment will be replayed.
  static Status invalidate(Region& region);

  // Of a region that is plain memory: pages that nobody has touched are touched ahead of the bytes.
  void touch_ahead(const TouchedPages& touched) {
    if (plain_) touched_ = touched;
  }
  const TouchedPages& touched() const { return touched_; }

  // Data bytes that one more record can take (0: full).
  uint64_t room_bytes() const;

  // Appends one record for `where`, an absolute file range of at most room_bytes(). Its data are the next
  // where.bytes() bytes of `memory`, whose offsets are relative to buffer. The record is neither durable nor
  // published before fence().
  void append(const Vector& where, PatternCursor& memory, const std::byte* buffer, uint64_t stamp_ns,
              CallNumber call, bool last_of_call);
  // The same for contiguous memory; the hot path.
  void append(const Vector& where, const std::byte* data, uint64_t stamp_ns, CallNumber call,
              bool last_of_call);
  // Makes or replaces an entry of the open table; crc and update are ignored. The next fence makes it
  // durable. A crash before that leaves the entry as it was.
  void set_open(uint32_t index, OpenEntry entry);
  // Replaces last_call of an entry that was made before.
  void advance_open(uint32_t index, uint32_t last_call);
  // Says that the open with this number is over, if the entry belongs to it.
  void close_open(uint32_t index, uint64_t number);
  // After an error, what had not been fenced before is taken back as if it had never been appended.
  Status fence();
  // Says durably how many records there are. Nothing may be appended afterwards.
  Status seal();

  uint32_t records() const { return records_; }
  uint64_t salt() const { return salt_; }
  uint64_t data_bytes() const { return data_end_ - kHeaderBytes; }

 private:
  void put_record(const Vector& where, uint32_t data_crc, uint64_t data_position, uint64_t stamp_ns,
                  CallNumber call, bool last_of_call);
  OpenEntry open_entry(uint32_t index) const;  // as it was stored last
  void take_back();
  void touch(uint64_t bytes);
  void store_record(LogRecord record, uint32_t index);
  Region* region_ = nullptr;
  bool plain_ = false;  // Region::plain
  TouchedPages touched_;
  uint64_t salt_ = 0;
  uint32_t salt_seed_ = 0;
  uint64_t data_end_ = 0;  // the next free data byte, aligned
  uint64_t flushed_data_ = 0;
  uint32_t records_ = 0;
  uint32_t flushed_records_ = 0;
  bool sealed_ = false;
  std::array<uint32_t, kMaxOpens> open_updates_{};
};

// Reads a mapped segment. It holds no state that a concurrent append could invalidate.
class SegmentReader {
 public:
  SegmentReader() = default;
  // Validates the header ("valid iff" 1-4). Errors: corrupt and unsupported, with the reason.
  static Result<SegmentReader> open(std::span<const std::byte> bytes);

  const SegmentHeader& header() const { return *header_; }
  std::string path() const;
  // An entry of the open table; nullopt: there is none.
  std::optional<OpenEntry> open_entry(uint32_t index) const;
  const LogRecord& record(uint32_t index) const;  // index: of a record known to be published or valid
  const std::byte* data(const LogRecord& record) const;

  // The number of valid records, at most `to`. Those before `from` are believed, the others validated in
  // full; checksums of data only if check_data is true. Never reads outside the segment, whatever the bytes
  // are.
  uint32_t count_valid(bool check_data = true, uint32_t from = 0, uint64_t to = UINT64_MAX) const;
  bool valid(uint32_t index, bool check_data) const;
  // How many records the writer had certainly fenced, as far as the records from index `from` on tell; 0:
  // nothing is known. If that is more than are valid, there is damage rather than a torn tail. A record tells
  // it only of the records before it, so nothing is known of the last call unless a seal follows.
  uint32_t fenced_records(uint32_t from) const;
  // Whether a record's own checksum and geometry hold, whatever its data and the records before it are.
  bool intact(uint32_t index) const { return valid(index, false); }

 private:
  const std::byte* base_ = nullptr;
  const SegmentHeader* header_ = nullptr;
  uint64_t size_ = 0;
};

// The file range of a record as a vector. It has no bytes if the record's block has none, which no valid
// record says.
Vector record_vector(const LogRecord& record);

}  // namespace pmio
