#include "cli/calibrate/repetitions.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cli/common/scratch.h"

namespace pmio::cli {
namespace {

constexpr size_t kBarColumns = 30;

}  // namespace

Progress::Progress(size_t steps) : steps_(steps), shown_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void Progress::begin(const std::string& what) {
  const size_t filled = kBarColumns * std::min(begun_, steps_) / steps_;
  begun_++;
  if (!shown_) return;
  const std::string bar = std::string(filled, '#') + std::string(kBarColumns - filled, '.');
  std::fprintf(stderr, "\r\033[K[%s] %zu/%zu %.40s", bar.c_str(), begun_, steps_, what.c_str());
  std::fflush(stderr);
}

Status repeat(const Effort& effort, const std::function<Status()>& lap) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(effort.seconds);
  for (uint32_t done = 0; done < effort.laps && (done < effort.least_laps || Clock::now() < end); done++) {
    PMIO_TRY(lap());
    if (Interruptions::signal_that_came() != 0) return {Code::busy, "interrupted; nothing was written"};
  }
  return {};
}

}  // namespace pmio::cli
