// A program that writes its checkpoints without a log: all ranks independently, or collectively. Threads:
// one.
#pragma once

#include "simulate/path.h"
#include "simulate/program.h"
#include "simulate/writing.h"

namespace pmio::simulate {

class DirectProgram final : public Program {
 public:
  DirectProgram(const Scenario& scenario, EventLoop& loop, Path& path, Outcome& outcome);
  void wake(uint32_t what) override;

 private:
  enum What : uint32_t { kExchanged = kComputed + 1, kWritten };
  void begin_part();
  void write_part();
  void end_part();
  std::vector<Writer> independent_writers() const;
  std::vector<Writer> aggregators() const;

  Writing writing_;
  uint64_t parts_;  // of a checkpoint
  uint64_t part_ = 0;
  uint64_t calls_ = 0;  // of this part; collective
  uint64_t calls_before_ = 0;
};

}  // namespace pmio::simulate
