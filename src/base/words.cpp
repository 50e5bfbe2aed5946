#include "base/words.h"

#include <cstddef>
#include <cstdio>
#include <iterator>

namespace pmio {
namespace {

std::string printed(const char* format, double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, format, value, unit);
  return text;
}

}  // namespace

std::string human_bytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    unit++;
  }
  return printed("%.1f %s", value, units[unit]);
}

std::string human_time(uint64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  if (value < 1e6) return printed("%.1f %s", value / 1e3, "us");
  if (value < 1e9) return printed("%.1f %s", value / 1e6, "ms");
  return printed("%.2f %s", value / 1e9, "s");
}

std::string human_duration(double seconds) {
  if (seconds >= 2 * 86400.0) return printed("%.1f %s", seconds / 86400, "days");
  if (seconds >= 2 * 3600.0) return printed("%.1f %s", seconds / 3600, "h");
  if (seconds >= 300) return printed("%.1f %s", seconds / 60, "min");
  return human_time(static_cast<uint64_t>(seconds * 1e9));
}

std::string human_count(uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), 1, ',');
  return text;
}

std::string human_decimal(double value) {
  char text[64];
  std::snprintf(text, sizeof text, value != 0 && value < 9.9995 ? "%.3f" : "%.1f", value);
  return text;
}

}  // namespace pmio
