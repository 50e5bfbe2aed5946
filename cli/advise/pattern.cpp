#include "cli/advise/pattern.h"

#include <cstdio>
#include <map>
#include <memory>

#include "advise/pattern.h"
#include "base/words.h"
#include "cli/advise/report.h"
#include "cli/commands.h"
#include "cli/common/report_format.h"
#include "cli/common/transfer_options.h"
#include "cli/profile/choice.h"
#include "hints/hints.h"

namespace pmio::cli {
namespace {

using advise::Goal;
using advise::Way;
using advise::WayEstimate;

struct Options {
  TransferOptions described;
  Way now = Way::library;
  Goal goal = Goal::time_to_file;
  uint64_t log_bytes = 0;  // of a rank; 0: what the model has
  bool has_huge_pages = false, json = false;
};

void print_ways(const std::vector<WayEstimate>& ways) {
  Table table({"", "to log", "from", "to", "to file", "from", "to"});
  for (const WayEstimate& way : ways) {
    std::vector<std::string> row{way.what};
    for (const advise::Estimate& each : {way.to_log, way.to_file})
      for (const double seconds : {each.likely, each.low, each.high}) row.push_back(human_duration(seconds));
    table.add(std::move(row));
  }
  table.print();
}

nlohmann::ordered_json json_of_ways(const std::vector<WayEstimate>& ways) {
  auto all = nlohmann::ordered_json::array();
  for (const WayEstimate& way : ways)
    all.push_back({{"way", way.what},
                   {"setting", way.setting},
                   {"code", way.code},
                   {"to_log", json_of(way.to_log)},
                   {"to_file", json_of(way.to_file)}});
  return all;
}

int pattern(const Options& options) {
  auto transfer = options.described.transfer();
  auto choice = choose_machine(options.described.profile(), options.described.directory());
  if (complain_of({transfer.status(), choice.status()})) return 1;
  model::Machine& machine = choice->machine;
  if (options.log_bytes > 0)
    machine.log.capacity_bytes = static_cast<double>(options.log_bytes) * transfer->ranks_of_node();
  const advise::Pattern described{*transfer, options.now, options.goal, options.has_huge_pages};
  const std::vector<WayEstimate> ways = estimate_ways(described, machine);
  const std::vector<advise::Change> changes = changes_for(described, ways);
  if (options.json) {
    print_json({{"format", "pmio-advice-1"}, {"ways", json_of_ways(ways)}, {"changes", json_of(changes)}});
    return 0;
  }
  print_figures(*choice);
  std::printf("%.0f ranks on %.0f nodes, %.0f calls of %.0f bytes and %.0f pieces each\n\n", transfer->ranks,
              transfer->nodes, transfer->calls, transfer->call_bytes, transfer->pieces_per_call);
  print_ways(ways);
  print_changes(changes);
  if (changes.empty()) std::printf("\nNothing is better for sure.\n");
  return 0;
}

}  // namespace

void add_advise_pattern(CLI::App& advise) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      advise.add_subcommand("pattern", "What a described pattern of writes costs by each way");
  options->described.add_options(*command);
  static const std::map<std::string, Way> kWays{{"off", Way::library},
                                                {"independent", Way::independent},
                                                {"twophase", Way::two_phase},
                                                {"log", Way::log}};
  static const std::map<std::string, Goal> kGoals{{"time-to-log", Goal::time_to_log},
                                                  {"time-to-file", Goal::time_to_file}};
  command
      ->add_option("--now", options->now,
                   "How it is written now: off (without pmio), independent, twophase, log")
      ->transform(CLI::Transformer(kWays).description(""))
      ->option_text("WAY");
  command->add_option("--goal", options->goal, "What counts: time-to-file, or time-to-log")
      ->transform(CLI::Transformer(kGoals).description(""))
      ->option_text("GOAL");
  command
      ->add_option_function<std::string>(
          "--log-size",
          [options](const std::string& text) {
            const Result<uint64_t> bytes = parse_bytes(text);
            if (!bytes.ok()) throw CLI::ValidationError("--log-size", bytes.status().message());
            options->log_bytes = bytes.value();
          },
          "Of a rank, in bytes or as 512M")
      ->option_text("SIZE");
  command->add_flag("--huge-pages", options->has_huge_pages, "The log's memory is of huge pages");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { set_exit_code(pattern(*options)); });
}

}  // namespace pmio::cli
