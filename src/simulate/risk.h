// What failures of nodes cost a run that a simulation has gone through.
//
// Each node fails after an exponentially distributed time, by itself. The job ends at the first failure; the
// logs of the other nodes are recovered. The run itself is simulated without failures: these functions say
// what one at a random moment would find. Pure functions; threads: any.
#pragma once

#include "simulate/outcome.h"
#include "simulate/scenario.h"

namespace pmio::simulate {

struct Risk {
  double failures = 0;          // that are expected while the run lasts, of all nodes
  double held_bytes = 0;        // acknowledged and in no file, on the node that fails; the mean over the run
  double lost_bytes = 0;        // expected for the run, of failures as above: 0 if the log is durable
  double repeated_seconds = 0;  // of the run, to be done again after a failure; the mean over the run
  // Of failures at moments drawn by the seed, kDraws of them.
  double drawn_held_bytes = 0;
  double drawn_repeated_seconds = 0;
};

constexpr uint64_t kDraws = 10000;

Risk risk_of(const Scenario& scenario, const Outcome& outcome);

}  // namespace pmio::simulate
