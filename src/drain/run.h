// Runs: sorted, immutable arrays of entries, one entry per log record. They are L1 by reference: what the
// drain walks and what reads search. The bytes stay in the D-logs.
//
// Layout of a run in memory (and in the file that shares it between processes): RunHeader, then the short
// entries sorted by offset, then the long ones sorted by offset, then the highest ends of each (see
// end_index.h). Long: spans more than kWindowBytes. So every entry that intersects [a, b) is among the short
// entries that start in [a - kWindowBytes, b), or among the long ones. The highest ends tell which of the
// entries that start before a reach over it without looking at each.
//
// Threads: a run never changes once built; any number of readers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace pmio {

constexpr uint64_t kWindowBytes = 4 << 20;  // unit of draining, and the bound of a short span

struct Entry {
  uint64_t offset;      // first file byte
  uint64_t end;         // one past the last file byte (of the last block, for a vector)
  uint64_t stamp_ns;    // order: later wins; ties: the higher `segment`, then the higher `where`
  uint32_t segment;     // of the rank and of the segment in its rank's table, opaque here
  uint32_t where : 31;  // extent: data position in units of 8 bytes; vector: record index in the segment
  uint32_t vector : 1;
};
static_assert(sizeof(Entry) == 32);

// "a is overwritten by b".
inline bool older(const Entry& a, const Entry& b) {
  if (a.stamp_ns != b.stamp_ns) return a.stamp_ns < b.stamp_ns;
  if (a.segment != b.segment) return a.segment < b.segment;
  return a.where < b.where;
}

class EndIndex;

struct RunHeader {
  uint64_t short_entries;
  uint64_t long_entries;
  uint64_t max_stamp_ns;
  uint64_t min_stamp_ns;
  uint64_t
      begin;  // lowest offset; of an empty run: begin and min_stamp_ns are UINT64_MAX, end and max_stamp_ns 0
  uint64_t end;       // highest end
  uint64_t disjoint;  // 1 where there are short entries only, none of which overlaps another
  uint64_t reserved;
};

class RunView {
 public:
  RunView() = default;
  explicit RunView(const void* memory);  // what build_run wrote; 8-byte aligned
  const RunHeader& header() const { return *header_; }
  std::span<const Entry> short_entries() const;
  std::span<const Entry> long_entries() const;

  // Appends every entry whose [offset, end) intersects [a, b) to found, in no particular order. `hint`, if
  // given, is the index where a previous search by the same caller ended, so that sequential reads do not
  // search; updated. Any value is a valid hint, start with 0. Stops early, at no particular entry, once it
  // has appended more than `most`.
  void find(uint64_t a, uint64_t b, std::vector<Entry>* found, size_t* hint = nullptr,
            size_t most = SIZE_MAX) const;
  // Before find, of several runs: sets *hint, if it is far from a, and asks for the memory that find will
  // look at, so that all runs wait for theirs at once.
  void approach(uint64_t a, size_t* hint) const;
  // Lowest byte >= a that some entry's span covers (a vector's span has no holes here); UINT64_MAX if none.
  uint64_t next_covered(uint64_t a) const;

 private:
  EndIndex short_index() const;
  EndIndex long_index() const;
  const RunHeader* header_ = nullptr;
  const Entry* entries_ = nullptr;
};

// Bytes that build_run will write for n entries.
size_t run_bytes(size_t entries);
// Sorts entries (destroying their order; cheap where they are a few ascending sequences, as logs are) and
// writes the run into memory, which holds run_bytes(entries.size()) and is 8-byte aligned.
void build_run(std::vector<Entry>& entries, void* memory);
// Merges runs into one, keeping every entry for which keep is true. Returns entries, ready for build_run.
std::vector<Entry> merge_runs(std::span<const RunView> runs, const std::function<bool(const Entry&)>& keep);

}  // namespace pmio
