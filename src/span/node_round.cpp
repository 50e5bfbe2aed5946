#include "span/node_round.h"

#include <algorithm>
#include <cerrno>

#include "base/atomic_max.h"
#include "base/clock.h"
#include "drain/blocks.h"
#include "node/job_impl.h"
#include "span/spanning.h"

namespace pmio {
namespace {

// Blocks of this size on average are written straight from the logs; smaller ones cost the system more than
// a copy.
constexpr uint64_t kGatheredBytes = 4096;

// The bytes of the pieces as intervals, as long as they are few.
bool few_intervals(std::span<const Piece> pieces, std::vector<Interval>* list) {
  std::vector<Interval> all;
  for (const Piece& piece : pieces) {
    if (all.size() + piece.range.count > NodeRound::kMostIntervals * 4) return false;
    for (uint64_t i = 0; i < piece.range.count; i++)
      all.push_back({block_begin(piece.range, i), block_end(piece.range, i)});
  }
  *list = united(std::move(all));
  return list->size() <= NodeRound::kMostIntervals;
}

// The pieces as blocks in the order of the file. False: these are small, or some overlap.
bool large_blocks(std::span<const Piece> pieces, std::vector<TargetFile::Block>* blocks) {
  uint64_t bytes = 0, count = 0;
  for (const Piece& piece : pieces) {
    bytes += piece.range.bytes();
    count += piece.range.count;
  }
  if (bytes < count * kGatheredBytes) return false;
  blocks->clear();
  for (const Piece& piece : pieces) {
    const uint64_t length = piece.range.block_length;
    for (uint64_t i = 0; i < piece.range.count; i++)
      blocks->push_back({block_begin(piece.range, i), piece.data + i * length, length});
  }
  using Block = TargetFile::Block;
  std::sort(blocks->begin(), blocks->end(),
            [](const Block& a, const Block& b) { return a.offset < b.offset; });
  return std::adjacent_find(blocks->begin(), blocks->end(), [](const Block& a, const Block& b) {
           return a.offset + a.length > b.offset;
         }) == blocks->end();
}

Interval span_of(std::span<const Piece> pieces) {
  Interval span{UINT64_MAX, 0};
  for (const Piece& piece : pieces) {
    span.begin = std::min(span.begin, static_cast<uint64_t>(piece.range.offset));
    span.end = std::max(span.end, static_cast<uint64_t>(piece.range.end()));
  }
  return span;
}

}  // namespace

bool NodeRound::Window::whole() const {
  return exact && pieces.size() == 1 && pieces.front().bytes() == kWindowBytes;
}

Result<std::unique_ptr<NodeRound>> NodeRound::begin(const std::shared_ptr<File>& file, CallStamp horizon) {
  Drainer& drainer = *file->parts().shared.drainer;
  for (;;) {
    std::unique_ptr<NodeRound> round(new NodeRound);
    round->file_ = file;
    const bool knew = file->parts().shared.job->lost_log.is_known(*file->parts().shared.control);
    if (knew) PMIO_TRY(drainer.await_reach());
    const Status opened = round->open(horizon);
    if (opened.ok()) return round;
    if (!drainer.is_worth_another_try(opened, knew)) return opened;
  }
}

NodeRound::~NodeRound() = default;

Status NodeRound::open(CallStamp horizon) {
  SharedFile& file = file_->parts().shared;
  Drainer& drainer = *file.drainer;
  horizon_ = horizon;
  began_ns_ = monotonic_ns();
  lock_ = std::make_unique<RobustLock>(file.control->drain_mutex);
  raise_to(file.control->clock, stamp_clock(horizon));
  {
    RobustLock index_lock(file.control->index_mutex);
    if (file.control->horizon.load(std::memory_order_relaxed) < horizon)
      file.control->horizon.store(horizon, std::memory_order_seq_cst);
  }
  PMIO_TRY(Spanning::of(*file_).await_announced());
  // Before any node writes what was logged: the file system must not bring this back over later bytes.
  losses_ = file.target->losses();
  truncations_ = file.control->truncations.load(std::memory_order_acquire);
  PMIO_TRY(file.control->writes_to_sync.sync(*file.target));
  PMIO_TRY(file.mark.writing());
  PMIO_TRY(drainer.begin_round(false, &leftover_, &marks_));
  runs_.add(leftover_.entries);
  const Round& round = file.control->round;
  PMIO_TRY(runs_.open(*file.index, {round.runs, round.run_count}));
  return find_windows();
}

Status NodeRound::find_windows() {
  std::vector<Piece> found;
  for (uint64_t at = 0;;) {
    const uint64_t next = runs_.next_covered(at);
    if (next == UINT64_MAX) return {};
    Window window;
    window.number = next / kWindowBytes;
    found.clear();
    PMIO_TRY(pieces(window.number, &found));
    at = window_bytes(window.number).end;
    if (found.empty()) continue;  // in a hole of a vector
    window.exact = few_intervals(found, &window.pieces);
    if (!window.exact) window.pieces.assign(1, span_of(found));
    windows_.push_back(std::move(window));
  }
}

Status NodeRound::pieces(uint64_t window, std::vector<Piece>* found) {
  SharedFile& file = file_->parts().shared;
  const Interval bytes = window_bytes(window);
  std::vector<Entry> entries;
  runs_.find(bytes.begin, bytes.end, &entries);
  std::sort(entries.begin(), entries.end(), older);
  FileEntrySource source(file.control, &file.job->map);
  for (const Entry& entry : entries) {
    EntrySource::Located located;
    const uint32_t seat = segment_seat(entry.segment);
    if (!source.locate(entry, &located)) return file.job->map.cannot_map(seat);
    add_pieces(located, entry.stamp_ns, file.control->cells[seat].rank, bytes, found);
  }
  return {};
}

uint32_t NodeRound::servers() const { return std::min(file_->parts().shared.layout.servers, kMaxServers); }

uint32_t NodeRound::server_of(uint64_t window) const {
  return file_->parts().shared.layout.server_of(window_bytes(window).begin) % kMaxServers;
}

Status NodeRound::write(Stream& stream, uint64_t window, std::span<const Piece> others, bool* overlap) {
  SharedFile& file = file_->parts().shared;
  std::vector<Piece> all;
  PMIO_TRY(pieces(window, &all));
  all.insert(all.end(), others.begin(), others.end());
  uint64_t given = 0;
  for (const Piece& piece : all) given += piece.range.bytes();
  count(file.job->member->counters().drain_windows);
  if (large_blocks(all, &stream.blocks)) {
    *overlap = false;
    count(file.job->member->counters().drain_bytes, given);
    return file.target->write_blocks(stream.blocks);
  }
  const std::vector<Entry> entries = entries_of(all);
  PieceSource source(all);
  const Interval bytes = window_bytes(window);
  if (stream.window == nullptr) stream.window = std::make_unique_for_overwrite<std::byte[]>(kWindowBytes);
  if (!stream.painter.paint(entries, source, bytes.begin, bytes.end, stream.window.get(), &stream.covered))
    return Status(Code::io, "a piece of '" + file.path + "' makes no sense", EIO);
  uint64_t painted = 0;
  for (const Interval& interval : stream.covered) painted += interval.bytes();
  *overlap = given != painted;
  count(file.job->member->counters().drain_bytes, painted);
  return file.target->write_each(bytes.begin, stream.window.get(), stream.covered);
}

Status NodeRound::sync() {
  SharedFile& file = file_->parts().shared;
  Status synced = file.target->sync_since(losses_);
  if (!synced.ok()) file.control->writes_to_sync.note_loss(synced);
  return synced;
}

// Before the round's own records count as drained: what is found drained was so before.
Status NodeRound::stop_serving(std::span<const Foreign> foreign) {
  SharedFile& file = file_->parts().shared;
  std::lock_guard lock(file_->parts().reader.mutex());
  PMIO_TRY(file.index->refresh());
  RobustLock index_lock(file.control->index_mutex);
  std::vector<Entry> had;
  for (const Foreign& other : foreign) {
    had.clear();
    const bool some =
        other.mixed != 0 ||
        !file.index->find(other.begin, other.end, unserved_stamp(*file.control, other.begin, other.end), 1,
                          &had, FileIndex::Which::drained) ||
        !had.empty();
    if (some) stop_serving_window(*file.control, other.window, horizon_);
  }
  return {};
}

// If the target was truncated during the round, only the file system knows how much of it is left. Ranks
// that have written since have taken the round's records for what is still to come.
void NodeRound::note_truncation() {
  FileControl& control = *file_->parts().shared.control;
  if (control.truncations.load(std::memory_order_acquire) == truncations_) return;
  control.known_size.store(UINT64_MAX, std::memory_order_release);
  {
    RobustLock index_lock(control.index_mutex);
    stop_serving_all(control);
  }
  control.truncations.fetch_add(1, std::memory_order_acq_rel);
}

Status NodeRound::finish(std::span<const Foreign> foreign) {
  PMIO_TRY(stop_serving(foreign));
  SharedFile& file = file_->parts().shared;
  file.control->closing.store(1, std::memory_order_release);
  PMIO_TRY(file.drainer->finish_round(marks_, leftover_));
  note_truncation();
  file.control->error.store(0, std::memory_order_release);
  Counters& counters = file.job->member->counters();
  count(counters.drain_rounds);
  count(counters.drain_ns, monotonic_ns() - began_ns_);
  lock_.reset();
  return {};
}

void NodeRound::end() { file_->parts().shared.control->closing.store(0, std::memory_order_release); }

}  // namespace pmio
