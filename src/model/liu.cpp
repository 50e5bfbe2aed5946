#include "model/liu.h"

#include <cmath>
#include <numeric>

namespace pmio::liu {
namespace {

double total_mb(const Workload& workload) {
  return std::accumulate(workload.msg_size_mb.begin(), workload.msg_size_mb.end(), 0.0);
}

}  // namespace

double comm_seconds(const Platform& platform, const Workload& workload) {
  double seconds = 0;
  for (const double msg_size_mb : workload.msg_size_mb)
    seconds += platform.t_s_seconds + platform.t_w_seconds_per_mb * msg_size_mb * workload.tau;
  return seconds;
}

double collective_io_seconds(const Platform& platform, const Workload& workload) {
  return total_mb(workload) / platform.bdw_seq_mb_per_second;
}

double collective_seconds(const Platform& platform, const Workload& workload) {
  return comm_seconds(platform, workload) + collective_io_seconds(platform, workload) +
         platform.t_other_seconds;
}

double individual_io_seconds(const Platform& platform, const Workload& workload) {
  return total_mb(workload) / platform.bdw_ran_mb_per_second;
}

double individual_seconds(const Platform& platform, const Workload& workload) {
  return individual_io_seconds(platform, workload) + platform.t_other_seconds;
}

double estimated_tau(uint32_t processes, uint32_t aggregators) {
  return static_cast<double>(processes - aggregators) / processes;
}

std::vector<double> messages(double total_mb, double buffer_mb) {
  std::vector<double> sizes(static_cast<size_t>(std::floor(total_mb / buffer_mb)), buffer_mb);
  const double rest = total_mb - buffer_mb * static_cast<double>(sizes.size());
  if (rest > 0) sizes.push_back(rest);
  return sizes;
}

}  // namespace pmio::liu
