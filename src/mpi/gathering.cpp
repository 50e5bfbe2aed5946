#include "mpi/gathering.h"

#include <algorithm>
#include <utility>

#include "medium/job_name.h"
#include "mpi/handle.h"
#include "mpi/node_collective.h"
#include "mpi/process.h"
#include "node/file_parts.h"

namespace pmio {
namespace {

// A log that has less warm room is a cold one, before anybody knows what a call gives.
constexpr uint64_t kLeastWarm = uint64_t{1} << 20;

std::unique_ptr<Collective> ranks_of(const Handle& handle) {
  return std::make_unique<NodeCollective>(static_cast<uint32_t>(handle.rank),
                                          static_cast<uint32_t>(handle.ranks), handle.team,
                                          job_name(Process::instance().id()), handle.number);
}

TwoPhaseOptions options_of(const Handle& handle, GatherWish wish) {
  TwoPhaseOptions options;
  options.writes = wish == GatherWish::always ? Buffering::enable : Buffering::asked;
  options.layout = handle.file->parts().shared.layout;
  return options;
}

uint64_t mean_piece(const Pattern& pattern) {
  uint64_t pieces = 0;
  for (const Vector& part : pattern.parts) pieces += part.count;
  return pattern.size / std::max(pieces, uint64_t{1});
}

// Pieces that are longer go straight to the file by themselves.
bool has_small_pieces(const FileView& view) {
  const Pattern& pattern = view.filetype->pattern;
  return !pattern.dense && !pattern.parts.empty() && mean_piece(pattern) < kDirectFrom.cold;
}

// Very small regular pieces, many of which are one record, are quickly logged. A call must give this much of
// them before gathering is as quick.
constexpr uint64_t kLeastOfTiny = uint64_t{128} << 10;
constexpr uint64_t kTinyPiece = 32;
constexpr size_t kMostRegularParts = 8;

uint64_t least_gathered(const FileView& view) {
  const Pattern& pattern = view.filetype->pattern;
  const bool tiny = pattern.parts.size() <= kMostRegularParts && mean_piece(pattern) < kTinyPiece;
  return tiny ? kLeastOfTiny : 0;
}

// Irregular pieces, each of which is a record of its own in the log, and shorter than its index entry.
constexpr uint64_t kScatteredPiece = 64;

bool is_scattered(const FileView& view) {
  const Pattern& pattern = view.filetype->pattern;
  const size_t parts = pattern.parts.size();
  return parts > kMostRegularParts && pattern.size / parts < kScatteredPiece;
}

// Whether the log is worse than gathering for so many bytes through such a view.
bool log_is_slow(const Handle& handle, const FileView& view, uint64_t bytes) {
  if (is_scattered(view)) return true;  // a warm one and a hidden drain, too
  return !(handle.gathering && handle.gathering->pauses()) &&
         handle.file->parts().appender.is_cold_for(bytes);
}

}  // namespace

GatherWish wish_to_gather(Handle& handle, const FileView& view) {
  if (is_against_gathering(handle)) return GatherWish::none;
  if (handle.hints->gather == Gather::on) return GatherWish::always;
  if (!has_small_pieces(view)) return GatherWish::none;
  return log_is_slow(handle, view, kLeastWarm) ? GatherWish::asked : GatherWish::none;
}

bool is_against_gathering(const Handle& handle) {
  if (!handle.file || !handle.can_write() || handle.file->reach().spans_nodes()) return true;
  if (handle.hints->gather == Gather::on) return false;
  return handle.hints->gather == Gather::off || handle.hints->mode != Mode::automatic ||
         handle.hints->goal == Goal::time_to_log || handle.hints->buffering.writes == Buffering::disable ||
         handle.closes_in_background;
}

bool asks_to_gather(const Handle& handle, uint64_t bytes) {
  return bytes >= least_gathered(handle.view) && log_is_slow(handle, handle.view, bytes);
}

Gathering::Gathering(Handle& handle, GatherWish wish)
    : ranks_(ranks_of(handle)),
      log_(*handle.file, handle.file->parts().shared.layout),
      engine_(TwoPhase::make(*ranks_, log_, options_of(handle, wish))),
      idle_(handle.file->parts().idle_sightings) {}

Gathering::~Gathering() = default;

Status Gathering::write(const TwoPhaseRequest& request, CallNumber call, bool* goes_on) {
  const uint64_t alone = counters().independent_calls, together = counters().exchanged_calls;
  log_.begin_call(call);
  Status written = engine_->write(request);
  const uint64_t now = monotonic_ns();
  tempo_.end(now);
  idle_.note_write(now);
  *goes_on = counters().independent_calls == alone;
  if (counters().exchanged_calls != together) pass_over_ = 0;
  if (!*goes_on) {
    passed_over_ = 0;
    pass_over_ = std::clamp(pass_over_ * 2, 1U, kMostPassedOver);
  }
  return written;
}

bool Gathering::may_begin() {
  if (passed_over_ >= pass_over_) return engine_->take_memory();
  ++passed_over_;
  return false;
}

void choose_gathering(Handle& handle, GatherWish wish, bool against) {
  const Engine& now = handle.engine();
  if (&now != &log_engine() && &now != &gathering_engine()) return;
  bool gathers = wish != GatherWish::none && !against;
  if (gathers && !handle.gathering) handle.gathering = std::make_unique<Gathering>(handle, wish);
  gathers = gathers && handle.gathering->may_begin();
  handle.set_engine(gathers ? gathering_engine() : log_engine());
}

void note_gathering(const Handle& handle) {
  if (!handle.gathering || !FileStatistics::on()) return;
  FileNumbers done;
  add_to(done, handle.gathering->counters());
  FileStatistics::of_process().add(handle.path, done);
}

}  // namespace pmio
