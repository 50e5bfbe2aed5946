// What a job would gain by doing something else: counterfactuals, ranked by gain.
//
// An estimate is the time that the job would wait for its I/O after the change, between bounds. Where it
// follows from what the run measured, the bounds are of what the statistics do not tell (how much of the
// computing came before a close, say). Where it comes from the model, they are those of the model's errors
// (model/ways.h). A change is told only if it gains something also at its upper bound. Then the bounds are
// widened by what two runs of one program differ. Pure functions;
// threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advise/record.h"
#include "model/ways.h"

namespace pmio::advise {

// Seconds.
struct Estimate {
  double low = 0, likely = 0, high = 0;
};

enum class Basis { measured, model };

struct Change {
  std::string what;          // "a larger log"
  std::string setting = {};  // "pmio_log_size=48M"; empty: the program is to be changed
  std::string code = {};     // how
  std::string because = {};  // one sentence
  std::string file = {};     // the file that it is about; empty: all
  Basis basis = Basis::measured;
  double from_seconds = 0;
  Estimate to = {};

  double gain_seconds() const { return from_seconds - to.likely; }
};

// Gains below this part of the time are not worth a word.
constexpr double kLeastGain = 0.1;

// The largest gain first. Each is told as if it were the only change. Gains below kLeastGain of the I/O time
// and below 1 % of the run are left out.
std::vector<Change> changes_for(const JobRecord& job, const model::Machine& machine);

}  // namespace pmio::advise
