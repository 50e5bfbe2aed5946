#include "cli/calibrate/run_messages.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/file_descriptor.h"

namespace pmio::cli {
namespace {

constexpr size_t kMostPrinted = 1 << 20;

Result<std::string> all_of(int pipe) {
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t got = read(pipe, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::from_errno(errno, "what the program prints");
    if (got == 0) return text;
    if (text.size() < kMostPrinted) text.append(part.data(), static_cast<size_t>(got));
  }
}

}  // namespace

Result<std::string> run_messages(const std::string& program, uint32_t rounds, double seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status::from_errno(errno, "pipe");
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  std::vector<std::string> words{program, "--rounds", std::to_string(rounds), "--seconds",
                                 std::to_string(seconds)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Status::from_errno(error, program);
  writing = FileDescriptor();
  auto printed = all_of(reading.get());
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) return Status(Code::io, program + " has failed");
  return printed;
}

}  // namespace pmio::cli
