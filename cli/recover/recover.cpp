// `pmio recover`: what a crash left in the logs, into the files.
#include "recover/recover.h"

#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/common/as_user.h"
#include "cli/common/damage_report.h"
#include "cli/common/report_format.h"
#include "cli/recover/cut_report.h"
#include "cli/recover/nodes_report.h"
#include "medium/default_directory.h"
#include "medium/job_name.h"
#include "medium/registry.h"

namespace pmio::cli {
namespace {

constexpr int kElsewhere = 3;  // exit code: nothing more to do on this node, but on others

struct Options {
  std::string directory = default_directory();
  bool directory_given = false;
  std::string path;
  std::string user;  // whose logs, with --all; empty: everybody's for root, the caller's own else
  bool all = false;
  bool force = false;
  bool dry_run = false;
  bool consistent = false;
  bool lost_nodes = false;
  std::string to;
  double wait_seconds = 0;
  bool json = false;
};

// What is kept here counts more than what is left elsewhere.
int worse_of(int a, int b) {
  const auto weight = [](int code) { return code == 0 ? 0 : code == kElsewhere ? 1 : 2; };
  return weight(a) >= weight(b) ? a : b;
}

// One line on a terminal, rewritten a few times a second.
class ProgressLine {
 public:
  void show(const RecoverProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (shown_ && now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    shown_ = true;
    std::fprintf(stderr, "\r\033[K%s: %s of %s", progress.file->name().c_str(),
                 human_bytes(progress.done_bytes).c_str(), human_bytes(progress.total_bytes).c_str());
  }
  void clear() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
};

nlohmann::ordered_json json_of(const DamagedSegment& segment) {
  nlohmann::ordered_json entry = damage_json(segment.damage);
  entry["path"] = segment.path;
  entry["rank"] = segment.rank;
  entry["lost"] = segment.lost;
  return entry;
}

nlohmann::ordered_json json_of(const FileOutcome& file) {
  auto damaged = nlohmann::ordered_json::array();
  for (const DamagedSegment& segment : file.damaged) damaged.push_back(json_of(segment));
  nlohmann::ordered_json entry{{"path", file.path},
                               {"result", file_result_name(file.result)},
                               {"records", file.records},
                               {"bytes", file.bytes},
                               {"ranks", file.ranks},
                               {"last_complete_collective_call", file.cut.complete_call()},
                               {"damaged_segments", std::move(damaged)},
                               {"nodes", file.nodes},
                               {"nodes_left", file.waits_for.size()},
                               {"waits_for", nodes_json(file.waits_for)},
                               {"message", file.message},
                               {"note", file.note}};
  add_cut(file, &entry);
  return entry;
}

nlohmann::ordered_json json_of(const Options& options, const RecoverReport& report) {
  nlohmann::ordered_json document{{"format", "pmio-recover-1"},
                                  {"directory", options.directory},
                                  {"dry_run", options.dry_run},
                                  {"consistent", options.consistent},
                                  {"to", report.copied ? options.to : std::string()},
                                  {"complete", report.complete()},
                                  {"jobs", nlohmann::ordered_json::array()}};
  for (const JobOutcome& job : report.jobs) {
    nlohmann::ordered_json entry{{"job", hexadecimal_id(job.id)},
                                 {"directory", job.directory},
                                 {"state", job_state_name(job.state)},
                                 {"ranks", job.ranks},
                                 {"removed", job.removed},
                                 {"undrained_bytes_of_running_job", job.running_bytes},
                                 {"unreadable_segments", job.unreadable},
                                 {"files", nlohmann::ordered_json::array()}};
    for (const FileOutcome& file : job.files) entry["files"].push_back(json_of(file));
    document["jobs"].push_back(std::move(entry));
  }
  document["unfinished"] = unfinished_json(report.unfinished);
  return document;
}

std::string amount(const FileOutcome& file, uint32_t job_ranks) {
  std::string text = human_count(file.records) + (file.records == 1 ? " record, " : " records, ") +
                     human_bytes(file.bytes) + ", of rank " + human_ranks(file.ranks) + " (job of " +
                     std::to_string(job_ranks) + ")";
  const std::string complete = complete_text(file.cut);
  if (complete.empty()) return text;
  return text + "; " + complete + (file.nodes > 1 ? " on this node" : "");
}

// What else can be done with a log that is not brought in.
void print_ways_out(const FileOutcome& file, const JobOutcome& job) {
  if (file.nodes == 1)
    std::printf("  into a copy of the file: pmio recover --dir %s --file %s --to COPY\n",
                std::filesystem::path(job.directory).parent_path().c_str(), file.path.c_str());
  std::printf("  to throw the job's log away: pmio discard %s\n", job.directory.c_str());
}

void print_file(const FileOutcome& file, const JobOutcome& job, const Options& options) {
  const bool dry_run = options.dry_run;
  const char* path = file.path.c_str();
  const std::string what = amount(file, job.ranks) + (options.to.empty() ? "" : ", into " + options.to);
  switch (file.result) {
    case FileResult::restored:
      std::printf("%s: %s %s\n", path, dry_run ? "would restore" : "restored", what.c_str());
      break;
    case FileResult::cut:
      std::printf("%s: %s the last complete call, of %s\n", path,
                  dry_run ? "would restore up to" : "restored up to", what.c_str());
      break;
    case FileResult::clean:
      std::printf("%s: nothing was missing\n", path);
      break;
    case FileResult::discarded:
      std::printf("%s: deleted by the program, nothing to restore\n", path);
      break;
    case FileResult::kept:
      std::printf("%s: NOT restored (%s)\n", path, what.c_str());
      break;
  }
  if (!file.message.empty()) std::printf("  %s\n", file.message.c_str());
  if (!file.note.empty()) std::printf("  %s\n", file.note.c_str());
  if (file.result == FileResult::kept && file.records > 0 && options.to.empty()) print_ways_out(file, job);
  if (!file.waits_for.empty()) {
    std::printf("  its ranks were on %u nodes; run pmio recover there too: %s\n", file.nodes,
                nodes_text(file.waits_for).c_str());
    std::printf("  (where such a log is lost: pmio recover --file %s --lost-nodes)\n", path);
  }
  print_cut(file, job.directory, options.consistent);
  for (const DamagedSegment& segment : file.damaged) {
    std::printf("  DAMAGED: %s (rank %u, %s is kept)\n", damage_text(segment.damage).c_str(), segment.rank,
                segment.path.c_str());
  }
}

void print_job(const JobOutcome& job, const Options& options) {
  const std::string id = hexadecimal_id(job.id);
  if (job.state != JobState::dead) {
    std::printf("job %s: job is %s, left alone (%s not in its files yet)\n", id.c_str(),
                job_state_name(job.state), human_bytes(job.running_bytes).c_str());
  }
  for (const FileOutcome& file : job.files) print_file(file, job, options);
  for (const std::string& segment : job.unreadable) std::printf("UNREADABLE, kept: %s\n", segment.c_str());
}

void print(const Options& options, const RecoverReport& report) {
  if (options.json) return print_json(json_of(options, report));
  size_t files = 0;
  for (const JobOutcome& job : report.jobs) {
    print_job(job, options);
    files += job.files.size() + job.unreadable.size() + (job.state != JobState::dead);
  }
  for (const UnfinishedRecovery& other : report.unfinished) print_unfinished(other);
  if (files + report.unfinished.size() == 0)
    std::printf("Nothing to recover in %s\n", options.directory.c_str());
  if (options.to.empty() || options.dry_run) return;
  if (report.copied)
    std::printf("%s is a copy with what the logs hold; the file itself and the logs are as they were\n",
                options.to.c_str());
  else
    std::printf("%s was not made\n", options.to.c_str());
}

int fail(const Status& status) {
  std::fprintf(stderr, "pmio: %s\n", status.message().c_str());
  return 1;
}

// Each dead job takes some, and a site's limit for programs may be low.
void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

int recover_directory(const Options& options) {
  allow_many_descriptors();
  const bool terminal = isatty(STDERR_FILENO) == 1;
  ProgressLine line;
  RecoverOptions wanted;
  wanted.directory = options.directory;
  if (!options.path.empty())
    wanted.path = std::filesystem::absolute(options.path).lexically_normal().string();
  wanted.dry_run = options.dry_run;
  wanted.consistent = options.consistent;
  wanted.force = options.force;
  wanted.lost_nodes = options.lost_nodes;
  wanted.wait = std::chrono::milliseconds(static_cast<int64_t>(options.wait_seconds * 1000));
  if (!options.to.empty()) wanted.to = std::filesystem::absolute(options.to).lexically_normal().string();
  if (terminal) wanted.progress = [&line](const RecoverProgress& progress) { line.show(progress); };
  wanted.waiting = [] { std::fprintf(stderr, "pmio: another recovery is under way, waiting for it\n"); };
  auto report = recover(wanted);
  line.clear();
  if (!report.ok()) return fail(report.status());
  print(options, *report);
  if (report->complete()) return 0;
  return report->complete_here() ? kElsewhere : 1;
}

// The log directory is not there, and may be once its file system is mounted.
bool may_come_back(const std::string& log_directory) {
  struct stat facts;
  if (lstat(log_directory.c_str(), &facts) == 0) return false;
  std::filesystem::path nearest = log_directory;
  std::error_code error;
  while (nearest.has_relative_path() && !std::filesystem::exists(nearest, error))
    nearest = nearest.parent_path();
  auto medium = probe_medium(nearest.string());
  return !medium.ok() || medium->kind != MediumKind::tmpfs;
}

// A job takes itself out of the registry when its directory goes, and so does a recovery: this one's was
// taken away.
int report_lost(const Registry& registry, const std::vector<Registry::Entry>& entries) {
  int code = 0;
  for (const Registry::Entry& entry : entries) {
    const std::string job = entry.log_directory + "/" + job_name(entry.job);
    struct stat facts;
    if (lstat(job.c_str(), &facts) == 0 || errno != ENOENT) continue;
    code = 1;
    if (may_come_back(entry.log_directory)) {
      std::fprintf(stderr, "pmio: the log %s is not there; mount its file system and repeat, or remove %s\n",
                   job.c_str(), registry.path_of(entry.job).c_str());
      continue;
    }
    std::fprintf(
        stderr,
        "pmio: the log %s is gone, as after a reboot where it was in memory; what it had not brought into "
        "its files is lost\n",
        job.c_str());
    static_cast<void>(registry.remove(entry.job));
  }
  return code;
}

// As the user whose registry it is.
int recover_registered(Options options) {
  auto registry = Registry::find();
  if (!registry.ok()) return registry.status().system_errno() == ENOENT ? 0 : fail(registry.status());
  auto entries = registry->list();
  if (!entries.ok()) return fail(entries.status());
  std::set<std::string> directories;
  for (const Registry::Entry& entry : *entries) directories.insert(entry.log_directory);
  int worst = 0;
  for (const std::string& directory : directories) {
    options.directory = directory;
    worst = worse_of(worst, recover_directory(options));
  }
  if (options.dry_run) return worst;
  entries = registry->list();  // what the recoveries have left of it
  return entries.ok() ? worse_of(worst, report_lost(*registry, *entries)) : fail(entries.status());
}

Result<std::vector<uid_t>> users_of(const Options& options) {
  if (!options.user.empty()) {
    const passwd* account = getpwnam(options.user.c_str());
    uid_t number = 0;
    const char* end = options.user.data() + options.user.size();
    const bool is_number = std::from_chars(options.user.data(), end, number).ptr == end;
    if (account == nullptr && !is_number) return Status(Code::invalid, "there is no user " + options.user);
    return std::vector<uid_t>{account != nullptr ? account->pw_uid : number};
  }
  if (geteuid() != 0) return std::vector<uid_t>{geteuid()};
  return registered_users();
}

int recover_all(const Options& options) {
  const auto users = users_of(options);
  if (!users.ok()) return fail(users.status());
  int worst = 0;
  for (const uid_t user : users.value()) {
    const auto code = as_user(user, [&options] { return recover_registered(options); });
    worst = worse_of(worst, code.ok() ? code.value() : fail(code.status()));
  }
  return worst;
}

int run(const Options& options) {
  if (!options.all && !options.user.empty()) return fail(Status(Code::invalid, "--user goes with --all"));
  if (options.all && options.directory_given)
    return fail(Status(Code::invalid, "--all finds the log directories itself: leave --dir out"));
  if (options.force && options.path.empty())
    return fail(Status(Code::invalid, "--force needs --file: say which file may be written over"));
  if (options.lost_nodes && (options.path.empty() || options.all || options.dry_run))
    return fail(
        Status(Code::invalid, "--lost-nodes needs --file, and goes neither with --all nor --dry-run"));
  if (!options.to.empty() && (options.path.empty() || options.all || options.force || options.lost_nodes))
    return fail(Status(Code::invalid,
                       "--to needs --file, and goes with neither --all, --force nor --lost-nodes: the file "
                       "itself is left alone"));
  if (options.all) return recover_all(options);
  const auto code = as_owner_of(options.directory, [&options] { return recover_directory(options); });
  return code.ok() ? code.value() : fail(code.status());
}

}  // namespace

void add_recover(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("recover", "Bring what a crashed job left in its logs into its files");
  auto* directory = command->add_option("--dir", options->directory, "The log directory");
  directory->capture_default_str();
  command->add_option("--file", options->path, "Only this file");
  command->add_flag("--all", options->all,
                    "All log directories of yours on this node; for root, of all users");
  command->add_option("--user", options->user, "With --all: of this user only");
  command->add_flag("--force", options->force, "With --file: also where somebody has changed the file since");
  command->add_flag(
      "--consistent", options->consistent,
      "Only up to the last collective write call that all ranks have finished; the rest stays in "
      "the log");
  command->add_flag("--lost-nodes", options->lost_nodes,
                    "With --file: the logs of the nodes that its recovery waits for are lost; end it");
  command->add_option(
      "--to", options->to,
      "With --file: into a copy of the file, of this name; the file and its log stay as they are");
  command
      ->add_option(
          "--wait", options->wait_seconds,
          "Wait so many seconds at most for jobs that still run, as those that have just been killed")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS");
  command->add_flag("--dry-run", options->dry_run, "Say what would be done, change nothing");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "May be interrupted and repeated. Exit status: 0 all is restored or nothing was missing (--consistent: "
      "what was left out is still in the log; --dry-run: nothing would be refused), 1 something is kept, "
      "refused, damaged or lost, or options do not go together, 2 usage, 3 as 0 on this node, but "
      "other nodes' logs are not in yet.");
  command->callback([options, directory] {
    options->directory_given = directory->count() > 0;
    set_exit_code(run(*options));
  });
}

static const Registration registration(add_recover);

}  // namespace pmio::cli
