// `pmio bench`: measurements that need several ranks, by programs of MPI (bench/steps.c). A build directory
// has one for each MPI; what is installed has their source. This command finds the program and becomes `pmio
// run` of it.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/run/mpi_program.h"
#include "cli/run/runtimes.h"
#include "preload/names.h"

namespace pmio::cli {
namespace {

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

int become(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return refuse("cannot execute " + words[0] + ": " + std::strerror(errno), kFailed);
}

int steps(const Options& options) {
  const std::string program =
      options.program.empty() ? find_mpi_program({"steps", "bench steps", options.tag}) : options.program;
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
