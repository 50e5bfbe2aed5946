// What a node tells others of the bytes that it holds undrained (Neighbours::holdings).
#include <algorithm>

#include "drain/blocks.h"
#include "node/job_impl.h"
#include "span/spanning.h"

namespace pmio {

constexpr size_t kMostHeld = 8192;         // vectors of an answer; of more nothing is told
constexpr uint64_t kMostLooked = 1 << 18;  // pieces, for an answer

// Looked at in this order. First whether somebody writes past the log, then what has been written so. The
// calls are next, so that all that was published in them is seen. Then come the records, after independent
// writers have learnt that they are to ask again. At last it asks whether a round is being closed, whose
// bytes another node may still serve as they were before.
Result<Spanning::Holdings> Spanning::holdings(uint64_t calls, const Interval& bytes) {
  WritesToSync& writes = file_.control->writes_to_sync;
  if (writes.writing()) return Holdings();
  const Vector all{static_cast<int64_t>(bytes.begin), bytes.bytes(), 0, 1};
  if (writes.holds({&all, 1})) PMIO_TRY(writes.sync(*file_.target));
  PMIO_TRY(give_up_leases({&all, 1}));
  std::lock_guard lock(parts_.reader.mutex());
  if (threads_at_once()) {
    // Who learns of a later call asks anew, once it has been told of it (unsettle).
    file_.control->settled_questions.fetch_add(1, std::memory_order_seq_cst);
    if (settled_calls() != calls) return Holdings();
  }
  if (calls_finished_here() < calls) return Holdings();
  Result<Holdings> held = Holdings(std::in_place);
  if (!file_.all_drained()) held = holdings_in_log(calls, bytes);
  if (held.ok() && file_.control->closing.load(std::memory_order_acquire) != 0) return Holdings();
  return held;
}

Result<Spanning::Holdings> Spanning::holdings_in_log(uint64_t calls, const Interval& bytes) {
  ToldHoldings::State state;
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) {
    state.appended += file_.control->cells[seat].appended.load(std::memory_order_acquire);
    state.drained += file_.control->cells[seat].drained_records.load(std::memory_order_acquire);
  }
  if (const auto* known = told_.find(state, calls, bytes)) return Holdings(*known);
  std::vector<Entry> found;
  PMIO_TRY(file_.index->scan_unmerged(bytes.begin, bytes.end, &found));
  PMIO_TRY(file_.index->refresh());
  if (!file_.index->find(bytes.begin, bytes.end, unserved_stamp(*file_.control, bytes.begin, bytes.end),
                         kMostLooked, &found, FileIndex::Which::undrained))
    return Holdings();
  Holdings held = unite_held(calls, bytes, found);
  if (held) told_.add(calls, bytes, *held);
  return held;
}

// The bytes of the entries, of calls up to `calls`, as one pattern.
Spanning::Holdings Spanning::unite_held(uint64_t calls, const Interval& bytes,
                                        const std::vector<Entry>& found) {
  FileEntrySource source(file_.control, &file_.job->map);
  std::vector<Interval> all;
  for (const Entry& entry : found) {
    if (entry.stamp_ns > last_stamp_of(calls)) continue;
    EntrySource::Located located;
    if (!source.locate(entry, &located)) return {};
    const BlockRange blocks = blocks_in(located.range, bytes);
    if (all.size() + (blocks.last - blocks.first) > kMostLooked) return {};
    for (uint64_t i = blocks.first; i < blocks.last; i++)
      all.push_back({std::max(bytes.begin, block_begin(located.range, i)),
                     std::min(bytes.end, block_end(located.range, i))});
  }
  Pattern pattern;
  for (const Interval& one : united(std::move(all)))
    pattern.add({static_cast<int64_t>(one.begin), one.bytes(), 0, 1});
  if (pattern.parts.size() > kMostHeld) return {};
  return std::move(pattern.parts);
}

}  // namespace pmio
