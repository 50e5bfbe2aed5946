// `pmio wait`: until files are complete that jobs have closed by pmio_close=background, or are still writing.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/common/as_user.h"
#include "cli/common/report_format.h"
#include "medium/default_directory.h"
#include "recover/held.h"

namespace pmio::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kComplete = 0, kTrouble = 1, kTooLate = 3;
constexpr std::chrono::milliseconds kFirstPause{5}, kLongestPause{200};

struct Options {
  std::string directory = default_directory();
  std::vector<std::string> files;
  double timeout = -1;  // seconds; negative: none
};

int give_up(const std::string& path, uint64_t bytes) {
  std::fprintf(stderr, "pmio: %s: %s are still in the log of a job that runs\n", path.c_str(),
               human_bytes(bytes).c_str());
  return kTooLate;
}

int wait_for(const std::string& directory, const std::string& path, const Clock::time_point* end) {
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    Result<HeldBytes> held = held_bytes(directory, path);
    if (!held.ok()) {
      std::fprintf(stderr, "pmio: %s\n", held.status().message().c_str());
      return kTrouble;
    }
    if (held->running == 0 && !held->is_unknown) {
      if (held->dead == 0) return kComplete;
      std::fprintf(stderr, "pmio: %s: %s are in the log of a dead job: run 'pmio recover --dir %s'\n",
                   path.c_str(), human_bytes(held->dead).c_str(), directory.c_str());
      return kTrouble;
    }
    if (end != nullptr && Clock::now() >= *end) return give_up(path, held->running);
    std::this_thread::sleep_for(pause);
  }
}

int run(const Options& options) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(std::max(options.timeout, 0.0)));
  int worst = kComplete;
  for (const std::string& path : options.files)
    worst = std::max(worst, wait_for(options.directory, path, options.timeout < 0 ? nullptr : &end));
  return worst;
}

}  // namespace

void add_wait(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("wait", "Wait until nothing of a file is in the log of a running job");
  command->add_option("file", options->files, "The files")->required();
  command->add_option("--dir", options->directory, "The log directory")->capture_default_str();
  command->add_option("--timeout", options->timeout, "Seconds to wait at most; then the exit code is 3")
      ->check(CLI::Range(0.0, 1e9));
  command->callback([options] {
    set_exit_code(run_as_owner_of(
        options->directory, [&options] { return run(*options); }, kTrouble));
  });
}

static const Registration registration(add_wait);

}  // namespace pmio::cli
