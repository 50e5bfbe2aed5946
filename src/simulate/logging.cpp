#include "simulate/logging.h"

#include <algorithm>

#include "simulate/shares.h"

namespace pmio::simulate {
namespace {

constexpr double kPartsInALog = 4;  // a part is no larger than that part of the log

uint64_t log_parts_of(const Scenario& scenario) {
  const Job& job = scenario.job;
  const uint64_t by_calls = std::min(job.records, scenario.precision.calls);
  const double log_bytes = static_cast<double>(job.node_bytes()) * scenario.log.log_bytes_of_byte(job);
  const double by_capacity = kPartsInALog * log_bytes / scenario.log.medium.capacity_bytes;
  return std::min(job.node_bytes(), std::max(by_calls, static_cast<uint64_t>(by_capacity) + 1));
}

}  // namespace

LogProgram::LogProgram(const Scenario& scenario, EventLoop& loop, NodeLog& log, Drain& drain,
                       Outcome& outcome)
    : Program(scenario, loop, outcome), log_(log), drain_(drain), parts_(log_parts_of(scenario)) {
  drain.set_program(this);
}

uint64_t LogProgram::part_bytes() const { return even_share(scenario_.job.node_bytes(), parts_, part_); }

void LogProgram::wake(uint32_t what) {
  switch (what) {
    case kComputed:
      begin_checkpoint();
      part_ = 0;
      return append_or_wait();
    case kAppended:
      return appended();
    default:  // a close that waits is over
      checkpoint_is_written();
  }
}

void LogProgram::append_or_wait() {
  const uint64_t bytes = part_bytes();
  if (!log_.has_room(bytes)) {
    if (!waits_) waits_since_ = loop_.now();
    waits_ = true;
    return drain_.want();
  }
  if (waits_) outcome_.log_wait_seconds += loop_.now() - waits_since_;
  waits_ = false;
  const double calls = static_cast<double>(scenario_.job.records) / static_cast<double>(parts_);
  loop_.at(loop_.now() + log_.append_seconds(bytes, calls), *this, kAppended);
}

void LogProgram::has_room() {
  if (waits_) append_or_wait();
}

void LogProgram::appended() {
  const uint64_t bytes = part_bytes();
  log_.append(loop_.now(), bytes);
  appended_ += bytes;
  if (++part_ < parts_) {
    if (log_.is_filling()) drain_.want();
    return append_or_wait();
  }
  drain_.close(appended_);
  if (!scenario_.log.close_waits) checkpoint_is_written();
}

void LogProgram::is_complete(double seconds) {
  outcome_.checkpoints[complete_++].in_file = seconds;
  outcome_.seconds = std::max(outcome_.seconds, seconds);
  if (scenario_.log.close_waits) loop_.at(seconds, *this, kComplete);
}

}  // namespace pmio::simulate
