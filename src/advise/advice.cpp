#include "advise/advice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "advise/rules.h"
#include "base/words.h"

namespace pmio::advise {
namespace {

constexpr double kLeastOfRun = 0.01;
// Two runs of one program, on a quiet machine (docs/model.md).
constexpr double kRunsDiffer = 0.15;

// Statistics are files, which may hold any number.
uint64_t whole(double number) { return static_cast<uint64_t>(std::clamp(number, 0.0, 9e18)); }

}  // namespace

void rank_by_gain(Changes* changes) {
  std::stable_sort(changes->begin(), changes->end(),
                   [](const Change& a, const Change& b) { return a.gain_seconds() > b.gain_seconds(); });
}

Estimate less(const JobRecord& job, double least, double likely, double most) {
  const auto after = [io = job.io_seconds()](double gain) { return std::max(0.0, io - gain); };
  return {after(most), after(likely), after(least)};
}

Estimate between(double seconds, const model::Errors& errors) {
  return {seconds * errors.least, seconds * errors.likely, seconds * errors.most};
}

std::string size_text(double bytes) { return std::to_string(whole(std::ceil(bytes / (1 << 20)))) + "M"; }
std::string bytes_text(double bytes) { return human_bytes(whole(bytes)); }
std::string count_text(double number) { return human_count(whole(number)); }

Changes changes_for(const JobRecord& job, const model::Machine& machine) {
  Changes changes;
  for (const auto rule : {advise_log, advise_calls, advise_files}) rule(job, machine, &changes);
  const double io = job.io_seconds();
  for (Change& change : changes) change.from_seconds = io;
  std::erase_if(changes, [&](const Change& change) {
    return !std::isfinite(change.to.likely) || change.to.high > io ||
           change.gain_seconds() < kLeastGain * io || change.gain_seconds() < kLeastOfRun * job.wall_seconds;
  });
  for (Change& change : changes) {
    change.to.low *= 1 - kRunsDiffer;
    change.to.high *= 1 + kRunsDiffer;
  }
  rank_by_gain(&changes);
  return changes;
}

}  // namespace pmio::advise
