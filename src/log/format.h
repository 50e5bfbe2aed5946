// On-medium format of the per-rank log (L0), major version 1. docs/format.md describes it with a worked
// example.
//
// A segment is one file and can be read alone: its header names the target file. Data grow upwards from
// kHeaderBytes (the D-log), records grow downwards from the end (the M-log). Record i lies at
// segment_bytes - 64 * (i + 1). All integers are little-endian; reserved bytes are zero.
//
// A segment is valid iff  (1) magic and version match, incompat has no unknown bit, (2) segment_bytes equals
// the file size, is a multiple of 64 and within [kMinSegmentBytes, kMaxSegmentBytes], (3) header_crc matches,
// (4) path_length <= kMaxPath. Record i is valid iff all records before it are and  (1) record_crc matches
// (it covers bytes 4..63 and is seeded with salt and i, so that records of an earlier generation never
// match), (2) kind is known, (3) the geometry holds: 0 < block_length <= length, length % block_length == 0,
// extents have one block, stride >= block_length otherwise, no overflow of the file range over 2^63 - 1, (4)
// its data begin at or after the end of the data of record i - 1 (or kHeaderBytes) and end at or before the
// start of record i, (5) data_crc matches. The log ends at the first invalid record; a seal
// says that it ends there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pmio {

constexpr uint64_t kSegmentMagic = 0x314745534f494d50;  // "PMIOSEG1"
constexpr uint32_t kFormatMajor = 1;
constexpr size_t kHeaderBytes = 8192;
constexpr size_t kMaxPath = 4095;
constexpr size_t kDataAlignment = 8;
constexpr size_t kMinSegmentBytes = 256 << 10;
constexpr size_t kMaxSegmentBytes = size_t{4} << 30;

// Which file on which file system. birth_ns is 0 if the file system does not tell.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t birth_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

struct SegmentHeader {
  uint64_t magic;
  uint32_t version;     // kFormatMajor
  uint32_t header_crc;  // crc32c(0, bytes [16, sizeof(SegmentHeader)))
  uint64_t compat;      // features an older reader may ignore: kFencedRecords, kDurableFences, kOpenTable
  uint64_t incompat;    // features an older reader must refuse
  uint64_t segment_bytes;
  uint64_t salt;  // random per generation, never 0
  uint64_t job;   // job id
  uint32_t rank;  // world rank of the writer
  uint32_t slot;  // number of the segment within its rank
  FileIdentity target;
  uint64_t start_ns;  // CLOCK_MONOTONIC when the generation began
  uint64_t start_realtime_ns;
  uint32_t ranks;           // size of MPI_COMM_WORLD of the job
  uint32_t path_length;     // bytes, without terminator
  char path[kMaxPath + 1];  // absolute path at open
};
static_assert(offsetof(SegmentHeader, target) == 64);
static_assert(offsetof(SegmentHeader, path) == 112);
static_assert(sizeof(SegmentHeader) == 112 + 4096);
constexpr uint64_t kFencedRecords = 1;  // records tell fenced_records, and a seal may follow the last one
constexpr uint64_t kDurableFences =
    2;                              // what a fence has covered outlives a power failure, if the medium does
constexpr uint64_t kOpenTable = 4;  // the zeros behind the header hold the open table; flags refer to it

// The opens of the file (MPI_File_open) whose calls the records of a segment belong to. There are kMaxOpens
// entries of two copies each, from kOpenTableAt on. If both copies are valid, the one with the higher
// `update` counts.
struct OpenEntry {
  uint32_t crc;     // crc32c(record_seed(salt, 2^32 - 1 - copy), bytes [4, 64)); copy: 0, 1, ... in the table
  uint32_t update;  // from 1
  uint64_t open;    // number of the open within the job
  uint32_t ranks;   // size of its communicator
  uint32_t rank;    // of the writer in it
  uint32_t begin_call;   // collective write calls that the writer had finished when the entry was made
  uint32_t begin_later;  // 1: by then it had logged something behind that call, in earlier segments
  uint32_t last_call;    // the last call that it has finished, unless a record tells of a later one
  uint32_t closed;       // 1: all ranks have finished all their calls, and are in MPI_File_close
  uint32_t reserved[6];
};
static_assert(sizeof(OpenEntry) == 64);
constexpr size_t kOpenTableAt = 4224;
constexpr uint32_t kMaxOpens = 31;
static_assert(kOpenTableAt + 2 * kMaxOpens * sizeof(OpenEntry) == kHeaderBytes);

enum class RecordKind : uint16_t {
  extent = 1,  // length bytes at file_offset
  vector = 2,  // length / block_length blocks, the i-th at file_offset + i * stride
  seal = 3,    // no data: the log ends before it, and all of it was fenced
};

struct LogRecord {
  uint32_t record_crc;
  uint32_t data_crc;      // crc32c(0, the record's data)
  uint64_t file_offset;   // bytes
  uint64_t length;        // data bytes, > 0
  uint64_t block_length;  // == length for an extent
  uint64_t stride;        // 0 for an extent
  uint64_t stamp_ns;  // order: CLOCK_MONOTONIC of the writing call, or log/call_stamp.h; later wins, ties:
                      // higher rank, later record
  uint32_t data_position;    // in units of kDataAlignment from the start of the segment
  uint32_t collective_call;  // number of the collective write call on its handle, from 1; kIndependent: of
                             // the last one before it, 0: none
  uint16_t kind;
  uint16_t flags;           // kLastOfCall, kIndependent, kOpenShift
  uint32_t fenced_records;  // so many records of the segment were fenced before this one was written
};
static_assert(sizeof(LogRecord) == 64);
// The record as the words in which it is stored: each stays in one register until it lies on the medium.
using RecordWords = std::array<uint64_t, sizeof(LogRecord) / sizeof(uint64_t)>;
constexpr RecordWords record_words(const LogRecord& record) {
  return {record.record_crc | uint64_t{record.data_crc} << 32,
          record.file_offset,
          record.length,
          record.block_length,
          record.stride,
          record.stamp_ns,
          record.data_position | uint64_t{record.collective_call} << 32,
          record.kind | uint64_t{record.flags} << 16 | uint64_t{record.fenced_records} << 32};
}
constexpr uint16_t kLastOfCall = 1;
constexpr uint16_t kIndependent = 2;  // a collective_call of 0 says the same without it
constexpr uint16_t kOpenShift = 8;    // from this bit on: 1 + index of the open's entry; 0: not known

// The seed of record i's checksum.
uint32_t record_seed(uint64_t salt, uint32_t index);
uint32_t record_checksum(const LogRecord& record, uint64_t salt, uint32_t index);
// The same checksum in two steps: what all records of a generation share, and the rest.
uint32_t salt_seed(uint64_t salt);
uint32_t record_checksum_seeded(const std::byte* record, uint32_t seed_of_salt, uint32_t index);
uint32_t header_checksum(const SegmentHeader& header);
uint32_t open_checksum(const OpenEntry& entry, uint64_t salt, uint32_t copy);

// The ledger of a file (one per job and file): how many records of each segment are in the target already.
// Two slots, at byte 0 and at slot_bytes, are written alternately. The valid slot with the higher round
// counts. A segment that is not listed, or is listed with another salt, has no drained records.
constexpr uint64_t kLedgerMagic = 0x3152444c4f494d50;  // "PMIOLDR1"
struct LedgerEntry {
  uint32_t rank;
  uint32_t slot;
  uint64_t salt;
  uint64_t drained_records;
};
static_assert(sizeof(LedgerEntry) == 24);
struct LedgerSlot {
  uint64_t magic;
  uint32_t version;
  uint32_t crc;    // crc32c(0, bytes [16, sizeof(LedgerSlot) + entries * sizeof(LedgerEntry)))
  uint64_t round;  // from 1
  FileIdentity target;
  uint32_t entries;
  uint32_t flags;  // kDiscarded, kHasHorizon, kRecovered
  // LedgerEntry[entries] follow
};
static_assert(sizeof(LedgerSlot) == 56);
constexpr uint32_t kDiscarded = 1;   // the file was deleted: nothing of it may be replayed
constexpr uint32_t kHasHorizon = 2;  // the last entry is of no segment: it is LedgerState::horizon
constexpr uint32_t kRecovered = 4;   // recovery has brought in all of the log

// What the target looked like when its job last wrote it (target_mark.h).
constexpr uint64_t kTargetMarkMagic = 0x314b524d4f494d50;  // "PMIOMRK1"
constexpr uint32_t kMarkWriting = 1;
constexpr uint32_t kMarkSettled = 2;
constexpr uint32_t kMarkAhead = 1;  // settled, and the file may have more of the log than the ledger tells
struct TargetMarkRecord {
  uint64_t magic;
  uint32_t version;
  uint32_t crc;         // crc32c(0, bytes [16, sizeof(TargetMarkRecord)))
  uint32_t state;       // kMarkWriting or kMarkSettled
  uint32_t flags;       // kMarkAhead
  uint64_t size_bytes;  // if settled
  uint64_t mtime_ns;    // likewise
  uint8_t boot[16];     // the kernel's boot_id
};
static_assert(sizeof(TargetMarkRecord) == 56);

}  // namespace pmio
