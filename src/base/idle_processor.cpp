#include "base/idle_processor.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/memory_limits.h"

namespace pmio {

// "0.20 0.18 0.12 1/80 11206": of the fourth word, what is before the slash.
bool has_idle_processor(std::string_view loadavg, uint64_t processors) {
  for (int word = 0; word < 3; ++word) {
    const size_t space = loadavg.find(' ');
    if (space == loadavg.npos) return true;
    loadavg.remove_prefix(space + 1);
  }
  uint64_t running = 0;
  const char* const end = loadavg.data() + std::min(loadavg.find('/'), loadavg.size());
  return std::from_chars(loadavg.data(), end, running).ec != std::errc() || running <= processors;
}

uint64_t online_processors() {
  static const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors <= 0 ? 1 : static_cast<uint64_t>(processors);
}

bool has_idle_processor() {
  return has_idle_processor(read_system_file("/proc/loadavg").value_or(""), online_processors());
}

}  // namespace pmio
