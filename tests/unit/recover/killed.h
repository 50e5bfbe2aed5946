// Kills a recovery before each of its system calls that change something, and before every eight bytes that
// it stores into the files of the log.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "recover/recover.h"
#include "support/wrapped_medium.h"

namespace pmio::test {

constexpr long kStore = SYS_getppid;  // says that a store comes next: stores cannot be seen from outside

class SteppingRegion final : public WrappedRegion {
 public:
  using WrappedRegion::WrappedRegion;
  void copy(size_t offset_bytes, const void* source, size_t length_bytes) override {
    for (size_t at = 0; at < length_bytes; at += sizeof(uint64_t)) {
      syscall(kStore);
      real().copy(offset_bytes + at, static_cast<const std::byte*>(source) + at,
                  std::min(sizeof(uint64_t), length_bytes - at));
    }
  }
};

class SteppingMedium final : public WrappedMedium {
 public:
  using WrappedMedium::WrappedMedium;
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    return stepping(real().create(name, size_bytes, lasting));
  }
  Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) override {
    return stepping(real().open(name, read_only));
  }

 private:
  static Result<std::unique_ptr<Region>> stepping(Result<std::unique_ptr<Region>> region) {
    if (!region.ok()) return region;
    return std::unique_ptr<Region>(new SteppingRegion(std::move(region).value()));
  }
};

// The kernel stops this process before these, and only these: each stop takes time.
inline bool stop_before_changes() {
  constexpr long kChanges[] = {kStore,        SYS_write,  SYS_pwrite64,  SYS_pwritev, SYS_fdatasync,
                               SYS_fsync,     SYS_msync,  SYS_fallocate, SYS_linkat,  SYS_unlinkat,
                               SYS_ftruncate, SYS_fchmod, SYS_mkdirat,   SYS_openat,
#ifdef SYS_unlink
                               SYS_unlink,    SYS_rmdir,  SYS_mkdir
#endif
  };
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long change : kChanges) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(change), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

inline bool changes_something(const __ptrace_syscall_info& info) {
  return info.seccomp.nr != SYS_openat || (info.seccomp.args[2] & O_CREAT) != 0;
}

enum class Killed { yes, came_to_its_end, cannot_trace };

// Recovers in a process that is killed before its n-th change, from 0.
inline Killed recover_killed_before(RecoverOptions options, int n) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
    raise(SIGSTOP);
    if (!stop_before_changes()) _exit(2);
    options.open_log = open_wrapped<SteppingMedium>();
    _exit(recover(options).ok() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status) ||
      ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL) != 0) {
    kill(child, SIGKILL);
    if (WIFSTOPPED(status)) waitpid(child, &status, 0);
    return Killed::cannot_trace;
  }
  for (int changes = 0;;) {
    ptrace(PTRACE_CONT, child, nullptr, nullptr);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status)) break;
    __ptrace_syscall_info info{};
    ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
    if (info.op == PTRACE_SYSCALL_INFO_SECCOMP && changes_something(info) && changes++ == n)
      kill(child, SIGKILL);
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return Killed::yes;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) return Killed::cannot_trace;
  EXPECT_EQ(status, 0) << "before change " << n;
  return Killed::came_to_its_end;
}

}  // namespace pmio::test
