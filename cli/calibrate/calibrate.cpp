// `pmio calibrate`: measures what I/O costs on this machine, for the model, and keeps it as a profile.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/calibrate/measure.h"
#include "cli/commands.h"
#include "cli/common/report_format.h"
#include "cli/common/scratch.h"
#include "cli/profile/place.h"
#include "medium/default_directory.h"

namespace pmio::cli {
namespace {

struct Options {
  std::string directory = ".", log_directory, output;
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
  std::fprintf(stderr, "pmio: %s is of another machine, and begun anew (%s)\n", path.c_str(),
               joined(differences).c_str());
  return Profile();
}

void keep(Profile& profile, FileSystemProfile measured) {
  const auto same = [&measured](const FileSystemProfile& each) { return each.place == measured.place; };
  std::erase_if(profile.file_systems, same);
  profile.file_systems.push_back(std::move(measured));
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
  std::printf("\nAll other figures are built in: %s\n", path.c_str());
}

int calibrate(const Options& options) {
  const std::string path = options.output.empty() ? user_profile_path() : options.output;
  if (path.empty()) {
    std::fprintf(stderr, "pmio: there is no home directory for the profile; name a file by -o\n");
    return 1;
  }
  const MachineFacts now = this_machine();
  auto profile = earlier_profile(path, now);
  Status status = profile.status();
  if (status.ok()) {
    profile->machine = now;
    status = measure_node(options, *profile);
  }
  if (const int number = Interruptions::signal_that_came(); number != 0) {
    std::fprintf(stderr, "pmio: interrupted; no profile was written\n");
    return 128 + number;
  }
  if (status.ok()) {
    complete(*profile);
    status = save_profile(*profile, path);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "pmio: %s\n", status.message().c_str());
    return 1;
  }
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
  command->add_flag("--quick", options->quick, "Fewer and smaller measurements");
  command->add_flag("--json", options->json, "Print the profile");
  command->footer("Another file system's figures are kept. docs/model.md explains them.");
  command->callback([options] { set_exit_code(calibrate(*options)); });
}

static const Registration registration(add_calibrate);

}  // namespace pmio::cli
