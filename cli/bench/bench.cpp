// `pmio bench`: measurements that need several ranks, by programs of MPI (bench/steps.c). A build directory
// has one for each MPI; what is installed has their source. This command finds the program and becomes `pmio
// run` of it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/run/loader.h"
#include "cli/run/runtimes.h"
#include "preload/names.h"

namespace pmio::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kFailed = 1;

struct Options {
  std::string tag, program;
  std::string bytes, calls, aggregators, file;
  bool json = false;
};

// One message for a job.
int refuse(const std::string& message, int code) {
  if (pmio_is_first_rank()) std::fprintf(stderr, "pmio: %s\n", message.c_str());
  return code;
}

// Of the MPI whose launcher has started this process; empty: that does not show.
std::string launchers_family() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_UNIVERSE_SIZE"})
    if (getenv(name) != nullptr) return "openmpi";
  for (const char* name : {"PMI_RANK", "PMI_FD", "HYDI_CONTROL_FD"})
    if (getenv(name) != nullptr) return "mpich";
  return {};
}

std::string steps_of(const Runtime& runtime) {
  return (fs::path(runtime.path).parent_path() / ("pmio-steps-" + runtime.tag)).string();
}

// The directory of the MPI whose mpiexec is the first in PATH.
std::string prefix_in_path() {
  bool denied = false;
  std::error_code error;
  const fs::path launcher = fs::canonical(find_program("mpiexec", &denied), error);
  return error ? std::string() : launcher.parent_path().parent_path().string();
}

// Of those that are built: by the name that was given, or else by the launcher, and then by PATH. The newest
// of several.
const Runtime* choose(const std::vector<Runtime>& runtimes, const std::string& tag) {
  const std::string family = tag.empty() ? launchers_family() : "";
  const std::string prefix = prefix_in_path();
  const Runtime* chosen = nullptr;
  for (const Runtime& runtime : runtimes) {
    if (access(steps_of(runtime).c_str(), X_OK) != 0) continue;
    if (!tag.empty() && runtime.tag != tag) continue;
    if (!family.empty() && runtime.family != family) continue;
    if (chosen != nullptr && chosen->prefix == prefix && runtime.prefix != prefix) continue;
    chosen = &runtime;
  }
  return chosen;
}

int become(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return refuse("cannot execute " + words[0] + ": " + std::strerror(errno), kFailed);
}

// The program; empty: there is none, and how to make one has been said.
std::string find_steps(const Options& options) {
  if (!options.program.empty()) return options.program;
  auto runtimes = load_runtimes();
  if (!runtimes.ok()) {
    refuse(runtimes.status().message(), kFailed);
    return {};
  }
  if (const Runtime* runtime = choose(*runtimes, options.tag)) return steps_of(*runtime);
  const fs::path source = fs::path(executable_directory()) / PMIO_DATA_FROM_COMMAND / "steps.c";
  refuse("the program for this MPI is not built; build it by its compiler, and name it:\n  mpicc -O2 " +
             source.lexically_normal().string() +
             " -o steps -ldl\n  mpiexec -n 4 pmio bench steps --program ./steps",
         kFailed);
  return {};
}

int steps(const Options& options) {
  const std::string program = find_steps(options);
  if (program.empty()) return kFailed;
  std::vector<std::string> words{executable_directory() + "/pmio", "run", "--or-plain", "--", program};
  const auto add = [&words](const char* name, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(name);
    words.push_back(value);
  };
  add("--bytes", options.bytes);
  add("--calls", options.calls);
  add("--aggregators", options.aggregators);
  add("--file", options.file);
  if (options.json) words.emplace_back("--json");
  return become(words);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* bench = app.add_subcommand("bench", "Measure: mpiexec -n N pmio bench steps");
  bench->require_subcommand(1);
  CLI::App* command = bench->add_subcommand(
      "steps", "Where the time of a small collective write goes: two-phase step by step, and pmio's engine");
  const auto number = CLI::Range(1, 1 << 24);
  command->add_option("--bytes", options->bytes, "Of each rank in a call (1312)")->check(number);
  command->add_option("--calls", options->calls, "So many (400)")->check(number);
  command->add_option("--aggregators", options->aggregators, "Ranks that write (one for each node)")
      ->check(number);
  command->add_option("--file", options->file,
                      "A file that is not there yet, on the file system to measure (./pmio-steps.tmp)");
  command->add_option("--mpi", options->tag, "The MPI, such as mpich-4.0.2, instead of finding it out");
  command->add_option("--program", options->program, "Another program that steps.c was compiled to");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Started by the MPI's launcher, once for each rank. docs/performance.md explains the table.");
  command->callback([options] { set_exit_code(steps(*options)); });
}

static const Registration registration(add_bench);

}  // namespace pmio::cli
