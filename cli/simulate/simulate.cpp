// `pmio simulate`: a job that writes checkpoints, on 10 to 100,000 nodes, by each of three ways.
#include "simulate/simulate.h"

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/simulate/options.h"
#include "cli/simulate/report.h"

namespace pmio::cli {
namespace {

int simulate_job(const SimulateOptions& options) {
  const auto scenario = scenario_of(options);
  if (!scenario.ok()) {
    std::fprintf(stderr, "pmio: %s\n", scenario.status().message().c_str());
    return 1;
  }
  SimulatedWays ways;
  for (const auto way : {simulate::Way::two_phase, simulate::Way::independent, simulate::Way::log}) {
    SimulatedWay& one = ways.at(static_cast<size_t>(way));
    one.outcome = simulate::simulate(scenario.value(), way);
    one.risk = simulate::risk_of(scenario.value(), one.outcome);
  }
  (options.json ? print_simulation_json : print_simulation)(scenario.value(), ways);
  return 0;
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Simulate a job that writes checkpoints: two-phase, independently, and through the log");
  add_simulate_options(*command, *options);
  command->footer(
      "In brackets: what holds if an option is not given. docs/simulate.md says what is modelled.");
  command->callback([options] { set_exit_code(simulate_job(*options)); });
}

static const Registration registration(add_simulate);

}  // namespace pmio::cli
