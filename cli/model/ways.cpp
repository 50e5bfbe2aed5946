// `pmio model ways`: what a job's writes cost by each of the three ways, by the figures of this machine.
#include "cli/model/ways.h"

#include <array>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/common/report_format.h"
#include "cli/common/transfer_options.h"
#include "cli/profile/choice.h"
#include "model/ways.h"

namespace pmio::cli {
namespace {

using nlohmann::ordered_json;

struct WaysOptions {
  TransferOptions described;
  bool json = false;
};

struct Way {
  const char* name;
  model::Times times;
};

using Ways = std::array<Way, 3>;

Ways all_ways(const model::Machine& machine, const model::Transfer& transfer) {
  return {Way{"log", log_times(machine, transfer)}, Way{"independent", independent_times(machine, transfer)},
          Way{"two-phase", two_phase_times(machine, transfer)}};
}

double bytes_of(const model::Transfer& transfer) {
  return transfer.call_bytes * transfer.calls * transfer.ranks;
}

std::vector<std::string> row_of(const Way& way, double bytes) {
  const auto time = [](double seconds) { return human_time(static_cast<uint64_t>(seconds * 1e9)); };
  const auto rate = [bytes](double seconds) { return human_decimal(bytes / seconds / 1e6); };
  return {way.name, time(way.times.to_log_seconds), rate(way.times.to_log_seconds),
          time(way.times.to_file_seconds), rate(way.times.to_file_seconds)};
}

void print_ways(const Choice& choice, const model::Transfer& transfer, const Ways& ways) {
  print_figures(choice);
  std::printf("%.0f ranks on %.0f nodes, %.0f calls of %.0f bytes and %.0f pieces each\n\n", transfer.ranks,
              transfer.nodes, transfer.calls, transfer.call_bytes, transfer.pieces_per_call);
  Table table({"", "to log", "MB/s", "to file", "MB/s"});
  for (const Way& way : ways) table.add(row_of(way, bytes_of(transfer)));
  table.print();
  std::printf("\nBy a model, whose errors docs/model.md tells; MB are 10^6 bytes.\n");
}

void print_ways_json(const Choice& choice, const model::Transfer& transfer, const Ways& ways) {
  ordered_json document{{"profile", nullptr}, {"file_system", nullptr}, {"notes", choice.notes}};
  if (!choice.profile.empty()) document["profile"] = choice.profile;
  if (!choice.file_system.empty()) document["file_system"] = choice.file_system;
  document["bytes"] = bytes_of(transfer);
  for (const Way& way : ways)
    document["ways"][way.name] = {{"to_log_s", way.times.to_log_seconds},
                                  {"to_file_s", way.times.to_file_seconds}};
  print_json(document);
}

int refuse_ways(const std::string& message) {
  std::fprintf(stderr, "pmio: %s\n", message.c_str());
  return 1;
}

int ways(const WaysOptions& options) {
  const auto transfer = options.described.transfer();
  if (!transfer.ok()) return refuse_ways(transfer.status().message());
  const auto choice = choose_machine(options.described.profile(), options.described.directory());
  if (!choice.ok()) return refuse_ways(choice.status().message());
  (options.json ? print_ways_json : print_ways)(choice.value(), transfer.value(),
                                                all_ways(choice.value().machine, transfer.value()));
  return 0;
}

}  // namespace

void add_model_ways(CLI::App& model) {
  auto options = std::make_shared<WaysOptions>();
  CLI::App* command = model.add_subcommand(
      "ways", "What a job's writes cost through the log, independently, and by two-phase I/O");
  options->described.add_options(*command);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { set_exit_code(ways(*options)); });
}

}  // namespace pmio::cli
