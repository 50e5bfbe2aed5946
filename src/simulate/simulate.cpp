#include "simulate/simulate.h"

#include <cstdio>

#include "simulate/direct.h"
#include "simulate/logging.h"
#include "simulate/round_costs.h"

namespace pmio::simulate {
namespace {

std::string why_not_logged(const Scenario& scenario) {
  const double needed = descriptors_of_leader(scenario.job);
  if (scenario.log.descriptors == 0 || needed <= static_cast<double>(scenario.log.descriptors)) return {};
  char text[160];
  std::snprintf(text, sizeof text, "a leader needs %.0f descriptors, and has %.0f", needed,
                static_cast<double>(scenario.log.descriptors));
  return text;
}

void run_log(const Scenario& scenario, EventLoop& loop, Path& path, Outcome& outcome) {
  NodeLog log(scenario, outcome);
  Drain drain(scenario, loop, path, log, outcome);
  LogProgram program(scenario, loop, log, drain, outcome);
  outcome.held.push_back({});
  program.begin();
  loop.run();
  outcome.not_logged = why_not_logged(scenario);
  if (scenario.job.nodes == 1) return;
  outcome.rounds.questions = questions_of_leader(scenario.job);
  outcome.rounds.question_seconds = question_seconds(scenario);
  outcome.rounds.descriptors = descriptors_of_leader(scenario.job);
}

void run_direct(const Scenario& scenario, EventLoop& loop, Path& path, Outcome& outcome) {
  DirectProgram program(scenario, loop, path, outcome);
  program.begin();
  loop.run();
}

}  // namespace

Outcome simulate(const Scenario& scenario, Way way) {
  EventLoop loop;
  Path path(scenario);
  Outcome outcome;
  outcome.way = way;
  outcome.servers = static_cast<double>(scenario.storage.servers);
  (way == Way::log ? run_log : run_direct)(scenario, loop, path, outcome);
  outcome.written_bytes = path.written_bytes();
  outcome.server_work_seconds = path.server_work_seconds();
  outcome.events = loop.events();
  return outcome;
}

}  // namespace pmio::simulate
