// A pattern of writes that somebody describes, by each way that pmio has. Pure functions; threads: any.
#pragma once

#include <string>
#include <vector>

#include "advise/advice.h"
#include "model/ways.h"

namespace pmio::advise {

enum class Goal { time_to_log, time_to_file };

struct Pattern {
  model::Transfer transfer;
  Way now = Way::library;  // how it is written; library: independently, without pmio
  Goal goal = Goal::time_to_file;
  bool has_huge_pages = false;  // the log's memory
};

// Of one way, with its settings. Seconds as of model::Times.
struct WayEstimate {
  Way way = Way::library;
  std::string what, setting, code;
  Estimate to_log, to_file;
  const Estimate& of(Goal goal) const { return goal == Goal::time_to_log ? to_log : to_file; }
};

// The first four are the ways as they are: without pmio, independent, two-phase, log. Then the log with what
// could be better about it.
std::vector<WayEstimate> estimate_ways(const Pattern& pattern, const model::Machine& machine);

// What beats pattern.now, the largest gain first.
std::vector<Change> changes_for(const Pattern& pattern, const std::vector<WayEstimate>& ways);

}  // namespace pmio::advise
