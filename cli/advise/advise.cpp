// `pmio advise`: what a job that has run would have gained by doing something else.
#include <cstdio>
#include <memory>

#include "advise/advice.h"
#include "base/words.h"
#include "cli/advise/job.h"
#include "cli/advise/pattern.h"
#include "cli/advise/record_file.h"
#include "cli/advise/report.h"
#include "cli/commands.h"
#include "cli/common/as_user.h"
#include "cli/common/report_format.h"
#include "cli/profile/choice.h"

namespace pmio::cli {
namespace {

using advise::JobRecord;

struct Options {
  JobChoice choice;
  std::string record, profile, target = ".";
  bool json = false;
};

struct Phase {
  const char* name;
  double seconds;
};

std::vector<Phase> phases_of(const JobRecord& job) {
  return {{"open", job.open_seconds},
          {"to the log", job.write_seconds},
          {"wait for room", job.wait_seconds},
          {"read", job.read_seconds},
          {"sync", job.sync_seconds},
          {"close", job.close_seconds},
          {"files without a log", job.straight_seconds}};
}

// What the advice is for.
struct Advised {
  std::string id;  // of a job in the statistics; else empty
  std::string program;
  JobRecord job;
};

std::string count_text(double number, const char* what) {
  return human_count(static_cast<uint64_t>(number)) + " " + what + (number == 1 ? "" : "s");
}

void print_head(const Advised& advised) {
  const JobRecord& job = advised.job;
  const std::string name =
      advised.id.empty() ? advised.program : "job " + advised.id + ", " + advised.program;
  print_wrapped(0, name + ", " + count_text(job.ranks, "rank") + " on " + count_text(job.nodes, "node") +
                       ": " + human_duration(job.wall_seconds) + ", of which " +
                       human_duration(job.io_seconds()) + " for I/O");
  std::string phases;
  for (const Phase& phase : phases_of(job)) {
    if (phase.seconds <= 0 || phase.seconds < 0.005 * job.io_seconds()) continue;
    phases += (phases.empty() ? "" : ", ") + std::string(phase.name) + " " + human_duration(phase.seconds);
  }
  if (!phases.empty()) print_wrapped(0, phases + "; of the slowest rank");
  if (job.files.empty())
    print_wrapped(0, "Nothing is known of its files: run it with pmio run --stats, or PMIO_STATS=1");
}

nlohmann::ordered_json document_of(const Advised& advised, const std::vector<advise::Change>& changes) {
  const JobRecord& job = advised.job;
  nlohmann::ordered_json phases;
  for (const Phase& phase : phases_of(job)) phases[phase.name] = phase.seconds;
  return {{"format", "pmio-advice-1"}, {"job", advised.id},  {"program", advised.program},
          {"ranks", job.ranks},        {"nodes", job.nodes}, {"wall_s", job.wall_seconds},
          {"io_s", job.io_seconds()},  {"phases_s", phases}, {"changes", json_of(changes)}};
}

Result<Advised> read_record(const std::string& path) {
  auto record = load_record(path);
  if (!record.ok()) return record.status();
  return Advised{"", record->program, std::move(record->job)};
}

Result<Advised> read_statistics(const JobChoice& choice) {
  const std::vector<JobStatistics> jobs = choice.read();
  if (jobs.empty())
    return Status(Code::invalid,
                  "no statistics " + choice.told() +
                      "; a job leaves them there at MPI_Finalize: run it with pmio run --stats");
  const JobStatistics& job = jobs.front();
  if (job.ranks.empty())
    return Status(Code::invalid, "job " + job.id + " is " + job.state +
                                     ": it leaves its statistics at MPI_Finalize, and advice needs them");
  return Advised{job.id, job.program(), record_of(job)};
}

int run(const Options& options) {
  const auto advised = options.record.empty() ? read_statistics(options.choice) : read_record(options.record);
  const auto choice = choose_machine(options.profile, options.target);
  if (complain_of({advised.status(), choice.status()})) return 1;
  const std::vector<advise::Change> changes = changes_for(advised.value().job, choice.value().machine);
  if (options.json) {
    print_json(document_of(advised.value(), changes));
    return 0;
  }
  print_head(advised.value());
  print_changes(changes);
  std::printf(changes.empty() ? "\nNothing that is known of it would gain for sure.\n"
                              : "\nEach as the only change: the time for I/O, and its bounds.\n");
  return 0;
}

}  // namespace

void add_advise(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("advise", "Say what a job would gain by other settings: the newest, or --job");
  options->choice.add_options(*command);
  command->add_option(
      "--record", options->record,
      "A record of a program without pmio, as share/pmio/from_darshan.py makes it; - is standard "
      "input");
  command->add_option("--profile", options->profile,
                      "A profile of pmio calibrate (the user's or the site's)");
  command->add_option("--target", options->target,
                      "A directory on the file system of the job's files (the current)");
  command->add_flag("--json", options->json, "Print JSON");
  add_advise_pattern(*command);
  command->callback([options, command] {
    if (!command->get_subcommands().empty()) return;
    set_exit_code(options->record.empty()
                      ? run_as_owner_of(
                            options->choice.directories.front(), [&options] { return run(*options); }, 1)
                      : run(*options));
  });
}

static const Registration registration(add_advise);

}  // namespace pmio::cli
