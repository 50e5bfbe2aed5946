#include "cli/stats/history.h"

#include <algorithm>

namespace pmio::cli {

using Json = nlohmann::ordered_json;

Series series_of(const Json& rank, std::string_view name, uint64_t begin_ns) {
  Series series;
  const auto history = rank.find("history");
  if (history == rank.end()) return series;
  const Json& names = history->at("names");
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return series;
  const auto column = static_cast<size_t>(found - names.begin()) + 1;
  const uint64_t since = rank.value("start_realtime_ns", begin_ns) - begin_ns;
  for (const Json& point : history->at("points")) {
    series.at_ns.push_back(since + point.at(0).get<uint64_t>() * 1000);
    series.values.push_back(point.at(column).get<uint64_t>());
  }
  return series;
}

uint64_t growth(const Series& series, size_t i) {
  const uint64_t before = i > 0 ? series.values[i - 1] : 0;
  return series.values[i] > before ? series.values[i] - before : 0;
}

}  // namespace pmio::cli
