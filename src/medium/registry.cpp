#include "medium/registry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/memory_limits.h"
#include "medium/job_name.h"

namespace pmio {

namespace {

constexpr std::string_view kUsers = "pmio-jobs-";

std::string own_path() { return registry_root() + "/" + std::string(kUsers) + std::to_string(geteuid()); }

std::optional<uid_t> user_of(std::string_view name) {
  if (name.substr(0, kUsers.size()) != kUsers || name.size() == kUsers.size()) return {};
  uid_t user = 0;
  const auto [end, error] = std::from_chars(name.data() + kUsers.size(), name.data() + name.size(), user);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return user;
}

// The one line of an entry; empty if the line is not whole. A whole line ends in a newline.
std::string read_line(int directory, const std::string& name) {
  const FileDescriptor file(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts;
  if (!file.ok() || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid())
    return {};
  char text[PATH_MAX + 1];
  const ssize_t length = pread(file.get(), text, sizeof text, 0);
  if (length < 2 || text[0] != '/' || text[length - 1] != '\n') return {};
  std::string line(text, static_cast<size_t>(length) - 1);
  return line.find_first_of(std::string("\n\0", 2)) == std::string::npos ? line : std::string();
}

}  // namespace

std::string registry_root() {
  const char* given = std::getenv("PMIO_REGISTRY");
  std::string root = given != nullptr && *given != '\0' ? given : "/var/tmp";
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  return root;
}

Result<Registry> Registry::create() {
  auto directory = Directory::open(own_path());
  if (!directory.ok()) return directory.status();
  return Registry(std::move(directory).value());
}

Result<Registry> Registry::find() {
  struct stat facts;
  if (lstat(own_path().c_str(), &facts) != 0) return Status::from_errno(errno, own_path());
  return create();
}

Status Registry::add(uint64_t job, const std::string& log_directory, bool durable) const {
  const std::string name = job_name(job);
  const std::string line = log_directory + "\n";
  if (line.size() > largest_file_bytes()) return Status::from_errno(EFBIG, directory_.path() + "/" + name);
  const FileDescriptor file(
      openat(directory_.fd(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.ok())
    return errno == EEXIST ? Status() : Status::from_errno(errno, directory_.path() + "/" + name);
  const ssize_t written = ::write(file.get(), line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size()) || (durable && fsync(file.get()) != 0)) {
    const int error = written >= 0 && written != static_cast<ssize_t>(line.size()) ? ENOSPC : errno;
    unlinkat(directory_.fd(), name.c_str(), 0);
    return Status::from_errno(error, directory_.path() + "/" + name);
  }
  if (!durable) return {};
  PMIO_TRY(directory_.sync_new_name());
  return directory_.sync();
}

Status Registry::remove(uint64_t job) const { return directory_.remove_file(job_name(job)); }

std::string Registry::path_of(uint64_t job) const { return directory_.path() + "/" + job_name(job); }

Result<std::vector<Registry::Entry>> Registry::list() const {
  auto names = directory_.list();
  if (!names.ok()) return names.status();
  std::vector<Entry> entries;
  for (const std::string& name : *names) {
    const auto job = job_of(name);
    if (!job) continue;
    std::string line = read_line(directory_.fd(), name);
    if (!line.empty()) entries.push_back({*job, std::move(line)});
  }
  return entries;
}

std::vector<uid_t> registered_users() {
  std::vector<uid_t> users;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(registry_root(), error)) {
    const auto user = user_of(entry.path().filename().string());
    struct stat facts;
    if (!user || lstat(entry.path().c_str(), &facts) != 0) continue;
    // Somebody else may have made a directory, or a link, of that name.
    if (S_ISDIR(facts.st_mode) && facts.st_uid == *user) users.push_back(*user);
  }
  std::sort(users.begin(), users.end());
  return users;
}

}  // namespace pmio
