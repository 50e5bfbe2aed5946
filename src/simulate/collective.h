// What a collective write costs before its bytes are written: the classical two phases, and pmio's engine.
// Form: two_phase_times of model/ways.h. Pure functions; threads: any.
#pragma once

#include "simulate/scenario.h"

namespace pmio::simulate {

// How the bytes of one call are dealt to the aggregators.
struct CallShape {
  uint64_t aggregators = 1;    // that have something of a call
  uint64_t request_bytes = 1;  // of a write by an aggregator
  double windows = 1;          // of an aggregator, each exchanged and written before the next
  double messages = 0;         // of data, that an aggregator receives, of all windows together
};
CallShape call_shape(const Scenario& scenario);

// Of one call, without the writes. Copies within nodes, what is exchanged, and the bytes between nodes, by
// the slowest of sender, network and receiver.
double exchange_seconds(const Scenario& scenario);

}  // namespace pmio::simulate
