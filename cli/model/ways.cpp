// `pmio model ways`: what a job's writes cost by each of the three ways, by the figures of this machine.
#include "cli/model/ways.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/common/report_format.h"
#include "cli/profile/choice.h"
#include "model/ways.h"

namespace pmio::cli {
namespace {

using nlohmann::ordered_json;

struct WaysOptions {
  model::Transfer transfer{.call_bytes = 1312, .calls = 1000};
  std::string profile, directory = ".";
  bool irregular = false, json = false;
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
  if (choice.profile.empty())
    std::printf("Built-in figures: there is no profile (pmio calibrate).\n");
  else
    std::printf("Profile %s of %.10s, %s\n", choice.profile.c_str(), choice.date.c_str(),
                choice.file_system.empty() ? "built-in rates of the file" : choice.file_system.c_str());
  for (const std::string& note : choice.notes) std::printf("  but %s\n", note.c_str());
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
  model::Transfer transfer = options.transfer;
  transfer.regular = !options.irregular;
  if (std::fmod(transfer.ranks, transfer.nodes) != 0)
    return refuse_ways("--ranks is to be a multiple of --nodes: each node has as many");
  if (transfer.pieces_per_call > transfer.call_bytes)
    return refuse_ways("--pieces is more than --call-bytes: a piece has a byte or more");
  const auto choice = choose_machine(options.profile, options.directory);
  if (!choice.ok()) return refuse_ways(choice.status().message());
  (options.json ? print_ways_json : print_ways)(choice.value(), transfer,
                                                all_ways(choice.value().machine, transfer));
  return 0;
}

}  // namespace

void add_model_ways(CLI::App& model) {
  auto options = std::make_shared<WaysOptions>();
  model::Transfer& transfer = options->transfer;
  CLI::App* command = model.add_subcommand(
      "ways", "What a job's writes cost through the log, independently, and by two-phase I/O");
  const auto add_count = [command](const char* name, double* value, const char* text) {
    command
        ->add_option_function<uint64_t>(
            name, [value](const uint64_t& count) { *value = static_cast<double>(count); }, text)
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  };
  add_count("--ranks", &transfer.ranks, "Of the job (1)");
  add_count("--nodes", &transfer.nodes, "With as many ranks on each (1)");
  add_count("--call-bytes", &transfer.call_bytes, "Of a rank in a call (1312)");
  add_count("--pieces", &transfer.pieces_per_call, "Of a rank in a call, each contiguous in the file (1)");
  add_count("--calls", &transfer.calls, "Of a rank (1000)");
  command->add_option("--compute", transfer.compute_seconds, "Seconds between two calls (0)")
      ->check(CLI::Range(0.0, 1e9));
  command->add_flag("--irregular", options->irregular, "The pieces of a call are no regular pattern");
  command->add_option("--profile", options->profile,
                      "A profile of pmio calibrate (the user's or the site's)");
  command->add_option("--dir", options->directory,
                      "A directory on the file system of the file (the current)");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { set_exit_code(ways(*options)); });
}

}  // namespace pmio::cli
