// `pmio discard`: throws a dead job's log away.
#include "recover/discard.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/common/as_user.h"
#include "cli/common/report_format.h"
#include "medium/default_directory.h"
#include "medium/job_name.h"
#include "medium/registry.h"

namespace pmio::cli {
namespace {

struct Options {
  std::string directory;
  std::string job;
  bool yes = false;
};

int fail(const Status& status) {
  std::fprintf(stderr, "pmio: %s\n", status.message().c_str());
  return 1;
}

// As `pmio inspect` shows it, or the name of its directory.
std::optional<uint64_t> id_of(const std::string& job) {
  return job_of(job.starts_with("job-") ? job : "job-" + job);
}

// The place of the log that the job has noted; else the default place.
std::string directory_of(uint64_t job) {
  auto registry = Registry::find();
  const auto entries =
      registry.ok() ? registry->list() : Result<std::vector<Registry::Entry>>(registry.status());
  if (entries.ok()) {
    for (const Registry::Entry& entry : entries.value())
      if (entry.job == job) return entry.log_directory;
  }
  return default_directory();
}

void print_file(const FileInfo& file) {
  if (file.discarded || (file.undrained_records() == 0 && !file.damaged() && !file.ledger_damaged)) return;
  std::printf("  %s: %s of ranks %s, in %s records%s\n", file.name().c_str(),
              human_bytes(file.undrained_bytes()).c_str(), human_ranks(file.ranks()).c_str(),
              human_count(file.undrained_records()).c_str(), file.damaged() ? "; and what is damaged" : "");
  if (file.nodes && file.nodes->nodes > 1)
    std::printf("    other nodes wait for it; afterwards, there: pmio recover --file %s --lost-nodes\n",
                file.name().c_str());
}

int tell(const Options& options, const Discarded& discarded, uint64_t id) {
  const std::string job = hexadecimal_id(id);
  if (discarded.result == Discarded::Result::not_there) {
    if (discarded.had_note) {
      std::printf("There is no log of job %s in %s; the note of it is removed\n", job.c_str(),
                  options.directory.c_str());
      return 0;
    }
    return fail(
        Status(Code::invalid, "there is no log of job " + job + " in " + options.directory +
                                  "; pmio inspect shows those that there are; to remove the note of one "
                                  "that is gone: --yes"));
  }
  const bool done = discarded.result == Discarded::Result::done;
  std::printf("job %s: %s\n", job.c_str(),
              done ? "its log is thrown away" : "not thrown away, since its log has what is in no file:");
  for (const FileInfo& file : discarded.job.files) print_file(file);
  for (const UnreadableSegment& segment : discarded.job.unreadable)
    std::printf("  %s, which cannot be read\n", segment.name.c_str());
  if (done) return 0;
  std::printf("  to bring it in: pmio recover --dir %s; to throw it away: pmio discard --yes --dir %s %s\n",
              options.directory.c_str(), options.directory.c_str(), job.c_str());
  return 1;
}

int run(Options options) {
  const std::filesystem::path path = options.job;
  const auto id = id_of(path.filename().string());
  if (!id)
    return fail(Status(Code::invalid, options.job + " is no job: give the number that pmio inspect shows"));
  if (options.directory.empty())
    options.directory = path.has_parent_path() ? path.parent_path().string() : directory_of(*id);
  const auto code = as_owner_of(options.directory, [&options, &id] {
    const auto discarded = discard_job(options.directory, *id, options.yes);
    return discarded.ok() ? tell(options, discarded.value(), *id) : fail(discarded.status());
  });
  return code.ok() ? code.value() : fail(code.status());
}

}  // namespace

void add_discard(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("discard", "Throw away the log of a dead job that nobody wants");
  command->add_option("job", options->job, "Its number, as pmio inspect shows it, or its directory")
      ->required();
  command->add_option("--dir", options->directory,
                      "The log directory; else where the job has noted that it is, or the default");
  command->add_flag("--yes", options->yes, "Also what is in no file yet, and cannot be had again");
  command->footer("Exit status: 0 it is gone, 1 it is not, and why, 2 usage.");
  command->callback([options] { set_exit_code(run(*options)); });
}

static const Registration registration(add_discard);

}  // namespace pmio::cli
