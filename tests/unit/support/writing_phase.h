// A phase of writing of src/simulate by itself.
#pragma once

#include <vector>

#include "simulate/writing.h"

namespace pmio::test {

struct WritingPhase {
  double seconds = 0;
  uint64_t written = 0;
  double work = 0;  // of all servers together, seconds
};

inline WritingPhase write_phase(const simulate::Scenario& scenario,
                                const std::vector<simulate::Writer>& writers) {
  struct Ending final : simulate::Actor {
    explicit Ending(simulate::EventLoop& of) : loop(of) {}
    void wake(uint32_t /*what*/) override { at = loop.now(); }
    simulate::EventLoop& loop;
    double at = -1;
  };
  simulate::EventLoop loop;
  simulate::Path path(scenario);
  simulate::Writing writing(loop, path, scenario.precision.steps, scenario.storage.stripe_bytes);
  Ending ending(loop);
  writing.begin(writers, ending, 0);
  loop.run();
  return {ending.at, path.written_bytes(), path.server_work_seconds()};
}

}  // namespace pmio::test
