#include "advise/replay.h"

#include <algorithm>

namespace pmio::advise {
namespace {

class Log {
 public:
  Log(const JobRecord& job, const LogSettings& settings, const model::LogMedium& log)
      : settings_(settings), medium_(log), rate_(job.drain_bytes / job.drain_seconds) {}

  void compute(double seconds) {
    if (!settings_.drains_in_background) return;
    bytes_ = std::max(0.0, bytes_ - rate_ * std::max(0.0, seconds - medium_.pause_seconds));
  }

  void write(double bytes, double seconds) {
    bytes_ += bytes;
    const double start = medium_.drain_from_fraction * settings_.capacity_bytes;
    if (settings_.drains_in_background && bytes_ > start) bytes_ = std::max(start, bytes_ - rate_ * seconds);
    waits_.most_bytes = std::max(waits_.most_bytes, std::min(bytes_, settings_.capacity_bytes));
    if (bytes_ <= settings_.capacity_bytes) return;
    waits_.room_seconds += (bytes_ - settings_.capacity_bytes) / rate_;
    bytes_ = settings_.capacity_bytes;
  }

  void close() {
    if (settings_.closes_in_background) return;
    waits_.close_seconds += bytes_ / rate_;
    bytes_ = 0;
  }

  Waits end() {
    waits_.end_seconds = bytes_ / rate_;
    return waits_;
  }

 private:
  const LogSettings& settings_;
  const model::LogMedium& medium_;
  const double rate_;
  double bytes_ = 0;
  Waits waits_;
};

}  // namespace

LogSettings settings_of(const JobRecord& job) {
  return {job.capacity_bytes * job.ranks_of_node(), job.closes_in_background, job.drains_in_background};
}

Waits replay(const JobRecord& job, const LogSettings& settings, const model::LogMedium& medium) {
  Log log(job, settings, medium);
  for (const Step& step : job.steps) {
    if (step.closes_first) log.close();
    log.compute(step.compute_seconds);
    log.write(step.bytes * job.ranks_of_node(), step.write_seconds);
    if (step.closes_last) log.close();
  }
  return log.end();
}

}  // namespace pmio::advise
