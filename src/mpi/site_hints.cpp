#include "mpi/site_hints.h"

#include <cstdlib>
#include <string>

#include "base/mutex.h"
#include "mpi/errors.h"

namespace pmio {
namespace {

// Each open asks, and the environment hardly changes.
struct LastHints {
  Mutex mutex;
  SeenEnvironment environment PMIO_GUARDED_BY(mutex);
  bool overridden PMIO_GUARDED_BY(mutex) = false;
  SharedHints hints PMIO_GUARDED_BY(mutex);
};

Hints read_site_hints(bool say) {
  Hints hints;
  for (const auto& [key, value] : environment_hints()) {
    const Status status = set_hint(hints, key, value);
    if (!status.ok() && say) complain_once(status.message() + " (from the environment)");
  }
  return hints;
}

}  // namespace

SharedHints site_hints(bool say, bool* overridden) {
  static LastHints& last = *new LastHints;
  const LockGuard lock(last.mutex);
  if (say || !last.environment.is_now()) {
    last.environment.see();
    last.hints = SharedHints(read_site_hints(say));
    last.overridden = std::getenv("PMIO_HINTS") != nullptr || std::getenv("MPICH_MPIIO_HINTS") != nullptr;
  }
  if (overridden != nullptr) *overridden = last.overridden;
  return last.hints;
}

}  // namespace pmio
