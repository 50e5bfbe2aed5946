// The rules behind changes_for(): each looks at one thing that could be done otherwise. Pure functions;
// threads: any.
#pragma once

#include <vector>

#include "advise/advice.h"

namespace pmio::advise {

using Changes = std::vector<Change>;

// What the job waits after a change that gains so much, at least, likely and at most. Seconds.
Estimate less(const JobRecord& job, double least, double likely, double most);
// What the model gives, between its errors.
Estimate between(double seconds, const model::Errors& errors);

// The log: its size, its medium, when it is drained.
void advise_log(const JobRecord& job, const model::Machine& machine, Changes* changes);
// Calls: many small ones, many syncs.
void advise_calls(const JobRecord& job, const model::Machine& machine, Changes* changes);
// Files that did not go through the log, or that did for no good.
void advise_files(const JobRecord& job, const model::Machine& machine, Changes* changes);

void rank_by_gain(Changes* changes);

// From so large contiguous pieces on, pmio writes them straight to a file of one node by itself (decision
// 25).
constexpr double kStraightBytes = 32 << 10;
// Of one call that takes the place of many.
constexpr double kCombinedBytes = 1 << 20;
// Of the rate at which a warm log takes bytes, what memory of huge pages takes that nobody has touched
// (decision 27).
constexpr double kHugeOfWarm = 0.7;

// "48M": as settings take it, rounded up to a MiB.
std::string size_text(double bytes);
// base/words.h, of what is counted in doubles here.
std::string bytes_text(double bytes);
std::string count_text(double number);

}  // namespace pmio::advise
