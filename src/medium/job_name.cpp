#include "medium/job_name.h"

#include <charconv>
#include <cinttypes>
#include <cstdio>

namespace pmio {

std::string job_name(uint64_t id) {
  char name[32];
  std::snprintf(name, sizeof name, "job-%016" PRIx64, id);
  return name;
}

std::optional<uint64_t> job_of(std::string_view name) {
  constexpr std::string_view kPrefix = "job-";
  if (name.substr(0, kPrefix.size()) != kPrefix || name.size() == kPrefix.size()) return {};
  uint64_t id = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, id, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return {};
  return id;
}

}  // namespace pmio
