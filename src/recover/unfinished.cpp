#include "recover/unfinished.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "drain/target.h"
#include "log/nodes_note.h"

namespace pmio {
namespace {

// The job of a journal of that file.
std::optional<uint64_t> job_of_journal(const std::string& name, uint64_t inode) {
  uint64_t job = 0;
  if (std::sscanf(name.c_str(), ".pmio-recovery-%16" SCNx64, &job) != 1) return {};
  return Journal::path_of("here", job, inode) == "./" + name ? std::optional(job) : std::nullopt;
}

std::vector<uint64_t> jobs_beside(const std::string& path, uint64_t inode) {
  std::vector<uint64_t> jobs;
  std::error_code error;
  const auto parent = std::filesystem::path(path).parent_path();
  for (std::filesystem::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    if (const auto job = job_of_journal(at->path().filename(), inode)) jobs.push_back(*job);
  }
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

// What this node has of the file's log, and said of it.
FileOutcome* told(RecoverReport& report, uint64_t job) {
  for (JobOutcome& one : report.jobs) {
    if ((one.id & ~(kMostNodes - 1)) == job && !one.files.empty()) return &one.files.front();
  }
  return nullptr;
}

}  // namespace

Status find_unfinished(const std::string& path, bool give_up, RecoverReport* report) {
  auto identity = identity_of(path);
  if (!identity.ok()) return {};
  for (const uint64_t job : jobs_beside(path, identity->inode)) {
    FileOutcome* here = told(*report, job);
    const bool ends = give_up && (here == nullptr || here->result != FileResult::kept);
    if (here != nullptr && !ends) continue;
    auto journal = Journal::look(Journal::path_of(path, job, identity->inode));
    // Of somebody else, it says nothing of this user's logs.
    if (journal.status().code() == Code::access) continue;
    if (!journal.ok()) return journal.status();
    if (!journal->has_value()) continue;
    if (ends) PMIO_TRY((**journal).give_up());
    if (here != nullptr) here->waits_for.clear();
    report->unfinished.push_back({path, job, (**journal).base(), (**journal).waits_for(), ends});
  }
  return {};
}

}  // namespace pmio
