#include "cli/common/report_format.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>

namespace pmio::cli {
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

std::string human_ranks(const std::vector<uint32_t>& ascending) {
  std::string text;
  for (size_t i = 0; i < ascending.size();) {
    size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) last++;
    if (!text.empty()) text += ',';
    text += std::to_string(ascending[i]);
    if (last > i) text.append(1, '-').append(std::to_string(ascending[last]));
    i = last + 1;
  }
  return text.empty() ? "none" : text;
}

std::string hexadecimal_id(uint64_t id) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, id);
  return text;
}

std::string local_time(uint64_t realtime_ns) {
  const auto seconds = static_cast<time_t>(realtime_ns / 1'000'000'000);
  tm parts{};
  char text[32] = "?";
  if (localtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

void print_json(const nlohmann::ordered_json& document) {
  std::printf("%s\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

void Table::print() const {
  std::vector<size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); i++) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i == 0 ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

}  // namespace pmio::cli
