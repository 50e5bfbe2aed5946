// Runs: sorted, immutable arrays of entries, with one entry per log record. They are L1 by reference: the
// drain walks them, and reads search them. The bytes stay in the D-logs.
//
// A run in memory, and in the file that shares it between processes, is laid out like this. It begins with
// the RunHeader. Then come the short entries sorted by offset, then the long ones sorted by offset, then the
// highest ends of both (end_index.h). A long entry spans more than kWindowBytes. So an entry that intersects
// [a, b) is among the short entries that start in [a - kWindowBytes, b), or among the long ones. The highest
// ends tell which of the entries that start before a reach over it, without a look at each.
//
// Threads: a run never changes when it is built, and has any number of readers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace pmio {

constexpr uint64_t kWindowBytes = 4 << 20;  // the unit of draining, and the bound of a short span

struct Entry {
  uint64_t offset;      // first file byte
  uint64_t end;         // one past the last file byte (of the last block, for a vector)
  uint64_t stamp_ns;    // the later wins; of equal ones the higher `segment`, then the higher `where`
  uint32_t segment;     // the rank, and the segment in its rank's table; opaque here
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
  // In an empty run begin and min_stamp_ns are UINT64_MAX, end and max_stamp_ns are 0.
  uint64_t begin;     // the lowest offset
  uint64_t end;       // the highest end
  uint64_t disjoint;  // 1: there are short entries only, and none overlaps another
  uint64_t reserved;
};

class RunView {
 public:
  RunView() = default;
  explicit RunView(const void* memory);  // memory: what build_run wrote; 8-byte aligned
  const RunHeader& header() const { return *header_; }
  std::span<const Entry> short_entries() const;
  std::span<const Entry> long_entries() const;

  // Appends every entry whose [offset, end) intersects [a, b) to found, in no particular order. `hint`, if
  // given, is the index where the caller's last search ended, and is updated: so sequential reads do not
  // search. Any value is a valid hint; start with 0. The search stops early, at no particular entry, when it
  // has appended more than `most`.
  void find(uint64_t a, uint64_t b, std::vector<Entry>* found, size_t* hint = nullptr,
            size_t most = SIZE_MAX) const;
  // To be called before find, for several runs. It sets *hint if that is far from a, and prefetches the
  // memory that find will look at. So all runs wait for their memory at once.
  void approach(uint64_t a, size_t* hint) const;
  // The lowest byte >= a that some entry's span covers; a vector's span has no holes here. UINT64_MAX: there
  // is none.
  uint64_t next_covered(uint64_t a) const;

 private:
  EndIndex short_index() const;
  EndIndex long_index() const;
  const RunHeader* header_ = nullptr;
  const Entry* entries_ = nullptr;
};

// How many bytes build_run will write for so many entries.
size_t run_bytes(size_t entries);
// Sorts entries, and writes the run into memory, which holds run_bytes(entries.size()) and is 8-byte aligned.
// The order of entries is lost. The sort is cheap for a few ascending sequences, which logs are.
void build_run(std::vector<Entry>& entries, void* memory);
// Merges runs into one, with every entry for which keep is true. Returns entries that are ready for
// build_run.
std::vector<Entry> merge_runs(std::span<const RunView> runs, const std::function<bool(const Entry&)>& keep);

}  // namespace pmio
