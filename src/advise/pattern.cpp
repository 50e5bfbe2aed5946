#include "advise/pattern.h"

#include <algorithm>
#include <cmath>

#include "advise/rules.h"

namespace pmio::advise {
namespace {

using model::Machine;
using model::Times;
using model::Transfer;

WayEstimate estimate(Way way, std::string what, std::string setting, const Times& times,
                     const model::Errors& errors) {
  return {way,
          std::move(what),
          std::move(setting),
          "",
          between(times.to_log_seconds, errors),
          between(times.to_file_seconds, errors)};
}

WayEstimate through_log(std::string what, std::string setting, const Machine& machine,
                        const Transfer& transfer) {
  return estimate(Way::log, std::move(what), std::move(setting), log_times(machine, transfer),
                  model::kLogErrors);
}

// As in a run's advice: of the calls that there are now, as many as make kCombinedBytes become one.
Transfer combined(const Transfer& transfer) {
  const double factor = std::min(transfer.calls, std::floor(kCombinedBytes / transfer.call_bytes));
  Transfer fewer = transfer;
  if (factor <= 1) return fewer;
  fewer.call_bytes *= factor;
  fewer.pieces_per_call *= factor;
  fewer.calls = std::ceil(transfer.calls / factor);
  fewer.compute_seconds *= transfer.calls / fewer.calls;
  return fewer;
}

}  // namespace

std::vector<WayEstimate> estimate_ways(const Pattern& pattern, const Machine& machine) {
  const Transfer& transfer = pattern.transfer;
  // A library reads and writes the gaps between pieces; pmio's own way writes piece by piece.
  Transfer by_piece = transfer;
  by_piece.call_bytes = transfer.piece_bytes();
  by_piece.calls = transfer.calls * transfer.pieces_per_call;
  by_piece.pieces_per_call = 1;
  std::vector<WayEstimate> ways{
      estimate(Way::library, "independently, without pmio", "pmio_mode=off",
               independent_times(machine, transfer),
               transfer.pieces_per_call > 1 ? model::kSievedErrors : model::kIndependentErrors),
      estimate(Way::independent, "independently", "pmio_mode=independent",
               independent_times(machine, by_piece), model::kIndependentErrors),
      estimate(Way::two_phase, "two-phase", "pmio_mode=twophase", two_phase_times(machine, transfer),
               model::kTwoPhaseErrors),
      through_log("log", "pmio_mode=log", machine, transfer)};
  if (transfer.nodes == 1 && transfer.piece_bytes() >= kStraightBytes) return ways;
  if (!pattern.has_huge_pages) {
    Machine huge = machine;
    huge.log.cold_bytes_per_second =
        std::max(huge.log.cold_bytes_per_second, kHugeOfWarm * huge.log.warm_bytes_per_second);
    ways.push_back(through_log("log of huge pages", "pmio_mode=log, and its tmpfs mounted with huge=advise",
                               huge, transfer));
  }
  const double rank_bytes =
      transfer.calls * (transfer.call_bytes + transfer.records() * machine.log.record_bytes);
  if (rank_bytes * transfer.ranks_of_node() > machine.log.capacity_bytes) {
    Machine roomy = machine;
    roomy.log.capacity_bytes = rank_bytes * transfer.ranks_of_node();
    ways.push_back(through_log("log with room for all",
                               "pmio_mode=log, pmio_log_size=" + size_text(rank_bytes), roomy, transfer));
  }
  const Transfer fewer = combined(transfer);
  if (fewer.calls < transfer.calls) {
    ways.push_back(through_log("log, one call for many", "pmio_mode=log", machine, fewer));
    ways.back().code = "write what lies in " + count_text(std::ceil(transfer.calls / fewer.calls)) +
                       " calls by one, with a datatype or a file view";
  }
  return ways;
}

std::vector<Change> changes_for(const Pattern& pattern, const std::vector<WayEstimate>& ways) {
  const auto now =
      std::find_if(ways.begin(), ways.end(), [&](const WayEstimate& way) { return way.way == pattern.now; });
  const double from = now->of(pattern.goal).likely;
  std::vector<Change> changes;
  for (const WayEstimate& way : ways) {
    if (&way == &*now || way.way == Way::library) continue;
    const Estimate& to = way.of(pattern.goal);
    if (to.high > from || from - to.likely < kLeastGain * from) continue;
    changes.push_back({.what = way.what,
                       .setting = way.setting,
                       .code = way.code,
                       .basis = Basis::model,
                       .from_seconds = from,
                       .to = to});
  }
  rank_by_gain(&changes);
  return changes;
}

}  // namespace pmio::advise
