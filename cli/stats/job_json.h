// A job's statistics as one document: what `pmio stats --json` prints, and `pmio report` shows.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/stats/jobs.h"

namespace pmio::cli {

using Ranks = std::vector<RankStatistics>;

Numbers total_of(const Ranks& ranks);
uint64_t slowest(const Ranks& ranks, uint64_t (Numbers::*time)() const);
// Of the rank whose log was fullest, 0 to 1.
double peak_fill(const Ranks& ranks);
double bytes_per_second(uint64_t bytes, uint64_t ns);

nlohmann::ordered_json json_of(const JobStatistics& job);

}  // namespace pmio::cli
