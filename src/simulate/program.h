// What the programs of all ways do: compute, write a checkpoint, and so on. Threads: one.
#pragma once

#include "simulate/event_loop.h"
#include "simulate/outcome.h"
#include "simulate/scenario.h"

namespace pmio::simulate {

class Program : public Actor {
 public:
  // Computes. Then it is woken with kComputed.
  void begin() { loop_.at(loop_.now() + scenario_.job.compute_seconds, *this, kComputed); }

 protected:
  static constexpr uint32_t kComputed = 0;

  Program(const Scenario& scenario, EventLoop& loop, Outcome& outcome)
      : scenario_(scenario), loop_(loop), outcome_(outcome) {}
  ~Program() = default;

  void begin_checkpoint() {
    outcome_.computing_seconds += scenario_.job.compute_seconds;
    outcome_.checkpoints.push_back({.begun = loop_.now()});
  }
  // The program goes on, if that was not the last one.
  void checkpoint_is_written() {
    outcome_.checkpoints.back().written = loop_.now();
    if (outcome_.checkpoints.size() < scenario_.job.checkpoints) begin();
  }

  const Scenario& scenario_;
  EventLoop& loop_;
  Outcome& outcome_;
};

}  // namespace pmio::simulate
