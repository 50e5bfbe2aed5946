#include "recover/replay.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "drain/paint.h"
#include "drain/run.h"

namespace pmio {
namespace {

// The index of the record in every entry, of extents too, so that ties are broken exactly by the order of the
// records.
class LogSource : public EntrySource {
 public:
  explicit LogSource(const FileInfo& file) : file_(file) {}
  bool locate(const Entry& entry, Located* located) override {
    const SegmentReader& reader = file_.segments[entry.segment].reader;
    const LogRecord& record = reader.record(entry.where);
    located->range = record_vector(record);
    located->data = reader.data(record);
    return true;
  }

 private:
  const FileInfo& file_;
};

std::vector<Entry> undrained_entries(const FileInfo& file, bool consistent) {
  std::vector<Entry> entries;
  entries.reserve(file.undrained_records());
  for (uint32_t number = 0; number < file.segments.size(); number++) {
    const SegmentInfo& segment = file.segments[number];
    for (uint32_t i = segment.drained; i < segment.records; i++) {
      if (consistent && file.cut.behind[number][i]) continue;
      const LogRecord& record = segment.reader.record(i);
      const Vector range = record_vector(record);
      Entry entry{};
      entry.offset = record.file_offset;
      entry.end = static_cast<uint64_t>(range.end());
      entry.stamp_ns = record.stamp_ns;
      entry.segment = number;
      entry.where = i;
      entry.vector = range.count > 1;
      entries.push_back(entry);
    }
  }
  return entries;
}

// First byte >= at in a block of the range; UINT64_MAX if none.
uint64_t next_byte(const Vector& range, uint64_t at) {
  const auto begin = static_cast<uint64_t>(range.offset);
  if (at <= begin) return begin;
  if (at >= static_cast<uint64_t>(range.end())) return UINT64_MAX;
  if (range.count == 1) return at;
  const auto stride = static_cast<uint64_t>(range.stride);
  const uint64_t block = (at - begin) / stride;
  if ((at - begin) % stride < range.block_length) return at;
  return begin + (block + 1) * stride;
}

// First logged byte >= at. RunView::next_covered takes a vector's span for covered, and a column of a huge
// array spans far more windows than it has blocks.
uint64_t next_logged(const RunView& run, EntrySource& source, std::vector<Entry>* scratch, uint64_t at) {
  uint64_t next = UINT64_MAX;
  const auto consider = [&](const Entry& entry) {
    EntrySource::Located located;
    if (source.locate(entry, &located)) next = std::min(next, next_byte(located.range, at));
  };
  const auto entries = run.short_entries();
  const auto after =
      std::lower_bound(entries.begin(), entries.end(), at,
                       [](const Entry& entry, uint64_t offset) { return entry.offset < offset; });
  if (after != entries.end()) next = after->offset;
  for (const Entry& entry : run.long_entries()) consider(entry);
  scratch->clear();
  if (at < UINT64_MAX) run.find(at, at + 1, scratch);
  for (const Entry& entry : *scratch) consider(entry);
  return next;
}

}  // namespace

Status replay(const FileInfo& file, TargetFile& target, bool consistent, const ReplayProgress& progress) {
  std::unique_ptr<std::byte[]> memory;
  {
    std::vector<Entry> entries = undrained_entries(file, consistent);
    if (entries.empty()) return {};
    memory = std::make_unique_for_overwrite<std::byte[]>(run_bytes(entries.size()));
    build_run(entries, memory.get());
  }
  const RunView run(memory.get());
  LogSource source(file);
  Painter painter;
  const auto window = std::make_unique_for_overwrite<std::byte[]>(kWindowBytes);
  std::vector<Entry> found;
  std::vector<Interval> covered;
  for (uint64_t at = run.header().begin; at != UINT64_MAX;) {
    const uint64_t a = at / kWindowBytes * kWindowBytes;
    const uint64_t b = a + kWindowBytes;
    found.clear();
    covered.clear();
    run.find(a, b, &found);
    if (!painter.paint(found, source, a, b, window.get(), &covered)) {
      return Status(Code::corrupt, "the log of " + file.name() + " changed while it was read");
    }
    PMIO_TRY(target.write_covered(a, window.get(), covered));
    uint64_t bytes = 0;
    for (const Interval& interval : covered) bytes += interval.end - interval.begin;
    if (progress) progress(bytes);
    // Only where the spans have led into a window without a byte is the exact search worth its price.
    at = bytes > 0 ? run.next_covered(b) : next_logged(run, source, &found, b);
  }
  return {};
}

}  // namespace pmio
