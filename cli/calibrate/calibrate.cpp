// `pmio calibrate`: measures what I/O costs on this machine, for the model, and keeps it as a profile.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/calibrate/measure.h"
#include "cli/calibrate/run_messages.h"
#include "cli/commands.h"
#include "cli/common/report_format.h"
#include "cli/common/scratch.h"
#include "cli/profile/messages.h"
#include "cli/profile/place.h"
#include "cli/run/mpi_program.h"
#include "medium/default_directory.h"
#include "preload/names.h"

namespace pmio::cli {
namespace {

struct Options {
  std::string directory = ".", log_directory, output;
  std::string tag, program;  // of MPI
  bool json = false, quick = false;
};

Effort effort_of(const Options& options) {
  Effort effort;
  if (options.quick) {
    effort.laps = 3;
    effort.lap_seconds = 0.01;
    effort.seconds = 1;
    effort.most_bytes = 16 << 20;
  }
  return effort;
}

// What the file held of this machine; what it held of another one goes, and that is said.
Result<Profile> earlier_profile(const std::string& path, const MachineFacts& now) {
  auto earlier = load_profile(path);
  if (!earlier.ok()) {
    const bool missing = earlier.status().system_errno() == ENOENT;
    if (missing) return Profile();
    return Status(earlier.status().code(),
                  earlier.status().message() + "; or write another file: pmio calibrate -o FILE");
  }
  const auto differences = misfits(earlier->machine, now);
  if (differences.empty()) return earlier;
  if (pmio_is_first_rank())
    std::fprintf(stderr, "pmio: %s is of another machine, and begun anew (%s)\n", path.c_str(),
                 joined(differences).c_str());
  return Profile();
}

void keep(Profile& profile, FileSystemProfile measured) {
  const auto same = [&measured](const FileSystemProfile& each) { return each.place == measured.place; };
  std::erase_if(profile.file_systems, same);
  profile.file_systems.push_back(std::move(measured));
}

// Under a launcher only. All ranks take part, and then the first one alone goes on.
Status measure_exchange(const Options& options, Profile& profile) {
  if (launchers_family().empty() && options.program.empty()) return {};
  const std::string program =
      options.program.empty() ? find_mpi_program({"messages", "calibrate", options.tag}) : options.program;
  if (program.empty()) return {Code::unsupported, "messages between ranks were not measured"};
  const auto printed = run_messages(program, options.quick ? 5 : 9, options.quick ? 0.5 : 4);
  if (!printed.ok()) return printed.status();
  if (!pmio_is_first_rank()) return {};
  auto exchange = exchange_of(printed.value());
  if (!exchange.ok()) return exchange.status();
  // What this job could not measure stays as it was: those between nodes, if it has one.
  exchange->figures.merge(profile.exchange.figures);
  profile.exchange = std::move(*exchange);
  return {};
}

Status measure_node(const Options& options, Profile& profile) {
  const Interruptions interruptions;
  const Effort effort = effort_of(options);
  const uint32_t writers = writers_of(profile.machine);
  Progress progress(steps_of_file_system() + 1);
  const std::string logs = options.log_directory.empty() ? default_directory() : options.log_directory;
  auto log = measure_log_medium(logs, writers, effort, progress);
  if (!log.ok()) return log.status();
  profile.log = std::move(*log);
  auto file_system = measure_file_system(options.directory, writers, effort, progress);
  if (!file_system.ok()) return file_system.status();
  keep(profile, std::move(*file_system));
  // pmio's engine copies within a node, as to a warm log.
  profile.exchange.figures["copy_bytes_per_second"] = profile.log.figures["warm_bytes_per_second"];
  return {};
}

std::vector<std::string> rate_row(const std::string& what, const Figure& figure) {
  const auto mb = [](double value) { return human_count(static_cast<uint64_t>(value / 1e6)); };
  return {what, mb(figure.value), mb(figure.lower), mb(figure.upper), std::to_string(figure.samples)};
}

void print_messages(const ExchangeProfile& exchange) {
  const auto print_line = [&exchange](const char* where, const char* start, const char* per_byte) {
    const Figure &s = exchange.figures.at(start), &w = exchange.figures.at(per_byte);
    if (s.measured())
      std::printf("messages %s: %.2f us [%.2f, %.2f] and %.3f ns [%.3f, %.3f] a byte\n", where, s.value * 1e6,
                  s.lower * 1e6, s.upper * 1e6, w.value * 1e9, w.lower * 1e9, w.upper * 1e9);
  };
  if (exchange.ranks == 0) return;
  std::printf("\n%s, %u ranks on %u nodes\n", exchange.mpi.c_str(), exchange.ranks, exchange.nodes);
  print_line("within a node", "within_message_seconds", "within_byte_seconds");
  print_line("between nodes", "message_seconds", "message_byte_seconds");
}

void print_profile(const Profile& profile, const std::string& path) {
  const FileSystemProfile& file = profile.file_systems.back();
  std::printf("%s\n%u processors, %s; log on %s; %s at %s, %u writing\n\n", profile.machine.processor.c_str(),
              profile.machine.processors, human_bytes(profile.machine.memory_bytes).c_str(),
              profile.log.file_system.c_str(), file.place.file_system.c_str(), file.place.mount_point.c_str(),
              file.writers);
  Table table({"MB/s (10^6 bytes)", "median", "quartile", "quartile", "laps"});
  table.add(rate_row("log, cold", profile.log.figures.at("cold_bytes_per_second")));
  table.add(rate_row("log, warm", profile.log.figures.at("warm_bytes_per_second")));
  for (const BlockFigure& each : file.rates)
    table.add(
        rate_row("file, " + human_bytes(static_cast<uint64_t>(each.block_bytes)), each.bytes_per_second));
  table.print();
  print_messages(profile.exchange);
  std::printf("\nAll other figures are built in: %s\n", path.c_str());
}

// A message is that of the first rank, which knows what failed.
int fail_calibrating(const Status& status) {
  if (pmio_is_first_rank()) std::fprintf(stderr, "pmio: %s\n", status.message().c_str());
  return 1;
}

Status measure_all(const Options& options, Profile& profile) {
  PMIO_TRY(measure_exchange(options, profile));
  return pmio_is_first_rank() ? measure_node(options, profile) : Status();
}

int calibrate(const Options& options) {
  const std::string path = options.output.empty() ? user_profile_path() : options.output;
  if (path.empty())
    return fail_calibrating({Code::invalid, "there is no home directory for the profile; name a file by -o"});
  const MachineFacts now = this_machine();
  auto profile = earlier_profile(path, now);
  Status status = profile.status();
  if (status.ok()) {
    profile->machine = now;
    status = measure_all(options, *profile);
  }
  if (const int number = Interruptions::signal_that_came(); number != 0) {
    std::fprintf(stderr, "pmio: interrupted; no profile was written\n");
    return 128 + number;
  }
  if (status.ok() && !pmio_is_first_rank()) return 0;
  if (status.ok()) {
    complete(*profile);
    status = save_profile(*profile, path);
  }
  if (!status.ok()) return fail_calibrating(status);
  if (options.json)
    std::fputs(profile_text(*profile).c_str(), stdout);
  else
    print_profile(*profile, path);
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("calibrate", "Measure what I/O costs on this machine, and keep it as a profile");
  command->add_option("--dir", options->directory,
                      "A directory on the file system to measure (the current one)");
  command->add_option("--log-dir", options->log_directory,
                      "Where logs would be (default: the log directory that would be taken)");
  command->add_option("-o", options->output, "The profile (default: pmio/profile.json in ~/.config)");
  command->add_option("--mpi", options->tag, "The MPI, such as mpich-4.0.2, instead of finding it out");
  command->add_option("--program", options->program, "The program that messages.c was compiled to");
  command->add_flag("--quick", options->quick, "Fewer and smaller measurements");
  command->add_flag("--json", options->json, "Print the profile");
  command->footer(
      "Under a launcher it measures messages, too: mpiexec -n 2 pmio calibrate. Figures of other file "
      "systems "
      "are kept. docs/model.md explains them.");
  command->callback([options] { set_exit_code(calibrate(*options)); });
}

static const Registration registration(add_calibrate);

}  // namespace pmio::cli
