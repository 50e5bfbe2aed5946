#include "cli/profile/messages.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/profile/place.h"

namespace pmio::cli {
namespace {

using nlohmann::json;

// Numbers above 0 only; empty: it is something else.
std::vector<double> numbers_of(const json& list) {
  std::vector<double> numbers;
  if (!list.is_array()) return {};
  for (const json& each : list) {
    const double number = each.is_number() ? each.get<double>() : 0;
    if (!std::isfinite(number) || number <= 0) return {};
    numbers.push_back(number);
  }
  return numbers;
}

Status something_else() {
  return {Code::corrupt, "the program of MPI has printed something else than its times"};
}

// A line for each round, as two figures.
Status add_figures(const json& rounds, const std::vector<double>& bytes, const std::string& start,
                   const std::string& per_byte, Figures* figures) {
  if (rounds.is_null()) return {};
  std::vector<double> starts, bytes_each;
  if (!rounds.is_array() || rounds.empty()) return something_else();
  for (const json& round : rounds) {
    const std::vector<double> seconds = numbers_of(round);
    if (seconds.size() != bytes.size()) return something_else();
    const auto line = fit_line(bytes, seconds);
    if (!line) continue;
    starts.push_back(line->start);
    bytes_each.push_back(line->per_byte);
  }
  if (starts.empty())
    return {Code::io, "messages take no longer the larger they are; try again when nothing else runs here"};
  (*figures)[start] = figure_of(std::move(starts));
  (*figures)[per_byte] = figure_of(std::move(bytes_each));
  return {};
}

}  // namespace

std::optional<Line> fit_line(const std::vector<double>& bytes, const std::vector<double>& seconds) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (size_t i = 0; i < bytes.size(); i++) {
    const double weight = 1 / (seconds[i] * seconds[i]);
    w += weight;
    wx += weight * bytes[i];
    wy += weight * seconds[i];
    wxx += weight * bytes[i] * bytes[i];
    wxy += weight * bytes[i] * seconds[i];
  }
  const double per_byte = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  const double start = (wy - per_byte * wx) / w;
  if (per_byte <= 0 || start <= 0) return std::nullopt;
  return Line{start, per_byte};
}

Result<ExchangeProfile> exchange_of(std::string_view printed) {
  const json document = json::parse(printed, nullptr, false);
  if (!document.is_object() || document.value("format", json()) != "pmio-messages-1") return something_else();
  const auto count = [&document](const char* name) -> uint32_t {
    const json number = document.value(name, json());
    return number.is_number_unsigned() ? static_cast<uint32_t>(number.get<uint64_t>()) : 0;
  };
  ExchangeProfile exchange{.date = utc_now(), .ranks = count("ranks"), .nodes = count("nodes")};
  const json mpi = document.value("mpi", json());
  const std::vector<double> bytes = numbers_of(document.value("bytes", json()));
  if (!mpi.is_string() || bytes.size() < 2 || exchange.ranks == 0) return something_else();
  exchange.mpi = mpi.get<std::string>();
  PMIO_TRY(add_figures(document.value("within", json()), bytes, "within_message_seconds",
                       "within_byte_seconds", &exchange.figures));
  PMIO_TRY(add_figures(document.value("between", json()), bytes, "message_seconds", "message_byte_seconds",
                       &exchange.figures));
  return exchange;
}

}  // namespace pmio::cli
