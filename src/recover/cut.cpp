#include "recover/cut.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "recover/scan.h"

namespace pmio {
namespace {

// How far a rank has come in an open.
struct Progress {
  uint32_t world = 0;        // its rank in MPI_COMM_WORLD
  uint32_t finished = 0;     // calls
  uint32_t begun = 0;        // the last one that anything tells of
  uint32_t begin_call = 0;   // finished before the oldest segment that is there
  bool begin_later = false;  // and something behind it was logged before that segment
};

struct Open {
  uint32_t ranks = 0;
  bool closed = false;
  std::map<uint32_t, Progress> of_rank;  // by rank in the open, or in the job if that is not known
};

struct Place {
  uint64_t open;
  uint32_t rank;
  bool independent;
  uint32_t call;  // independent: of the last collective one before it
  bool damaged;   // the table does not tell the open any more
};

bool is_extent(const Vector& range) {
  return range.count == 1 || range.stride == static_cast<int64_t>(range.block_length);
}

// In the order of their offsets; extents that touch are one.
std::vector<Vector> joined(std::vector<Vector> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Vector& a, const Vector& b) { return a.offset < b.offset; });
  std::vector<Vector> result;
  for (const Vector& range : ranges) {
    if (!is_extent(range)) {
      result.push_back(range);
    } else if (!result.empty() && is_extent(result.back()) && range.offset <= result.back().end()) {
      Vector& last = result.back();
      last = {last.offset, static_cast<uint64_t>(std::max(last.end(), range.end()) - last.offset), 0, 1};
    } else {
      result.push_back({range.offset, range.bytes(), 0, 1});
    }
  }
  return result;
}

class Survey {
 public:
  Survey(const FileInfo& file, const CutContext& context) : file_(file), context_(context) {}

  Cut run() {
    for (const SegmentInfo& segment : file_.segments) walk(segment);
    use_control();
    Cut cut;
    for (auto& [number, open] : opens_) {
      if (auto of_open = cut_of(number, open)) cut.opens.push_back(std::move(*of_open));
    }
    for (const SegmentInfo& segment : file_.segments) cut.behind.push_back(sort_out(segment, &cut));
    find_untold(&cut);
    cut.in_file = joined(std::move(cut.in_file));
    cut.perhaps_in_file = joined(std::move(cut.perhaps_in_file));
    return cut;
  }

 private:
  using Table = std::array<std::optional<OpenEntry>, kMaxOpens>;

  static Table table_of(const SegmentInfo& segment) {
    Table table;
    for (uint32_t index = 0; index < kMaxOpens; index++) table[index] = segment.reader.open_entry(index);
    return table;
  }

  // Of records that are believed drained without being valid nothing can be told.
  static bool tells(const SegmentInfo& segment, uint32_t index) {
    return index >= segment.drained || segment.reader.intact(index);
  }

  static Place place_of(const Table& table, const SegmentInfo& segment, const LogRecord& record) {
    const uint32_t index = record.flags >> kOpenShift;
    const bool known = index > 0 && index <= kMaxOpens && table[index - 1];
    const bool independent = (record.flags & kIndependent) != 0 || record.collective_call == 0;
    return {known ? table[index - 1]->open : kUnknownOpen, known ? table[index - 1]->rank : segment.rank,
            independent, record.collective_call, index > 0 && !known};
  }

  bool is_lost(uint32_t rank) const {
    const auto of_rank = [rank](const LostSegment& segment) { return segment.rank == rank; };
    return std::any_of(file_.lost_segments.begin(), file_.lost_segments.end(), of_rank) ||
           std::any_of(file_.gone_segments.begin(), file_.gone_segments.end(), of_rank);
  }

  bool is_believed(uint32_t rank) const { return broken_.count(rank) == 0; }

  bool may_lack_segments(uint32_t rank) const {
    return is_lost(rank) || context_.with_unreadable.count(rank) != 0;
  }

  // What comes behind damage, or behind a missing segment, is not complete, whatever tells of it.
  // That it has been begun counts all the same, or there would be no cut.
  void walk(const SegmentInfo& segment) {
    const Table table = table_of(segment);
    for (const auto& entry : table) {
      if (entry) enter(*entry, segment);
    }
    for (uint32_t i = 0; i < segment.records; i++) {
      if (!tells(segment, i)) continue;
      const LogRecord& record = segment.reader.record(i);
      const Place place = place_of(table, segment, record);
      Progress& progress = opens_[place.open].of_rank[place.rank];
      progress.world = segment.rank;
      const bool finished = place.independent || (record.flags & kLastOfCall) != 0;
      progress.begun = std::max(progress.begun, place.call);
      if (place.damaged) broken_.insert(segment.rank);
      if (is_believed(segment.rank) && place.call > 0)
        progress.finished = std::max(progress.finished, place.call - (finished ? 0 : 1));
    }
    if (segment.damage) broken_.insert(segment.rank);
    if (!is_believed(segment.rank)) return;
    for (const auto& entry : table) {
      if (!entry) continue;
      Progress& progress = opens_[entry->open].of_rank[entry->rank];
      progress.finished = std::max(progress.finished, entry->last_call);
    }
  }

  void enter(const OpenEntry& entry, const SegmentInfo& segment) {
    Open& open = opens_[entry.open];
    open.ranks = entry.ranks;
    open.closed = open.closed || entry.closed != 0;
    const auto [at, first] = open.of_rank.try_emplace(entry.rank);
    Progress& progress = at->second;
    progress.world = segment.rank;
    if (first) {
      progress.begin_call = entry.begin_call;
      progress.begin_later = entry.begin_later != 0;
    }
    progress.begun = std::max({progress.begun, entry.begin_call, entry.last_call});
    // What was logged before may be what is lost, a part of the call that goes on here too.
    if (may_lack_segments(segment.rank) && (entry.begin_call > progress.finished || entry.begin_later != 0))
      broken_.insert(segment.rank);
    if (is_believed(segment.rank)) progress.finished = std::max(progress.finished, entry.begin_call);
  }

  // Only of ranks without a segment: what can be checked goes before what cannot.
  void use_control() {
    for (const ControlEvidence::Open& evidence : file_.control_opens) {
      Open& open = opens_[evidence.number];
      open.ranks = evidence.ranks;
      if (is_lost(evidence.world) || !is_believed(evidence.world)) continue;
      if (open.of_rank.count(evidence.rank) != 0) continue;
      open.of_rank[evidence.rank] = {evidence.world, evidence.calls, 0, evidence.calls, evidence.later};
    }
  }

  MissingRank::Reason why_missing(uint32_t world_rank) const {
    if (is_lost(world_rank)) return MissingRank::Reason::segment_gone;
    return context_.with_segments.count(world_rank) == 0 ? MissingRank::Reason::no_files
                                                         : MissingRank::Reason::unknown;
  }

  std::vector<MissingRank> missing_of(const Open& open) const {
    std::vector<MissingRank> missing;
    const auto& here = context_.here;
    if (open.ranks == 0 || open.of_rank.size() >= (here.empty() ? open.ranks : here.size())) return missing;
    if (open.ranks == context_.world) {
      std::set<uint32_t> seen;
      for (const auto& [rank, progress] : open.of_rank) seen.insert(progress.world);
      for (uint32_t rank = 0; rank < context_.world && missing.size() < kMostMissing; rank++) {
        if (seen.count(rank) == 0 && (here.empty() || here.count(rank) != 0))
          missing.push_back({rank, true, why_missing(rank)});
      }
      return missing;
    }
    for (uint32_t rank = 0; rank < open.ranks && missing.size() < kMostMissing; rank++) {
      if (open.of_rank.count(rank) == 0) missing.push_back({rank, false, MissingRank::Reason::unknown});
    }
    return missing;
  }

  // Nothing if there are no collective calls, or if all of them are complete on all ranks.
  std::optional<OpenCut> cut_of(uint64_t number, const Open& open) const {
    if (open.closed) return {};
    OpenCut cut;
    cut.open = number;
    cut.ranks = open.ranks;
    uint32_t least = UINT32_MAX;
    for (const auto& [rank, progress] : open.of_rank) {
      // An older pmio did not tell of calls without data.
      cut.latest = std::max({cut.latest, progress.begun, progress.finished});
      least = std::min(least, progress.finished);
    }
    if (cut.latest == 0) return {};
    cut.missing = missing_of(open);
    cut.complete = cut.missing.empty() ? least : 0;
    return cut;
  }

  static const OpenCut* find(const Cut& cut, uint64_t number) {
    const auto found = std::find_if(cut.opens.begin(), cut.opens.end(),
                                    [number](const OpenCut& open) { return open.open == number; });
    return found == cut.opens.end() ? nullptr : &*found;
  }

  // Which records of the segment lie behind the cut, and where their bytes are.
  std::vector<bool> sort_out(const SegmentInfo& segment, Cut* cut) {
    std::vector<bool> behind(segment.records, false);
    if (cut->opens.empty()) return behind;
    const Table table = table_of(segment);
    uint32_t& finished = finished_[segment.rank];  // for records that do not tell it themselves
    for (uint32_t i = 0; i < segment.records; i++) {
      if (!tells(segment, i)) {
        cut->untold.insert(segment.rank);
        continue;
      }
      const LogRecord& record = segment.reader.record(i);
      const Place place = place_of(table, segment, record);
      if (place.open == kUnknownOpen && (record.flags & kLastOfCall) != 0 && !place.independent)
        finished = std::max(finished, place.call);
      const OpenCut* of = find(*cut, place.open);
      if (of == nullptr) continue;
      const uint32_t before = place.open == kUnknownOpen ? finished : place.call;
      behind[i] = place.independent ? before >= of->complete : place.call > of->complete;
      if (behind[i]) note(segment, i, record, cut);
    }
    return behind;
  }

  void note(const SegmentInfo& segment, uint32_t index, const LogRecord& record, Cut* cut) const {
    if (index < segment.drained) {
      cut->in_file.push_back(record_vector(record));
      return;
    }
    cut->left_records++;
    cut->left_bytes += record.length;
    if (!file_.ledger_exact) cut->perhaps_in_file.push_back(record_vector(record));
  }

  // Space is given back oldest first, and only when it is drained. Of what is lost a part may have been.
  void find_untold(Cut* cut) const {
    if (cut->opens.empty()) return;
    for (const LostSegment& segment : file_.lost_segments) cut->untold.insert(segment.rank);
    for (const LostSegment& segment : file_.gone_segments) cut->untold.insert(segment.rank);
    for (const OpenCut& of : cut->opens) {
      for (const auto& [rank, progress] : opens_.at(of.open).of_rank) {
        const bool at_cut = progress.begin_call == of.complete && progress.begin_later;
        const bool unreadable = context_.with_unreadable.count(progress.world) != 0;
        if (progress.begin_call > of.complete || at_cut || unreadable) cut->untold.insert(progress.world);
      }
    }
    for (const ControlEvidence::Open& evidence : file_.control_opens) {
      const OpenCut* of = find(*cut, evidence.number);
      if (of == nullptr) continue;
      const bool at_cut = evidence.straight_later && evidence.straight_call == of->complete;
      if (evidence.straight_call > of->complete || at_cut) cut->untold.insert(evidence.world);
    }
  }

  const FileInfo& file_;
  const CutContext& context_;
  std::map<uint64_t, Open> opens_;
  std::set<uint32_t> broken_;  // ranks of which nothing more is believed
  std::map<uint32_t, uint32_t> finished_;
};

}  // namespace

bool Cut::reached() const {
  const bool all_ranks =
      std::all_of(opens.begin(), opens.end(), [](const OpenCut& open) { return open.missing.empty(); });
  return all_ranks && in_file.empty() && perhaps_in_file.empty() && untold.empty();
}

Cut find_cut(const FileInfo& file, const CutContext& context) { return Survey(file, context).run(); }

}  // namespace pmio
