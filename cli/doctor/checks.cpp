#include "cli/doctor/checks.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/common/report_format.h"
#include "cli/common/scratch.h"
#include "cli/common/settings.h"
#include "cli/profile/choice.h"
#include "job/capacity.h"
#include "log/format.h"
#include "medium/registry.h"
#include "recover/scan.h"

namespace pmio::cli {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kSmallFileSystem = 1ull << 30;  // a container's /dev/shm is 64 MiB by default

void add(Diagnosis& diagnosis, std::string what, std::string remedy) {
  diagnosis.findings.push_back({std::move(what), std::move(remedy)});
}

bool is_network(const std::string& file_system) {
  for (const char* known : {"nfs", "lustre", "ceph", "gpfs", "beegfs", "orangefs", "fuse.ceph-fuse",
                            "fuse.glusterfs", "fuse.mfs"}) {
    if (file_system == known) return true;
  }
  return false;
}

void check_owner_and_mode(Diagnosis& diagnosis, const struct stat& facts) {
  const std::string& directory = diagnosis.directory;
  if (S_ISLNK(facts.st_mode)) {
    add(diagnosis, directory + " is a symbolic link, which pmio does not follow",
        "set PMIO_DIR to the directory itself");
  } else if (!S_ISDIR(facts.st_mode)) {
    add(diagnosis, directory + " is not a directory", "set PMIO_DIR to one, or remove it");
  } else if (facts.st_uid != geteuid()) {
    add(diagnosis,
        directory + " belongs to user " + std::to_string(facts.st_uid) + ", and logs must be your own",
        "set PMIO_DIR to a directory of your own");
  } else if ((facts.st_mode & 077) != 0) {
    add(diagnosis, directory + " is open to other users", "chmod 700 " + directory);
  } else if (faccessat(AT_FDCWD, directory.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    add(diagnosis, directory + " cannot be written: " + strerror(errno),
        "chmod 700 " + directory + ", or set PMIO_DIR");
  }
}

void check_parent(Diagnosis& diagnosis) {
  const fs::path parent = fs::path(diagnosis.directory).parent_path();
  if (diagnosis.nearest != parent.string()) {
    add(diagnosis,
        parent.string() + " does not exist, and pmio creates the log directory only, not its parents",
        "mkdir -p " + parent.string());
  } else if (faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    add(diagnosis, diagnosis.directory + " cannot be created: " + parent.string() + ": " + strerror(errno),
        "set PMIO_DIR to a directory that you may write to");
  }
}

// What bounds the log's memory, if nothing fits or if a wish is too large.
void check_limits(Diagnosis& diagnosis) {
  const MemoryLimit* tightest = nullptr;
  const uint64_t room = room_bytes(diagnosis.limits, Keep::half, &tightest);
  if (room < kMinSegmentBytes * diagnosis.ranks) {
    add(diagnosis,
        "too little is left of " + tightest->source + ", " + human_bytes(tightest->left_bytes) + " of " +
            human_bytes(tightest->limit_bytes) + ": files will not be logged",
        "give the job more memory, or name a disk of this node in PMIO_DIR");
  } else if (diagnosis.hints.log_bytes > diagnosis.capacity_bytes) {
    (void)room_bytes(diagnosis.limits, Keep::all, &tightest);
    add(diagnosis,
        "PMIO_LOG_SIZE is " + human_bytes(diagnosis.hints.log_bytes) + ", and " + tightest->source +
            " allows " + human_bytes(diagnosis.capacity_bytes) + " per rank",
        "lower PMIO_LOG_SIZE, or give the job more memory");
  }
}

// For a container's small /dev/shm, the reason is the container; for any other, that it is full.
void check_space(Diagnosis& diagnosis) {
  const MediumFacts& medium = *diagnosis.medium;
  if (medium.kind == MediumKind::tmpfs && diagnosis.total_bytes < kSmallFileSystem) {
    add(diagnosis, diagnosis.nearest + " is only " + human_bytes(diagnosis.total_bytes) + " in size",
        "enlarge it (mount -o remount,size=..., a container's --shm-size), or set PMIO_DIR");
  }
  const uint64_t all = diagnosis.capacity_bytes * diagnosis.ranks;
  if (all > medium.free_bytes) {
    add(diagnosis,
        std::to_string(diagnosis.ranks) + " ranks need " + human_bytes(all) + " for their logs, " +
            human_bytes(medium.free_bytes) + " are free in " + diagnosis.nearest,
        "make room, lower PMIO_LOG_SIZE, or set PMIO_DIR to where there is more");
  }
  check_limits(diagnosis);
}

// systemd-logind removes what a user has in /dev/shm when the user's last session ends, but for system users.
bool removed_at_logout() {
  constexpr uid_t kLastSystemUser = 999;
  const passwd* account = geteuid() <= kLastSystemUser ? nullptr : getpwuid(geteuid());
  if (account == nullptr || fs::exists(std::string("/var/lib/systemd/linger/") + account->pw_name))
    return false;
  FILE* answer = popen(
      "busctl --timeout=2 --auto-start=no get-property org.freedesktop.login1 /org/freedesktop/login1 "
      "org.freedesktop.login1.Manager RemoveIPC 2>/dev/null",
      "r");
  if (answer == nullptr) return false;
  char text[32] = {};
  const size_t length = fread(text, 1, sizeof text - 1, answer);
  pclose(answer);
  return std::string(text, length).starts_with("b true");
}

}  // namespace

void check_environment(Diagnosis& diagnosis) {
  for (SettingProblem& problem : check_settings(diagnosis.hints))
    add(diagnosis, std::move(problem.what), std::move(problem.remedy));
  for (std::string& problem : problems_of_site())
    add(diagnosis, std::move(problem), "correct the site's file; until then the line has no effect");
}

void check_directory(Diagnosis& diagnosis) {
  const size_t before = diagnosis.findings.size();
  diagnosis.nearest = nearest_directory(diagnosis.directory);
  struct stat facts;
  diagnosis.exists = lstat(diagnosis.directory.c_str(), &facts) == 0;
  if (!diagnosis.directory.starts_with('/')) {
    add(diagnosis, diagnosis.directory + " is not an absolute path, and ranks may start in other directories",
        "give the whole path");
  } else if (diagnosis.exists) {
    check_owner_and_mode(diagnosis, facts);
  } else {
    check_parent(diagnosis);
  }
  diagnosis.usable = diagnosis.findings.size() == before;
}

void check_medium(Diagnosis& diagnosis) {
  auto medium = probe_medium(diagnosis.nearest);
  if (!medium.ok()) {
    add(diagnosis, medium.status().message(), "set PMIO_DIR to a directory on this node");
    return;
  }
  diagnosis.medium = *medium;
  struct statvfs whole;
  if (statvfs(diagnosis.nearest.c_str(), &whole) == 0) {
    diagnosis.total_bytes = static_cast<uint64_t>(whole.f_blocks) * whole.f_frsize;
  }
  diagnosis.limits = limits_of(medium->kind, diagnosis.nearest);
  diagnosis.capacity_bytes =
      diagnosis.hints.log_bytes == 0
          ? default_capacity(medium->free_bytes, diagnosis.ranks, diagnosis.limits)
          : bounded_capacity(diagnosis.hints.log_bytes, diagnosis.ranks, diagnosis.limits);
  if (is_network(medium->file_system)) {
    add(diagnosis,
        diagnosis.nearest + " is on " + medium->file_system +
            ": logs belong into memory or on a disk of this node",
        "set PMIO_DIR, to below /dev/shm for instance");
  }
  check_space(diagnosis);
  if (diagnosis.directory.starts_with("/dev/shm/") && removed_at_logout()) {
    add(diagnosis,
        "systemd removes " + diagnosis.directory +
            " when you log out of this node, with the logs of jobs that run on without a session of yours or "
            "have been killed",
        "set RemoveIPC=no in /etc/systemd/logind.conf, 'loginctl enable-linger', or set PMIO_DIR to another "
        "place");
  }
}

void check_runtimes(Diagnosis& diagnosis) {
  auto runtimes = load_runtimes();
  if (!runtimes.ok()) {
    add(diagnosis, runtimes.status().message(), "build or install pmio again");
    return;
  }
  diagnosis.runtimes = *runtimes;
  for (const Runtime& runtime : diagnosis.runtimes) {
    if (!runtime.present) {
      add(diagnosis, runtime.path + " is missing: programs of " + runtime.tag + " cannot be run",
          "build pmio completely");
    } else if (access(runtime.library.c_str(), R_OK) != 0) {
      add(diagnosis, runtime.library + ", the MPI library of " + runtime.tag + ", is gone",
          "where it was updated: configure pmio anew, with cmake --fresh and the options of before, and "
          "build it");
    }
  }
  if (diagnosis.runtimes.empty()) {
    add(diagnosis, "no runtime library was built",
        "configure pmio with -DPMIO_MPICC=<mpicc>;<another mpicc>");
  }
}

void check_leftovers(Diagnosis& diagnosis) {
  if (!diagnosis.exists || !diagnosis.usable) return;
  auto jobs = scan(diagnosis.directory);
  if (!jobs.ok()) {
    add(diagnosis, jobs.status().message(),
        "look at the directory with: pmio inspect --dir " + diagnosis.directory);
    return;
  }
  for (const JobInfo& job : *jobs) {
    if (job.state == JobState::running) ++diagnosis.running_jobs;
    if (job.state != JobState::dead) continue;
    Leftover leftover{job.name, 0};
    for (const FileInfo& file : job.files) leftover.undrained_bytes += file.undrained_bytes();
    add(diagnosis,
        leftover.job + " ended without finishing; " + human_bytes(leftover.undrained_bytes) +
            " of its logs are not in their files yet",
        "pmio recover --dir " + diagnosis.directory);
    diagnosis.dead_jobs.push_back(std::move(leftover));
  }
}

void check_file(Diagnosis& diagnosis, const std::string& path) {
  auto file = look_at_layout(path);
  if (file.ok()) {
    diagnosis.file = std::move(*file);
  } else {
    add(diagnosis, file.status().message(), "give a file that you may read");
  }
}

void check_registry(Diagnosis& diagnosis) {
  const auto registry = Registry::find();
  std::string problem;
  if (registry.ok()) return;
  if (registry.status().system_errno() != ENOENT) {
    problem = registry.status().message();
  } else if (faccessat(AT_FDCWD, registry_root().c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    problem = registry_root() + ": " + strerror(errno);
  } else {
    return;
  }
  add(diagnosis, "jobs that are killed will not be found by 'pmio recover --all': " + problem,
      "correct that, or set PMIO_REGISTRY to a directory of this node that survives a reboot");
}

// Nothing decides by it: so one that does not fit is no finding.
void check_profile(Diagnosis& diagnosis) { diagnosis.profile = profile_line(); }

}  // namespace pmio::cli
