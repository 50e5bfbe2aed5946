// How `pmio simulate` tells its results.
#pragma once

#include <array>

#include "simulate/outcome.h"
#include "simulate/risk.h"
#include "simulate/scenario.h"

namespace pmio::cli {

struct SimulatedWay {
  simulate::Outcome outcome;
  simulate::Risk risk;
};
// By simulate::Way.
using SimulatedWays = std::array<SimulatedWay, 3>;

void print_simulation(const simulate::Scenario& scenario, const SimulatedWays& ways);
void print_simulation_json(const simulate::Scenario& scenario, const SimulatedWays& ways);

}  // namespace pmio::cli
