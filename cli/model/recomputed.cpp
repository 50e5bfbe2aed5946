#include "cli/model/recomputed.h"

#include <cstdarg>
#include <cstdio>

#include "model/liu.h"

namespace pmio::cli {

using namespace paper;

std::string printed_text(const char* format, ...) {
  char buffer[160];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

Comparison compare(std::string item, const Printed& printed, Value value, std::string arithmetic) {
  return {.item = std::move(item),
          .decimals = printed.decimals,
          .paper = printed.value,
          .recomputed = value.value,
          .rounding = value.rounding + printed.half_digit(),
          .arithmetic = std::move(arithmetic)};
}

Comparison in_percent(Comparison row) {
  row.unit = "%";
  return row;
}

Comparison other_reading(Comparison row) {
  row.other_reading = true;
  return row;
}

namespace {

liu::Workload workload(double tau) {
  return {liu::messages(static_cast<double>(kWorkloadMb), kBufferMb), tau};
}

}  // namespace

Value individual(const Printed& bandwidth) {
  return rounded(std::array{bandwidth}, [](const auto& at) {
    return liu::individual_seconds({.bdw_ran_mb_per_second = at[0]}, workload(0));
  });
}

Value collective_io(const Printed& bandwidth) {
  return rounded(std::array{bandwidth}, [](const auto& at) {
    return liu::collective_io_seconds({.bdw_seq_mb_per_second = at[0]}, workload(0));
  });
}

Value comm(double tau) {
  return rounded(std::array{kTs, kTw}, [tau](const auto& at) {
    return liu::comm_seconds({.t_s_seconds = at[0], .t_w_seconds_per_mb = at[1]}, workload(tau));
  });
}

Value collective(const Printed& bandwidth, double tau) {
  return rounded(std::array{bandwidth, kTs, kTw}, [tau](const auto& at) {
    return liu::collective_seconds(
        {.t_s_seconds = at[1], .t_w_seconds_per_mb = at[2], .bdw_seq_mb_per_second = at[0]}, workload(tau));
  });
}

double tau_of(const Validation& table) { return liu::estimated_tau(kProcesses, table.nodes); }
double iterations() { return static_cast<double>(workload(0).msg_size_mb.size()); }

}  // namespace pmio::cli
