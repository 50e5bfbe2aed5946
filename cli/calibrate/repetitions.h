// Repeated measurements, and how far they are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/profile/profile.h"

namespace pmio::cli {

struct Effort {
  uint32_t laps = 9;        // of each measurement
  uint32_t least_laps = 3;  // also if they take longer than that
  double lap_seconds = 0.05;
  double seconds = 3;              // of all laps of a measurement
  uint64_t most_bytes = 64 << 20;  // of a lap
};

// A bar on stderr, if that is a terminal.
class Progress {
 public:
  explicit Progress(size_t steps);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void begin(const std::string& what);  // the next step

 private:
  size_t steps_, begun_ = 0;
  bool shown_;
};

// Laps until there are enough, or they have taken too long. busy: a signal came (cli/common/scratch.h).
Status repeat(const Effort& effort, const std::function<Status()>& lap);

}  // namespace pmio::cli
