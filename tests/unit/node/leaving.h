// What the tests share whose processes die or leave.
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include "recover/recover.h"
#include "support/node_fixture.h"

namespace pmio {

constexpr uint64_t kLog = 4 << 20;

struct Place : Scratch {
  const std::string path = files_ + "/data";
  Place() {
    setenv("PMIO_REGISTRY", files_.c_str(), 1);
    std::ofstream(path).flush();
  }
};

inline void recover_all(const std::string& directory) {
  RecoverOptions options;
  options.directory = directory;
  const auto report = recover(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
}

// Runs it in a process of its own; what that returns, or 256 and the signal.
inline int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int how = 0;
  waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 256 + WTERMSIG(how);
}

inline bool append_byte(File& file, uint64_t offset, char byte) {
  return file.append(offset, reinterpret_cast<const std::byte*>(&byte), 1, 0).ok();
}

}  // namespace pmio
