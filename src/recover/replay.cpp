#include "recover/replay.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/file_buffer.h"
#include "drain/paint.h"
#include "drain/pieces.h"
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
    PMIO_ASSERT(!consistent || file.cut.behind[number].size() >= segment.records);
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

// A window of the file as the log has it.
class Window {
 public:
  virtual ~Window() = default;
  // Writes what is in `memory` where `covered` says, byte `a` first. *covered: what was written.
  virtual Status write(std::span<const Entry> entries, LogSource& source, uint64_t a, std::byte* memory,
                       std::vector<Interval>* covered) = 0;
};

class WholeWindow : public Window {
 public:
  explicit WholeWindow(TargetFile& target) : target_(target) {}
  Status write(std::span<const Entry>, LogSource&, uint64_t a, std::byte* memory,
               std::vector<Interval>* covered) override {
    PMIO_TRY(target_.write_covered(a, memory, *covered));
    if (!covered->empty())
      target_.begin_sync(covered->front().begin, covered->back().end - covered->front().begin);
    return {};
  }

 private:
  TargetFile& target_;
};

// Without their bytes.
std::vector<Piece> pieces_of(std::span<const Journal::Claim> claims) {
  std::vector<Piece> pieces;
  pieces.reserve(claims.size());
  for (const Journal::Claim& claim : claims)
    pieces.push_back({claim.range, claim.stamp, static_cast<uint32_t>(claim.rank)});
  return pieces;
}

// Whether this log or the claims have the newest byte: both are painted, as two values, and looked at.
class ContestedWindow : public Window {
 public:
  ContestedWindow(const FileInfo& file, TargetFile& target, std::span<const Journal::Claim> claims)
      : file_(file), target_(target), claims_(claims) {
    std::vector<Entry> entries = entries_of(pieces_of(claims));
    memory_ = std::make_unique_for_overwrite<std::byte[]>(run_bytes(entries.size()));
    build_run(entries, memory_.get());
  }

  Status write(std::span<const Entry> entries, LogSource& source, uint64_t a, std::byte* memory,
               std::vector<Interval>* covered) override {
    const Interval bytes{a, a + kWindowBytes};
    found_.clear();
    RunView(memory_.get()).find(bytes.begin, bytes.end, &found_);
    if (!found_.empty()) {
      if (!paint_owners(entries, source, bytes))
        return {Code::corrupt, "the log of " + file_.name() + " changed while it was read"};
      keep_mine(a, covered);
    }
    return target_.write_each(a, memory, *covered);
  }

 private:
  static constexpr std::byte kMine{1}, kTheirs{0};

  bool paint_owners(std::span<const Entry> entries, LogSource& source, const Interval& bytes) {
    pieces_.clear();
    for (const Entry& entry : entries) {
      EntrySource::Located located;
      if (!source.locate(entry, &located)) return false;
      add_pieces(located, entry.stamp_ns, file_.segments[entry.segment].rank, bytes, &pieces_);
    }
    const size_t own = pieces_.size();
    for (const Entry& entry : found_) {
      PMIO_ASSERT(entry.where < claims_.size());
      const Journal::Claim& claim = claims_[entry.where];
      add_pieces({claim.range, theirs_.data()}, claim.stamp, static_cast<uint32_t>(claim.rank), bytes,
                 &pieces_);
    }
    size_t most = 0;
    for (const Piece& piece : pieces_) most = std::max(most, static_cast<size_t>(piece.range.bytes()));
    if (mine_.size() < most) {
      mine_.resize(most, kMine);
      theirs_.resize(most, kTheirs);
    }
    for (size_t i = 0; i < pieces_.size(); i++) pieces_[i].data = i < own ? mine_.data() : theirs_.data();
    PieceSource owners(pieces_);
    return painter_.paint(entries_of(pieces_), owners, bytes.begin, bytes.end, owner_.get(), &painted_);
  }

  void keep_mine(uint64_t a, std::vector<Interval>* covered) const {
    covered->clear();
    for (const Interval& interval : painted_) {
      for (uint64_t at = interval.begin; at < interval.end;) {
        const bool is_mine = owner_[at - a] == kMine;
        uint64_t end = at + 1;
        while (end < interval.end && (owner_[end - a] == kMine) == is_mine) end++;
        if (is_mine) append_interval(covered, at, end);
        at = end;
      }
    }
  }

  const FileInfo& file_;
  TargetFile& target_;
  const std::span<const Journal::Claim> claims_;
  std::vector<std::byte> mine_, theirs_ = {kTheirs};  // as many as the largest piece has; never none
  std::unique_ptr<std::byte[]> memory_;
  std::vector<Entry> found_;
  std::vector<Piece> pieces_;
  // Of each byte that is painted.
  const std::unique_ptr<std::byte[]> owner_ = std::make_unique_for_overwrite<std::byte[]>(kWindowBytes);
  std::vector<Interval> painted_;
  Painter painter_;
};

Status replay_windows(const FileInfo& file, bool consistent, Window& writer, const ReplayProgress& progress) {
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
  FileBuffer buffer(kWindowBytes);
  std::vector<Entry> found;
  std::vector<Interval> covered;
  for (uint64_t at = run.header().begin; at != UINT64_MAX;) {
    const uint64_t a = at / kWindowBytes * kWindowBytes;
    const uint64_t b = a + kWindowBytes;
    std::byte* const window = buffer.at(a);
    found.clear();
    covered.clear();
    run.find(a, b, &found);
    if (!painter.paint(found, source, a, b, window, &covered)) {
      return Status(Code::corrupt, "the log of " + file.name() + " changed while it was read");
    }
    PMIO_TRY(writer.write(found, source, a, window, &covered));
    uint64_t bytes = 0;
    for (const Interval& interval : covered) bytes += interval.end - interval.begin;
    if (progress) progress(bytes);
    // The exact search is worth its price only if the spans have led into a window without a byte.
    at = bytes > 0 ? run.next_covered(b) : next_logged(run, source, &found, b);
  }
  return {};
}

}  // namespace

Status replay(const FileInfo& file, TargetFile& target, bool consistent, const ReplayProgress& progress) {
  WholeWindow window(target);
  return replay_windows(file, consistent, window, progress);
}

Status replay_beside(const FileInfo& file, TargetFile& target, std::span<const Journal::Claim> claims,
                     const ReplayProgress& progress) {
  ContestedWindow window(file, target, claims);
  return replay_windows(file, false, window, progress);
}

}  // namespace pmio
