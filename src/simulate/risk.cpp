#include "simulate/risk.h"

#include <algorithm>
#include <random>

namespace pmio::simulate {
namespace {

// A value that stays from one moment to the next one in a list.
double held_at(const std::vector<Held>& held, double seconds) {
  const auto later = std::upper_bound(held.begin(), held.end(), seconds,
                                      [](double at, const Held& each) { return at < each.since; });
  return later == held.begin() ? 0 : (later - 1)->bytes;
}

double mean_held(const Outcome& outcome) {
  double sum = 0;
  for (size_t at = 0; at < outcome.held.size(); at++) {
    const double until = at + 1 < outcome.held.size() ? outcome.held[at + 1].since : outcome.seconds;
    sum += outcome.held[at].bytes * (until - outcome.held[at].since);
  }
  return sum / outcome.seconds;
}

struct Safe {
  double since = 0;
  double state = 0;  // which the newest complete checkpoint holds
};

// If the log is durable, what is written into it is safe.
std::vector<Safe> safe_states(const Scenario& scenario, const Outcome& outcome) {
  const bool by_log = scenario.log.durable && outcome.way == Way::log;
  std::vector<Safe> states{{0, 0}};
  for (const Checkpoint& each : outcome.checkpoints)
    states.push_back({by_log ? each.written : each.in_file, each.begun});
  return states;
}

double repeated_at(const std::vector<Safe>& states, double seconds) {
  const auto later = std::upper_bound(states.begin(), states.end(), seconds,
                                      [](double at, const Safe& each) { return at < each.since; });
  return seconds - (later - 1)->state;
}

// Between two moments the work to be repeated grows by a second a second.
double mean_repeated(const std::vector<Safe>& states, double end) {
  double sum = 0;
  for (size_t at = 0; at < states.size(); at++) {
    const double from = states[at].since;
    const double until = at + 1 < states.size() ? states[at + 1].since : end;
    if (until > from) sum += (until - from) * ((from + until) / 2 - states[at].state);
  }
  return sum / end;
}

}  // namespace

Risk risk_of(const Scenario& scenario, const Outcome& outcome) {
  Risk risk;
  const double nodes = static_cast<double>(scenario.job.nodes), mtbf = scenario.failures.node_mtbf_seconds;
  if (mtbf <= 0 || outcome.seconds <= 0) return risk;
  const std::vector<Safe> states = safe_states(scenario, outcome);
  risk.failures = nodes * outcome.seconds / mtbf;
  risk.held_bytes = mean_held(outcome);
  risk.lost_bytes = scenario.log.durable ? 0 : risk.failures * risk.held_bytes;
  risk.repeated_seconds = mean_repeated(states, outcome.seconds);
  // A failure that is known to fall into the run falls on any moment of it alike.
  std::mt19937_64 random(scenario.failures.seed);
  for (uint64_t draw = 0; draw < kDraws; draw++) {
    const double at = static_cast<double>(random() >> 11) * 0x1p-53 * outcome.seconds;
    risk.drawn_held_bytes += held_at(outcome.held, at) / static_cast<double>(kDraws);
    risk.drawn_repeated_seconds += repeated_at(states, at) / static_cast<double>(kDraws);
  }
  return risk;
}

}  // namespace pmio::simulate
