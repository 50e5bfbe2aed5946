// Figures that Liu et al. 2017 print beside those that their equations (model/liu.h) give for the parameters
// that they print. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pmio::cli {

struct Comparison {
  std::string item;
  const char* unit = "s";
  int decimals = 2;               // of the paper's figure
  std::optional<double> paper{};  // none: the paper does not print this one alone
  double recomputed = 0;
  double rounding = 0;  // what the digits that the paper does not print can make of the difference
  std::string arithmetic;
  bool other_reading = false;  // not of what the paper says, but of what could be meant

  bool follows() const;  // of one with a paper's figure: the difference is not more than rounding
  double difference_percent() const;
};

struct Section {
  std::string title;
  std::vector<Comparison> rows;
  std::string note{};
};

std::vector<Section> compare_with_paper();

// What the paper says of its figure 11, for a reading of its equations.
struct FigurePoint {
  const char *device, *size;
  double message_mb, cost_seconds, benefit_seconds;
  bool paper_says_cost_is_larger;
  bool follows() const { return (cost_seconds > benefit_seconds) == paper_says_cost_is_larger; }
};
struct FigureReading {
  std::string name;
  double tau = 0;
  std::vector<FigurePoint> points{};
  bool both_grow = false;   // on every device, with the size of the message
  size_t followed() const;  // of the points
};
std::vector<FigureReading> read_figure();

}  // namespace pmio::cli
