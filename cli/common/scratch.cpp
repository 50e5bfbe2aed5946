#include "cli/common/scratch.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace pmio::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kInterrupting[] = {SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t interruption = 0;

extern "C" void note_interruption(int number) { interruption = number; }

}  // namespace

ScratchDirectory::ScratchDirectory(const std::string& parent, const std::string& prefix)
    : path_(parent + "/" + prefix + "XXXXXX") {
  made_ = mkdtemp(path_.data()) != nullptr;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (made_) fs::remove_all(path_, ignored);
}

std::string nearest_directory(const std::string& directory) {
  fs::path nearest = directory;
  std::error_code error;
  while (nearest.has_relative_path() && !fs::is_directory(nearest, error)) nearest = nearest.parent_path();
  return nearest.empty() ? "." : nearest.string();
}

Interruptions::Interruptions() {
  struct sigaction action {};
  action.sa_handler = note_interruption;
  for (const int number : kInterrupting) sigaction(number, &action, nullptr);
}

Interruptions::~Interruptions() {
  for (const int number : kInterrupting) signal(number, SIG_DFL);
}

int Interruptions::signal_that_came() { return interruption; }

}  // namespace pmio::cli
