// `pmio run`: becomes the program, with libpmio.so preloaded, which takes over whatever MPI the program uses.
//
// Only the environment changes, and the process is replaced, not forked: signals, standard streams, process
// ids and the launcher's wire-up stay the program's own.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/common/settings.h"
#include "cli/run/first_rank.h"
#include "cli/run/loader.h"
#include "cli/run/prospects.h"
#include "medium/default_directory.h"
#include "preload/names.h"
#include "recover/leftovers.h"

namespace pmio::cli {
namespace {

constexpr int kUsage = 2;
constexpr int kNotTakenOver = 125;   // as `env` and `timeout` for what is wrong with themselves
constexpr int kCannotExecute = 126;  // as the shell
constexpr int kNotFound = 127;

struct Options {
  std::string directory, log_size, mode, hints, tag;
  bool statistics = false;
  std::string statistics_directory;
  bool outermost = false;
  bool or_plain = false;
  std::vector<std::string> program;
};

std::vector<std::string> program_words;  // the program and its arguments, from cut_program

int fail(const std::string& message, int code) {
  fprintf(stderr, "pmio run: %s\n", message.c_str());
  return code;
}

// What is the same for all ranks is said by one.
int refuse(const std::string& message, int code) {
  if (pmio_is_first_rank()) return fail(message, code);
  if (code != 0) let_first_rank_tell();
  return code;
}

void set_if_given(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}

bool is_launcher(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename().string();
  for (const char* known :
       {"mpiexec", "mpirun", "orterun", "prterun", "prun", "srun", "aprun", "jsrun", "flux"}) {
    if (name == known || name.starts_with(std::string(known) + ".")) return true;
  }
  return false;
}

// The sanitizer of the runtime libraries, too, if pmio was built with one: it must come first as well.
std::string first_of_all(const std::vector<Runtime>& runtimes, const Prospects& prospects) {
  if (!prospects.sanitizer.empty()) return prospects.sanitizer;
  for (const Runtime& runtime : runtimes) {
    if (runtime.present) return sanitizer_of(runtime.path, own_loader());
  }
  return {};
}

// What is preloaded already stays nearer to the program, so that a profiler sees the program's calls;
// outermost: it sees what pmio hands on.
Status preload(const std::string& library, const std::string& sanitizer, bool outermost) {
  if (library.find_first_of(": ") != std::string::npos) {
    return {Code::unsupported, "the loader separates LD_PRELOAD by colons and spaces, and cannot take " +
                                   library + ": install pmio to a path without them"};
  }
  const char* before = getenv("LD_PRELOAD");
  const std::string others = before == nullptr ? "" : before;
  std::string list;
  for (const std::string& part : {sanitizer, outermost ? library : others, outermost ? others : library}) {
    if (!part.empty()) list += (list.empty() ? "" : ":") + part;
  }
  setenv("LD_PRELOAD", list.c_str(), 1);
  return {};
}

int become(const std::string& path, const std::vector<std::string>& program) {
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(path.c_str(), argv.data());  // execvp, for a script without #!
  return fail("cannot execute " + path + ": " + strerror(errno),
              errno == ENOENT ? kNotFound : kCannotExecute);
}

// Once per job: by the first rank, or if no launcher says which rank this is.
void mention_leftovers() {
  if (!pmio_is_first_rank()) return;
  const std::string directory = default_directory();
  const size_t dead = count_dead_jobs(directory);
  if (dead == 0) return;
  fprintf(stderr,
          "pmio: %zu earlier %s that ended before the files were complete left a log in %s; run: pmio "
          "recover --dir %s, or pmio discard\n",
          dead, dead == 1 ? "job" : "jobs", directory.c_str(), directory.c_str());
}

void set_environment(const Options& options) {
  // Absolute, for whoever starts in another directory.
  set_if_given("PMIO_DIR", options.directory.empty() ? "" : std::filesystem::absolute(options.directory));
  set_if_given("PMIO_LOG_SIZE", options.log_size);
  set_if_given("PMIO_MODE", options.mode);
  set_if_given("PMIO_HINTS", options.hints);
  set_if_given(PMIO_ENV_RUNTIME, options.tag);
  if (options.statistics || !options.statistics_directory.empty()) setenv("PMIO_STATS", "1", 1);
  if (!options.statistics_directory.empty())
    setenv("PMIO_STATS_DIR", std::filesystem::absolute(options.statistics_directory).c_str(), 1);
  setenv(PMIO_ENV_COMMAND, (executable_directory() + "/pmio").c_str(), 1);
}

// Of the environment as the job will have it, options included. All of it, so that one start finds them all.
bool settings_are_right() {
  Hints hints;
  const auto problems = check_settings(hints);
  for (const SettingProblem& problem : problems) {
    refuse(problem.what + ": " + problem.remedy, kUsage);
  }
  return problems.empty();
}

Status check_tag(const std::vector<Runtime>& runtimes, const std::string& tag) {
  const auto is_wanted = [&tag](const Runtime& runtime) { return runtime.present && runtime.tag == tag; };
  if (tag.empty() || std::any_of(runtimes.begin(), runtimes.end(), is_wanted)) return {};
  return {Code::invalid, "no runtime library named " + tag + "; built were: " + list_tags(runtimes)};
}

// Everything that makes the program's MPI-IO pmio's; unsupported: it cannot be.
Status take_over(const Options& options, const std::string& path) {
  const std::string library = preloaded_library();
  if (library.empty())
    return {Code::unsupported, "libpmio.so is missing: is pmio completely built or installed?"};
  auto runtimes = load_runtimes();
  if (!runtimes.ok()) return {Code::unsupported, runtimes.status().message()};
  PMIO_TRY(check_tag(*runtimes, options.tag));
  const Prospects prospects = look_at_program(*runtimes, path);
  PMIO_TRY(prospects.obstacle);
  return preload(library, first_of_all(*runtimes, prospects), options.outermost);
}

int run(const Options& options) {
  if (options.program.empty())
    return refuse("no program given; usage: mpiexec -n N pmio run [options] -- ./app args", kUsage);
  const std::string& name = options.program.front();
  if (is_launcher(name)) {
    return refuse(
        "give pmio to the launcher, not the launcher to pmio: " + name + " ... pmio run [options] -- ./app",
        kUsage);
  }
  set_environment(options);
  if (!settings_are_right()) return kUsage;
  bool denied = false;
  const std::string path = find_program(name, &denied);
  if (path.empty())
    return denied ? fail(name + ": permission denied", kCannotExecute)
                  : fail(name + ": not found", kNotFound);
  if (Status status = take_over(options, path); !status.ok()) {
    if (status.code() == Code::invalid) return refuse(status.message(), kUsage);
    if (!options.or_plain)
      return refuse(status.message() + "; --or-plain runs it without pmio", kNotTakenOver);
    refuse("runs without pmio: " + status.message(), 0);
    return become(path, options.program);
  }
  mention_leftovers();
  for (const std::string& problem : problems_of_site()) {
    if (pmio_is_first_rank()) fprintf(stderr, "pmio: %s; the line has no effect\n", problem.c_str());
  }
  return become(path, options.program);
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "Start a program with its MPI-IO taken over: mpiexec -n N pmio run -- ./app");
  command->add_option("--dir", options->directory, "Directory for the logs (PMIO_DIR)");
  command->add_option("--log-size", options->log_size, "Log capacity per rank, such as 512M (PMIO_LOG_SIZE)");
  command->add_option("--mode", options->mode, "auto, log, independent, twophase or off (PMIO_MODE)");
  command->add_flag("--stats", options->statistics, "Print statistics at the end (PMIO_STATS=1)");
  command->add_option("--stats-dir", options->statistics_directory,
                      "--stats, and keep them in this directory (PMIO_STATS_DIR)");
  command->add_option("--hints", options->hints, "pattern:key=value:..., per file name pattern (PMIO_HINTS)");
  command->add_option("--mpi", options->tag,
                      "Runtime library to take, such as mpich-4.0.2, instead of finding it out");
  command->add_flag("--outermost", options->outermost,
                    "Stand before what LD_PRELOAD holds already, which then sees what pmio hands on only");
  command->add_flag("--or-plain", options->or_plain,
                    "Run the program without pmio where it cannot be taken over, instead of ending with 125");
  command->footer(
      "The program and its arguments follow, after -- where one likes. Its exit status is the program's; 2: "
      "an "
      "option or a PMIO_ variable is wrong; 125: the program cannot be taken over; 126: it cannot be "
      "executed; "
      "127: it is not found.");
  command->callback([options] {
    options->program = program_words;
    set_exit_code(run(*options));
  });
}

// CLI11 would take the program's options for its own; what it takes is removed before it sees the rest.
int cut_program(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || strcmp(argv[1], "run") != 0) return argc;
  const CLI::App* command = app.get_subcommand("run");
  int end = 2;
  while (end < argc && argv[end][0] == '-' && strcmp(argv[end], "--") != 0) {
    const CLI::Option* option = command->get_option_no_throw(argv[end]);
    const bool takes_value = option != nullptr && option->get_items_expected_min() > 0;
    end += takes_value ? 2 : 1;  // --option=value is one word
  }
  if (end >= argc) return argc;
  program_words.assign(argv + end + (strcmp(argv[end], "--") == 0 ? 1 : 0), argv + argc);
  return end;
}

static const Registration registration(add_run);

}  // namespace pmio::cli
