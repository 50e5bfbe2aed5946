#include <algorithm>

#include "simulate/logging.h"

namespace pmio::simulate {
NodeLog::NodeLog(const Scenario& scenario, Outcome& outcome)
    : medium_(scenario.log.medium),
      outcome_(outcome),
      log_bytes_of_byte_(scenario.log.log_bytes_of_byte(scenario.job)),
      capacity_(scenario.log.medium.capacity_bytes),
      filling_(capacity_ * scenario.log.medium.drain_from_fraction),
      touched_(scenario.log.medium.warm_bytes) {}

double NodeLog::append_seconds(uint64_t bytes, double calls) const {
  const double cold = std::max(0.0, log_bytes(held_bytes() + bytes) - touched_);
  const double slower = 1 / medium_.cold_bytes_per_second - 1 / medium_.warm_bytes_per_second;
  return calls * (medium_.call_seconds + medium_.append_record_seconds) +
         static_cast<double>(bytes) / medium_.warm_bytes_per_second + cold * slower;
}

void NodeLog::append(double now, uint64_t bytes) {
  logged_ += bytes;
  const double held = log_bytes(held_bytes());
  touched_ = std::max(touched_, held);
  outcome_.most_held_bytes = std::max(outcome_.most_held_bytes, held);
  outcome_.held.push_back({now, static_cast<double>(held_bytes())});
}

void NodeLog::drain(double now, uint64_t bytes) {
  drained_ += bytes;
  outcome_.held.push_back({now, static_cast<double>(held_bytes())});
}

}  // namespace pmio::simulate
