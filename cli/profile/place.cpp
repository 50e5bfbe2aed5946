#include "cli/profile/place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file_descriptor.h"
#include "base/file_system.h"

namespace pmio::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostProfileBytes = 1 << 20;
constexpr char kSiteProfile[] = "/etc/pmio/profile.json";

std::string absolute_variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

Result<std::string> contents_of(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts;
  if (!file.ok() || fstat(file.get(), &facts) != 0) return Status::from_errno(errno, path);
  if (!S_ISREG(facts.st_mode)) return Status(Code::corrupt, path + " is no file");
  std::string text(kMostProfileBytes + 1, '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = read(file.get(), text.data() + have, text.size() - have);
    if (got < 0) return Status::from_errno(errno, path);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  if (have > kMostProfileBytes) return Status(Code::corrupt, path + " is too large for a profile");
  text.resize(have);
  return text;
}

Status written(const std::string& text, const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.ok()) return Status::from_errno(errno, path);
  for (size_t done = 0; done < text.size();) {
    const ssize_t put = write(file.get(), text.data() + done, text.size() - done);
    if (put < 0) return Status::from_errno(errno, path);
    done += static_cast<size_t>(put);
  }
  return fsync(file.get()) == 0 ? Status() : Status::from_errno(errno, path);
}

}  // namespace

std::string user_profile_path() {
  const std::string config = absolute_variable("XDG_CONFIG_HOME");
  if (!config.empty()) return config + "/pmio/profile.json";
  const std::string home = absolute_variable("HOME");
  return home.empty() ? "" : home + "/.config/pmio/profile.json";
}

std::string site_profile_path() { return kSiteProfile; }

Result<Profile> load_profile(const std::string& path) {
  const auto text = contents_of(path);
  if (!text.ok()) return text.status();
  auto profile = parse_profile(text.value());
  if (!profile.ok()) return Status(profile.status().code(), path + ": " + profile.status().message());
  return profile;
}

Result<std::optional<FoundProfile>> find_profile() {
  for (const std::string& path : {user_profile_path(), site_profile_path()}) {
    if (path.empty()) continue;
    auto profile = load_profile(path);
    if (profile.ok()) return std::optional(FoundProfile{path, std::move(*profile)});
    const int error = profile.status().system_errno();
    if (error != ENOENT && error != ENOTDIR) return profile.status();
  }
  return std::optional<FoundProfile>();
}

Status save_profile(const Profile& profile, const std::string& path) {
  const std::string text = profile_text(profile);
  PMIO_TRY(parse_profile(text).status());  // a strange mount point, for instance
  std::error_code error;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  const std::string next = path + "." + std::to_string(getpid());
  Status status = written(text, next);
  if (status.ok() && std::rename(next.c_str(), path.c_str()) != 0) status = Status::from_errno(errno, path);
  if (!status.ok()) unlink(next.c_str());
  return status;
}

MachineFacts this_machine() {
  MachineFacts facts;
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; facts.processor.empty() && std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos)
      facts.processor = line.substr(colon + 2);
  }
  if (facts.processor.empty()) facts.processor = "unknown";
  facts.processors = std::max(1u, std::thread::hardware_concurrency());
  facts.memory_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return facts;
}

Result<Place> place_of(const std::string& directory) {
  const FileDescriptor file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.ok()) return Status::from_errno(errno, directory);
  const std::optional<Mount> mount = mount_of(file.get());
  return Place{file_system_of(file.get()), mount ? mount->point : "unknown"};
}

std::vector<std::string> misfits(const MachineFacts& measured, const MachineFacts& now) {
  std::vector<std::string> found;
  const auto differ = [&found](const std::string& what, const std::string& before, const std::string& here) {
    if (before != here) found.push_back(what + ": " + before + " then, " + here + " now");
  };
  differ("processor", measured.processor, now.processor);
  differ("processors", std::to_string(measured.processors), std::to_string(now.processors));
  const auto before = static_cast<double>(measured.memory_bytes),
             here = static_cast<double>(now.memory_bytes);
  if (std::abs(before - here) > here / 8)
    differ("memory, MiB", std::to_string(measured.memory_bytes >> 20),
           std::to_string(now.memory_bytes >> 20));
  return found;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

std::string utc_now() {
  const time_t seconds = time(nullptr);
  tm parts{};
  char text[32] = "";
  if (gmtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace pmio::cli
