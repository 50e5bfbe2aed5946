// Figure 11 of the paper by four readings of what it draws. Of the picture only its description is compared.
#include <algorithm>

#include "cli/model/comparison.h"
#include "cli/model/paper.h"
#include "model/liu.h"

namespace pmio::cli {
namespace {

// Section IV-E: 4 nodes, 4 processes on each, one aggregator a node; one iteration.
constexpr uint32_t kAggregators = 4;

FigurePoint point(const paper::Tradeoff& said, double tau, bool io_alone) {
  const liu::Platform platform{.t_s_seconds = paper::kTs.value,
                               .t_w_seconds_per_mb = paper::kTw.value,
                               .bdw_seq_mb_per_second = paper::kTableIV.bdw_seq[said.device].value,
                               .bdw_ran_mb_per_second = paper::kTableIV.bdw_ran[said.device].value};
  const liu::Workload one{{said.message_mb}, tau};
  const double collective =
      io_alone ? liu::collective_io_seconds(platform, one) : liu::collective_seconds(platform, one);
  return {paper::kNames[said.device],
          said.size,
          said.message_mb,
          liu::comm_seconds(platform, one),
          liu::individual_seconds(platform, one) - collective,
          said.cost_is_larger};
}

// The points of a device follow one another by size.
bool grow(const std::vector<FigurePoint>& points) {
  return std::adjacent_find(points.begin(), points.end(), [](const FigurePoint& a, const FigurePoint& b) {
           return a.device == b.device &&
                  (a.cost_seconds >= b.cost_seconds || a.benefit_seconds >= b.benefit_seconds);
         }) == points.end();
}

FigureReading reading(std::string name, double tau, bool io_alone) {
  FigureReading result{std::move(name), tau};
  for (const paper::Tradeoff& said : paper::kFigure11) result.points.push_back(point(said, tau, io_alone));
  result.both_grow = grow(result.points);
  return result;
}

}  // namespace

size_t FigureReading::followed() const {
  return static_cast<size_t>(
      std::count_if(points.begin(), points.end(), [](const FigurePoint& each) { return each.follows(); }));
}

std::vector<FigureReading> read_figure() {
  const double tau = liu::estimated_tau(paper::kProcesses, kAggregators);
  return {reading("benefit T_individual - T_collective", tau, false),
          reading("benefit T_individual - T_collective", 1 - tau, false),
          reading("benefit of the I/O alone (equation 5 - 3)", tau, true),
          reading("benefit of the I/O alone (equation 5 - 3)", 1 - tau, true)};
}

}  // namespace pmio::cli
