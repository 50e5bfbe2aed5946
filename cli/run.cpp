// `pmio run`: becomes the program, with the runtime library that fits its MPI preloaded.
//
// Only the environment changes, and the process is replaced, not forked: signals, standard streams, process
// ids and the launcher's wire-up stay the program's own.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "commands.h"
#include "medium/default_directory.h"
#include "mpi/choose_again.h"
#include "recover/leftovers.h"
#include "run_choose.h"

namespace pmio::cli {
namespace {

constexpr int kUsage = 2;
constexpr int kCannotExecute = 126;  // as the shell
constexpr int kNotFound = 127;

struct Options {
  std::string directory, log_size, mode, hints, tag;
  bool statistics = false;
  bool outermost = false;
  bool again = false;  // by a runtime library for another MPI: mpi/choose_again.h
  std::vector<std::string> program;
};

std::vector<std::string> program_words;  // the program and its arguments, from cut_program

int fail(const std::string& message, int code) {
  fprintf(stderr, "pmio run: %s\n", message.c_str());
  return code;
}

void set_if_given(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}

bool is_launcher(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename().string();
  for (const char* known : {"mpiexec", "mpirun", "orterun", "prterun", "srun", "aprun", "jsrun"}) {
    if (name == known || name.starts_with(std::string(known) + ".")) return true;
  }
  return false;
}

Result<Runtime> named_runtime(const std::vector<Runtime>& runtimes, const std::string& tag) {
  for (const Runtime& runtime : runtimes) {
    if (runtime.present && runtime.tag == tag) return runtime;
  }
  return Status(Code::invalid, "no runtime library named " + tag + "; built were: " + list_tags(runtimes));
}

// The sanitizers' runtimes must come first in the list of preloaded libraries, or they refuse to start the
// program.
std::string sanitizer_of(const std::string& runtime) {
  auto libraries = loaded_libraries(runtime, own_loader());
  if (!libraries.ok()) return {};
  for (const LoadedLibrary& library : *libraries) {
    for (const char* known : {"libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan"}) {
      if (library.name.find(known) != std::string::npos) return library.path;
    }
  }
  return {};
}

// What is preloaded already stays nearer to the program, so that a profiler sees the program's calls;
// outermost: it sees what pmio hands on.
Status preload(const std::string& runtime, bool outermost) {
  if (runtime.find_first_of(": ") != std::string::npos) {
    return {Code::invalid, "the loader separates LD_PRELOAD by colons and spaces, and cannot take " +
                               runtime + ": install pmio to a path without them"};
  }
  const char* before = getenv("LD_PRELOAD");
  const std::string others = before == nullptr ? "" : before;
  std::string list;
  for (const std::string& part :
       {sanitizer_of(runtime), outermost ? runtime : others, outermost ? others : runtime}) {
    if (!part.empty()) list += (list.empty() ? "" : ":") + part;
  }
  setenv("LD_PRELOAD", list.c_str(), 1);
  return {};
}

// The runtime library that is preloaded already, exchanged in its place for another.
void exchange_runtime(const std::vector<Runtime>& runtimes, const std::string& runtime) {
  const char* before = getenv("LD_PRELOAD");
  std::string list = before == nullptr ? "" : before;
  for (const Runtime& other : runtimes) {
    const size_t at = list.find(other.path);
    if (at == std::string::npos) continue;
    list.replace(at, other.path.size(), runtime);
    break;
  }
  setenv("LD_PRELOAD", list.c_str(), 1);
}

int become(const std::string& path, const std::vector<std::string>& program) {
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(path.c_str(), argv.data());  // execvp, for a script without #!
  return fail("cannot execute " + path + ": " + strerror(errno),
              errno == ENOENT ? kNotFound : kCannotExecute);
}

// Once per job: by the first rank, or where no launcher says which rank this is.
void mention_leftovers() {
  for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    const char* rank = getenv(name);
    if (rank != nullptr && strcmp(rank, "0") != 0) return;
  }
  const std::string directory = default_directory();
  const size_t dead = count_dead_jobs(directory);
  if (dead == 0) return;
  fprintf(stderr,
          "pmio: %zu earlier %s that ended before the files were complete left a log in %s; run: pmio "
          "recover --dir %s\n",
          dead, dead == 1 ? "job" : "jobs", directory.c_str(), directory.c_str());
}

// The first word is the program's file, those after it are its arguments, its name among them. Whatever is
// wrong, the program must go on: the runtime library that it has says that there is no log.
int run_again(std::vector<std::string> words) {
  if (words.size() < 2) return fail("--again is for the runtime libraries", kUsage);
  const std::string path = words.front();
  words.erase(words.begin());
  if (auto runtimes = load_runtimes(); runtimes.ok()) {
    if (auto runtime = choose_runtime(*runtimes, path); runtime.ok())
      exchange_runtime(*runtimes, runtime->path);
  }
  setenv(kChosenAgain, std::to_string(getpid()).c_str(), 1);
  return become(path, words);
}

int run(Options options) {
  if (options.program.empty())
    return fail("no program given; usage: mpiexec -n N pmio run [options] -- ./app args", kUsage);
  if (options.again) return run_again(std::move(options.program));
  const std::string& name = options.program.front();
  if (is_launcher(name)) {
    return fail(
        "give pmio to the launcher, not the launcher to pmio: " + name + " ... pmio run [options] -- ./app",
        kUsage);
  }
  bool denied = false;
  const std::string path = find_program(name, &denied);
  if (path.empty())
    return denied ? fail(name + ": permission denied", kCannotExecute)
                  : fail(name + ": not found", kNotFound);

  auto runtimes = load_runtimes();
  if (!runtimes.ok()) return fail(runtimes.status().message(), 1);
  auto runtime =
      options.tag.empty() ? choose_runtime(*runtimes, path) : named_runtime(*runtimes, options.tag);
  if (!runtime.ok()) return fail(runtime.status().message(), 1);
  if (Status status = preload(runtime->path, options.outermost); !status.ok())
    return fail(status.message(), 1);

  // Absolute, for whoever starts in another directory.
  set_if_given("PMIO_DIR", options.directory.empty() ? "" : std::filesystem::absolute(options.directory));
  set_if_given("PMIO_LOG_SIZE", options.log_size);
  set_if_given("PMIO_MODE", options.mode);
  set_if_given("PMIO_HINTS", options.hints);
  if (options.statistics) setenv("PMIO_STATS", "1", 1);
  setenv(kRunCommand, (executable_directory() + "/pmio").c_str(), 1);
  unsetenv(kChosenAgain);
  mention_leftovers();
  return become(path, options.program);
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "Start a program with its MPI-IO taken over: mpiexec -n N pmio run -- ./app");
  command->add_option("--dir", options->directory, "Directory for the logs (PMIO_DIR)");
  command->add_option("--log-size", options->log_size, "Log capacity per rank, such as 512M (PMIO_LOG_SIZE)");
  command->add_option("--mode", options->mode, "auto, log or off (PMIO_MODE)");
  command->add_flag("--stats", options->statistics, "Print statistics at the end (PMIO_STATS=1)");
  command->add_option("--hints", options->hints, "pattern:key=value:..., per file name pattern (PMIO_HINTS)");
  command->add_option("--mpi", options->tag,
                      "Runtime library to take, such as mpich-4.0.2, instead of finding it out");
  command->add_flag("--outermost", options->outermost,
                    "Stand before what LD_PRELOAD holds already, which then sees what pmio hands on only");
  command->add_flag("--again", options->again)->group("");  // not for users: --help is silent about it
  command->footer("The program and its arguments follow, after -- where one likes.");
  command->callback([options] {
    options->program = program_words;
    set_exit_code(run(*options));
  });
}

// CLI11 would take the program's options for its own; what it takes is cut off before it sees the rest.
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
