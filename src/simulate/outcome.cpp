#include "simulate/outcome.h"

#include <algorithm>

namespace pmio::simulate {
namespace {

double mean(const std::vector<Checkpoint>& checkpoints, double Checkpoint::*end) {
  double sum = 0;
  for (const Checkpoint& each : checkpoints) sum += each.*end - each.begun;
  return checkpoints.empty() ? 0 : sum / static_cast<double>(checkpoints.size());
}

double most(const std::vector<Checkpoint>& checkpoints, double Checkpoint::*end) {
  double most = 0;
  for (const Checkpoint& each : checkpoints) most = std::max(most, each.*end - each.begun);
  return most;
}

}  // namespace

const char* name_of(Way way) {
  switch (way) {
    case Way::two_phase:
      return "two-phase";
    case Way::independent:
      return "independent";
    case Way::log:
      break;
  }
  return "log";
}

double Outcome::to_log_seconds() const { return mean(checkpoints, &Checkpoint::written); }
double Outcome::most_to_log_seconds() const { return most(checkpoints, &Checkpoint::written); }
double Outcome::to_file_seconds() const { return mean(checkpoints, &Checkpoint::in_file); }
double Outcome::most_to_file_seconds() const { return most(checkpoints, &Checkpoint::in_file); }

}  // namespace pmio::simulate
