// How the paper's figures are computed again, with what the digits that it does not print can change.
// Threads: any.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "cli/model/comparison.h"
#include "cli/model/paper.h"

namespace pmio::cli {

__attribute__((format(printf, 1, 2))) std::string printed_text(const char* format, ...);

struct Value {
  double value, rounding;
};

// f of the printed figures, and how far it can be from f of what they were before they were rounded: each is
// moved by half a digit, the others as printed.
template <size_t N, class F>
Value rounded(const std::array<paper::Printed, N>& inputs, F f) {
  std::array<double, N> at{};
  for (size_t i = 0; i < N; i++) at[i] = inputs[i].value;
  const double value = f(at);
  double rounding = 0;
  for (size_t i = 0; i < N; i++) {
    at[i] += inputs[i].half_digit();
    rounding += std::abs(f(at) - value);
    at[i] = inputs[i].value;
  }
  return {value, rounding};
}

// A row of a figure that the paper prints.
Comparison compare(std::string item, const paper::Printed& printed, Value value, std::string arithmetic);
Comparison in_percent(Comparison row);
Comparison other_reading(Comparison row);

// Of the 16,384 MB, in messages of the collective buffer. Seconds, of the paper's parameters.
Value individual(const paper::Printed& bandwidth);              // equation 4
Value collective_io(const paper::Printed& bandwidth);           // equation 3
Value comm(double tau);                                         // equation 2
Value collective(const paper::Printed& bandwidth, double tau);  // equation 1

double tau_of(const paper::Validation& table);
double iterations();

// Groups of rows: times by the equations, and figures that follow from others which the paper prints.
std::vector<Section> compare_times();
std::vector<Section> compare_consistency();

}  // namespace pmio::cli
