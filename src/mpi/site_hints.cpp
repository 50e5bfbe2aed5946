#include "mpi/site_hints.h"

#include <string>
#include <utility>

#include "base/mutex.h"
#include "mpi/errors.h"

namespace pmio {
namespace {

// Each open asks, and the environment hardly changes.
struct LastHints {
  Mutex mutex;
  bool is_known PMIO_GUARDED_BY(mutex) = false;  // and depends on no other variables
  std::string environment PMIO_GUARDED_BY(mutex);
  Hints hints PMIO_GUARDED_BY(mutex);
};

Hints read_site_hints(bool say, bool* name_variables) {
  Hints hints;
  *name_variables = false;
  for (const auto& [key, value] : environment_hints()) {
    *name_variables = *name_variables || value.find('$') != std::string::npos;
    const Status status = set_hint(hints, key, value);
    if (!status.ok() && say) complain_once(status.message() + " (from the environment)");
  }
  return hints;
}

}  // namespace

Hints site_hints(bool say) {
  static LastHints& last = *new LastHints;
  std::string environment = environment_text();
  const LockGuard lock(last.mutex);
  if (say || !last.is_known || environment != last.environment) {
    bool name_variables = false;  // in a directory
    last.hints = read_site_hints(say, &name_variables);
    last.is_known = !name_variables;
    last.environment = std::move(environment);
  }
  return last.hints;
}

}  // namespace pmio
