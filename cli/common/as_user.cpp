#include "cli/common/as_user.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace pmio::cli {
namespace {

constexpr int kFailed = 1;

Status become(const passwd& account) {
  if (initgroups(account.pw_name, account.pw_gid) != 0 ||
      setresgid(account.pw_gid, account.pw_gid, account.pw_gid) != 0 ||
      setresuid(account.pw_uid, account.pw_uid, account.pw_uid) != 0) {
    return Status::from_errno(errno, "cannot become user " + std::string(account.pw_name));
  }
  if (setuid(0) == 0) return Status(Code::access, "privileges could not be given up");
  return {};
}

[[noreturn]] void run_as(const passwd& account, const std::function<int()>& work) {
  int code = kFailed;
  if (const Status status = become(account); status.ok()) {
    code = work();
  } else {
    std::fprintf(stderr, "pmio: %s\n", status.message().c_str());
  }
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

Result<int> as_user(uid_t user, const std::function<int()>& work) {
  if (user == geteuid()) return work();
  if (geteuid() != 0)
    return Status(Code::access,
                  "logs of user " + std::to_string(user) + " can only be used by that user or root");
  const passwd* account = getpwuid(user);
  if (account == nullptr)
    return Status(Code::access, "user " + std::to_string(user) + " has no account on this node");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) run_as(*account, work);
  if (child < 0) return Status::from_errno(errno, "fork");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "pmio: what was done as user %s was ended by signal %d (%s)\n", account->pw_name,
               WTERMSIG(status), strsignal(WTERMSIG(status)));
  return kFailed;
}

Result<int> as_owner_of(const std::string& directory, const std::function<int()>& work) {
  struct stat facts {};
  const bool of_a_user = geteuid() == 0 && lstat(directory.c_str(), &facts) == 0;
  return of_a_user ? as_user(facts.st_uid, work) : work();
}

int run_as_owner_of(const std::string& directory, const std::function<int()>& work, int failed) {
  const Result<int> code = as_owner_of(directory, work);
  if (!code.ok()) std::fprintf(stderr, "pmio: %s\n", code.status().message().c_str());
  return code.ok() ? code.value() : failed;
}

}  // namespace pmio::cli
