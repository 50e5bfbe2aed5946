#include "cli/stats/job_json.h"

#include <algorithm>

#include "cli/stats/files.h"

namespace pmio::cli {

using Json = nlohmann::ordered_json;

Numbers total_of(const Ranks& ranks) {
  Numbers total;
  for (const RankStatistics& rank : ranks) total.add(rank.numbers);
  return total;
}

uint64_t slowest(const Ranks& ranks, uint64_t (Numbers::*time)() const) {
  uint64_t longest = 0;
  for (const RankStatistics& rank : ranks) longest = std::max(longest, (rank.numbers.*time)());
  return longest;
}

double peak_fill(const Ranks& ranks) {
  double most = 0;
  for (const RankStatistics& rank : ranks) {
    const Numbers& n = rank.numbers;
    if (n.log_capacity_bytes > 0)
      most =
          std::max(most, static_cast<double>(n.log_peak_bytes) / static_cast<double>(n.log_capacity_bytes));
  }
  return most;
}

double bytes_per_second(uint64_t bytes, uint64_t ns) {
  return ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(ns) * 1e9;
}

Json json_of(const JobStatistics& job) {
  const Numbers total = total_of(job.ranks);
  Json document{{"format", "pmio-stats-1"},
                {"job", job.id},
                {"state", job.state},
                {"program", job.program()},
                {"host", job.fact("host")},
                {"start_realtime_ns", job.number("start_realtime_ns")},
                {"wall_ns", job.ranks.empty() ? Json() : Json(job.number("wall_ns"))},
                {"time_to_log_ns", slowest(job.ranks, &Numbers::to_log_ns)},
                {"time_to_file_ns", slowest(job.ranks, &Numbers::to_file_ns)},
                {"peak_fill", peak_fill(job.ranks)},
                {"wait_ns", total.append_wait_ns},
                {"drain_bytes_per_second", bytes_per_second(total.drain_bytes, total.drain_ns)},
                {"bytes_in_log", job.bytes_in_log ? Json(*job.bytes_in_log) : Json()},
                {"total", total.json()},
                {"files", Json::array()},
                {"ranks", Json::array()}};
  for (const FileOfJob& file : files_of(job.ranks)) document["files"].push_back(file.json());
  for (const RankStatistics& rank : job.ranks) document["ranks"].push_back(rank.document);
  return document;
}

}  // namespace pmio::cli
