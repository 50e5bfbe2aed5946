// Figures of the paper that follow from others which it prints, without the model.
#include <algorithm>

#include "cli/model/recomputed.h"

namespace pmio::cli {
namespace {

using namespace paper;

Comparison error_row(const char* table, const char* kind, Device device, const Figures& estimated,
                     const Figures& measured, const Figures& error) {
  const Value value = rounded(std::array{estimated[device], measured[device]},
                              [](const auto& at) { return std::abs(at[0] / at[1] - 1) * 100; });
  return in_percent(
      compare(printed_text("%s, %s, %s", table, kind, kNames[device]), error[device], value,
              printed_text("%.2f s / %.2f s - 1", estimated[device].value, measured[device].value)));
}

// Mean and maximum of 12 errors.
Value mean(const std::vector<Value>& of) {
  Value sum{0, 0};
  for (const Value& each : of) sum = {sum.value + each.value, sum.rounding + each.rounding};
  return {sum.value / static_cast<double>(of.size()), sum.rounding / static_cast<double>(of.size())};
}
Value largest(const std::vector<Value>& of) {
  return *std::max_element(of.begin(), of.end(),
                           [](const Value& a, const Value& b) { return a.value < b.value; });
}

// The errors that the equations have with the parameters as printed.
std::vector<Value> errors_of_equations() {
  std::vector<Value> errors;
  const auto add = [&errors](double estimated, const Printed& measured) {
    errors.push_back({std::abs(estimated / measured.value - 1) * 100, 0});
  };
  for (const Validation* table : {&kTableV, &kTableVI}) {
    for (const Device device : {hdd, ssd, nvm}) {
      add(collective(kTableIV.bdw_seq[device], tau_of(*table)).value, table->collective_measured[device]);
      add(individual(kTableIV.bdw_ran[device]).value, table->individual_measured[device]);
    }
  }
  return errors;
}

Section errors_section() {
  Section section{"Prediction errors, printed estimates over measured times (tables V and VI)", {}};
  std::vector<Value> errors;
  for (const Validation* table : {&kTableV, &kTableVI}) {
    for (const Device device : {hdd, ssd, nvm})
      section.rows.push_back(error_row(table->name, "collective", device, table->collective,
                                       table->collective_measured, table->collective_error_percent));
    for (const Device device : {hdd, ssd, nvm})
      section.rows.push_back(error_row(table->name, "individual", device, table->individual,
                                       table->individual_measured, table->individual_error_percent));
  }
  for (const Comparison& row : section.rows) errors.push_back({row.recomputed, row.rounding});
  const std::vector<Value> of_equations = errors_of_equations();
  const char *above = "of the 12 recomputed above", *by_equations = "of 12 times by equations 1 and 4";
  section.rows.push_back(in_percent(compare("mean", kMeanErrorPercent, mean(errors), above)));
  section.rows.push_back(in_percent(compare("largest", kMostErrorPercent, largest(errors), above)));
  section.rows.push_back(other_reading(
      in_percent(compare("mean, of the equations", kMeanErrorPercent, mean(of_equations), by_equations))));
  section.rows.push_back(other_reading(in_percent(
      compare("largest, of the equations", kMostErrorPercent, largest(of_equations), by_equations))));
  section.note = "The equations: T_collective and T_individual as recomputed here, over the measured times.";
  return section;
}

Section profile_section() {
  Section section{"Profile of collective I/O (table II)", {}};
  const TableII& table = kTableII;
  for (size_t i = 0; i < devices; i++) {
    const Value ratio = rounded(std::array{table.shuffle_seconds[i], table.io_seconds[i]},
                                [](const auto& at) { return at[0] / at[1] * 100; });
    section.rows.push_back(in_percent(
        compare(printed_text("%s, ratio", kNames[i]), table.ratio_percent[i], ratio,
                printed_text("%.2f s / %.2f s", table.shuffle_seconds[i].value, table.io_seconds[i].value))));
  }
  for (size_t i = 0; i < devices; i++) {
    const Value shuffle =
        rounded(std::array{table.shuffle_seconds[i], table.io_seconds[i], table.io_ms_per_iteration[i]},
                [](const auto& at) { return at[0] / (at[1] / at[2]); });
    Comparison row = compare(printed_text("%s, shuffle per iteration", kNames[i]),
                             table.shuffle_ms_per_iteration[i], shuffle,
                             printed_text("%.2f s / (%.2f s / %.2f ms)", table.shuffle_seconds[i].value,
                                          table.io_seconds[i].value, table.io_ms_per_iteration[i].value));
    row.unit = "ms";
    section.rows.push_back(std::move(row));
  }
  return section;
}

}  // namespace

std::vector<Section> compare_consistency() { return {errors_section(), profile_section()}; }

}  // namespace pmio::cli
