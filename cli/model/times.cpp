// The times of tables V and VI by equations 1 to 5.
#include "cli/common/report_format.h"
#include "cli/model/recomputed.h"

namespace pmio::cli {
namespace {

using namespace paper;

std::string of_bandwidth(const char* name, const Printed& bandwidth) {
  return printed_text("%s MB / %s %.2f MB/s", human_count(kWorkloadMb).c_str(), name, bandwidth.value);
}

Section individual_section() {
  Section section{"T_individual, equations 4 and 5 (tables V and VI)", {}};
  for (size_t i = 0; i < devices; i++)
    section.rows.push_back(compare(kNames[i], kTableV.individual[i], individual(kTableIV.bdw_ran[i]),
                                   of_bandwidth("bdw_ran", kTableIV.bdw_ran[i])));
  section.rows.push_back(
      other_reading(compare("NVM, by bdw_seq", kTableV.individual[nvm], individual(kTableIV.bdw_seq[nvm]),
                            of_bandwidth("bdw_seq", kTableIV.bdw_seq[nvm]))));
  section.note = "Equation 5 has bdw_ran; the printed time of NVM is that of bdw_seq.";
  return section;
}

// What one device takes longer than another by the sums that a table prints. T_comm is the same on both.
Comparison longer(const Validation& table, Device slow, Device fast) {
  const auto less = [](const auto& at) { return at[0] - at[1]; };
  const Value printed = rounded(std::array{table.collective[slow], table.collective[fast]}, less);
  const Value a = collective_io(kTableIV.bdw_seq[slow]), b = collective_io(kTableIV.bdw_seq[fast]);
  return compare(printed_text("%s, %s less %s", table.name, kNames[slow], kNames[fast]), {printed.value, 2},
                 {a.value - b.value, a.rounding + b.rounding + printed.rounding},
                 printed_text("%.2f s - %.2f s; printed %.2f s - %.2f s", a.value, b.value,
                              table.collective[slow].value, table.collective[fast].value));
}

Section collective_io_section() {
  Section section{"T_IO of collective I/O, equation 3 (in the sums of tables V and VI)", {}};
  for (size_t i = 0; i < devices; i++) {
    const Value value = collective_io(kTableIV.bdw_seq[i]);
    section.rows.push_back({.item = kNames[i],
                            .recomputed = value.value,
                            .rounding = value.rounding,
                            .arithmetic = of_bandwidth("bdw_seq", kTableIV.bdw_seq[i])});
  }
  for (const Validation* table : {&kTableV, &kTableVI}) {
    section.rows.push_back(longer(*table, hdd, ssd));
    section.rows.push_back(longer(*table, ssd, nvm));
  }
  section.note =
      "The paper prints no T_IO, but sums with T_comm. That is the same on each device, so that the sums of "
      "a "
      "table must differ by T_IO.";
  return section;
}

// What a printed sum leaves for shuffling.
Value shuffling_of(const Validation& table, Device device) {
  const Value io = collective_io(kTableIV.bdw_seq[device]);
  return {table.collective[device].value - io.value, table.collective[device].half_digit() + io.rounding};
}

Comparison shuffling_row(std::string item, const Validation& table, Device device, double tau) {
  const Value printed = shuffling_of(table, device);
  Value value = comm(tau);
  value.rounding += printed.rounding;
  return compare(std::move(item), {printed.value, 2}, value,
                 printed_text("%.0f x (%.2e s + %.2e s/MB x %.0f MB x %.3f)", iterations(), kTs.value,
                              kTw.value, kBufferMb, tau));
}

// The tau with which equation 2 gives what the sum leaves.
Comparison implied_tau(const Validation& table, Device device) {
  const Value shuffling = shuffling_of(table, device);
  const Value tau = rounded(std::array{kTs, kTw}, [&shuffling](const auto& at) {
    return (shuffling.value / iterations() - at[0]) / (at[1] * kBufferMb);
  });
  Comparison row = compare(
      printed_text("%s, tau that gives it", table.name), {tau_of(table), 3}, tau,
      printed_text("(%.2f s / %.0f - %.2e) / (%.2e x %.0f MB); printed %u/%u", shuffling.value, iterations(),
                   kTs.value, kTw.value, kBufferMb, kProcesses - table.nodes, kProcesses));
  row.unit = "";
  return row;
}

Section shuffling_section() {
  Section section{"T_comm, equation 2 (the sums of tables V and VI less T_IO)", {}};
  section.rows.push_back(shuffling_row("table V, HDD", kTableV, hdd, tau_of(kTableV)));
  section.rows.push_back(shuffling_row("table V, SSD and NVM", kTableV, ssd, tau_of(kTableV)));
  section.rows.push_back(shuffling_row("table VI, each device", kTableVI, ssd, tau_of(kTableVI)));
  for (const Validation* table : {&kTableV, &kTableVI})
    section.rows.push_back(other_reading(implied_tau(*table, ssd)));
  for (const Validation* table : {&kTableV, &kTableVI})
    section.rows.push_back(
        other_reading(shuffling_row(printed_text("%s, tau %u/%u", table->name, table->nodes, kProcesses),
                                    *table, ssd, 1 - tau_of(*table))));
  section.note =
      "T_s, T_w and tau as printed give a multiple of what the sums hold. Aggregators over processes for tau "
      "come nearer.";
  return section;
}

Comparison sum_row(const Validation& table, Device device) {
  const Printed& bandwidth = kTableIV.bdw_seq[device];
  return compare(printed_text("%s, %s", table.name, kNames[device]), table.collective[device],
                 collective(bandwidth, tau_of(table)),
                 printed_text("%.2f s + %.2f s; measured %.2f s", comm(tau_of(table)).value,
                              collective_io(bandwidth).value, table.collective_measured[device].value));
}

Section sums_section() {
  Section section{"T_collective, equation 1 (tables V and VI)", {}};
  for (const Validation* table : {&kTableV, &kTableVI})
    for (const Device device : {hdd, ssd, nvm}) section.rows.push_back(sum_row(*table, device));
  section.note = "T_other is 0, as in the paper.";
  return section;
}

Section workload_section() {
  Section section{"Bytes of the validation (section IV-D)", {}};
  Comparison row =
      compare("2 segments of 64 MB", {kValidationSegments * kValidationBlockMb * kProcesses, 0},
              rounded(std::array{kTableV.individual[hdd], kTableIV.bdw_ran[hdd]},
                      [](const auto& at) { return at[0] * at[1]; }),
              printed_text("%.2f s x %.2f MB/s; printed %.0f x %.0f MB x %u", kTableV.individual[hdd].value,
                           kTableIV.bdw_ran[hdd].value, kValidationSegments, kValidationBlockMb, kProcesses));
  row.unit = "MB";
  section.rows.push_back(std::move(row));
  section.note = "The estimates are of the 16 GB of section IV-B.";
  return section;
}

}  // namespace

std::vector<Section> compare_times() {
  return {individual_section(), collective_io_section(), shuffling_section(), sums_section(),
          workload_section()};
}

}  // namespace pmio::cli
