// A discrete-event simulation of a job that writes checkpoints, by each of three ways.
//
// The errors are those of what it is told: see docs/simulate.md for what is modelled and what is not. The
// same scenario gives the same outcome, whatever the machine. Pure functions; threads: any.
#pragma once

#include "simulate/outcome.h"
#include "simulate/scenario.h"

namespace pmio::simulate {

// The scenario is one that `check` accepts. A log whose leaders cannot have their descriptors is simulated
// all the same; Outcome::not_logged says so.
Outcome simulate(const Scenario& scenario, Way way);

}  // namespace pmio::simulate
