// What `pmio simulate` is told: a profile, and options that go before it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "simulate/scenario.h"

namespace pmio::cli {

struct SimulateOptions {
  std::string profile;  // of pmio calibrate; empty: the built-in figures
  std::vector<std::function<void(simulate::Scenario&)>> given;
  uint64_t rank_bytes = 0;  // 0: records were given, or neither
  bool json = false;
};

void add_simulate_options(CLI::App& command, SimulateOptions& options);

// Errors: those of the profile, and what `simulate::check` refuses.
Result<simulate::Scenario> scenario_of(const SimulateOptions& options);

}  // namespace pmio::cli
