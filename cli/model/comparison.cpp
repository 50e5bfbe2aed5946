#include "cli/model/comparison.h"

#include <cmath>

#include "cli/model/recomputed.h"

namespace pmio::cli {

bool Comparison::follows() const { return std::abs(recomputed - *paper) <= rounding; }
double Comparison::difference_percent() const { return (recomputed / *paper - 1) * 100; }

std::vector<Section> compare_with_paper() {
  std::vector<Section> sections = compare_times();
  for (Section& section : compare_consistency()) sections.push_back(std::move(section));
  return sections;
}

}  // namespace pmio::cli
