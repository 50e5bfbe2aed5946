#include "medium/job_name.h"

#include <charconv>
#include <cstddef>

namespace pmio {

// Asked at each open, so without a format to read.
std::string job_name(uint64_t id) {
  constexpr size_t kDigits = 16;
  std::string name = "job-0000000000000000";
  for (size_t at = name.size(); at > name.size() - kDigits; id >>= 4)
    name[--at] = "0123456789abcdef"[id & 15];
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
