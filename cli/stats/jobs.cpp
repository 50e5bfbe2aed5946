#include "cli/stats/jobs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/clock.h"
#include "recover/scan.h"

namespace pmio::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kPrefix = "stats-";

std::string without_zeros(const std::string& id) {
  return id.substr(std::min(id.find_first_not_of('0'), id.size()));
}

Json read_json(const fs::path& path) {
  std::ifstream file(path);
  return Json::parse(file, nullptr, false);
}

std::vector<RankStatistics> read_ranks(const fs::path& directory) {
  std::vector<RankStatistics> ranks;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("rank-") || !name.ends_with(".json")) continue;
    RankStatistics rank;
    rank.document = read_json(entry.path());
    try {
      rank.rank = rank.document.at("rank").get<uint32_t>();
      rank.numbers = Numbers::parse(rank.document.at("counters"));
    } catch (const Json::exception&) {
      std::fprintf(stderr, "pmio: %s is not a statistics file, left out\n", entry.path().c_str());
      continue;
    }
    ranks.push_back(std::move(rank));
  }
  std::sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return ranks;
}

// Without any, what the job said of itself when it began. Nothing if it is of no job.
std::optional<JobStatistics> read_job(const fs::path& directory) {
  JobStatistics job;
  struct stat facts {};
  if (lstat(directory.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return {};
  job.written_ns = static_cast<int64_t>(to_ns(facts.st_mtim));
  job.id = directory.filename().string().substr(std::string(kPrefix).size());
  job.directory = directory;
  job.ranks = read_ranks(directory);
  job.facts = job.ranks.empty() ? read_json(directory / "job.json") : job.ranks.front().document;
  if (!job.facts.is_object()) return {};
  const size_t all = job.number("ranks");
  job.state = job.ranks.size() == all
                  ? "ended"
                  : std::to_string(job.ranks.size()) + " of " + std::to_string(all) + " ranks";
  return job;
}

// Of a job that left no statistics its log tells whether it lives.
void look_at_log(const std::vector<JobInfo>& logs, JobStatistics* job) {
  job->state = "killed";
  for (const JobInfo& log : logs) {
    if (log.name != "job-" + job->id) continue;
    if (log.state != JobState::dead) {
      job->state = "running";
      continue;
    }
    uint64_t bytes = 0;
    for (const FileInfo& file : log.files) bytes += file.discarded ? 0 : file.undrained_bytes();
    job->bytes_in_log = bytes;
  }
}

}  // namespace

Numbers Numbers::parse(const Json& counters) {
  Numbers numbers;
#define PMIO_READ(name) numbers.name = counters.value(#name, uint64_t{0});
  PMIO_COUNTERS(PMIO_READ)
#undef PMIO_READ
  return numbers;
}

void Numbers::add(const Numbers& other) {
#define PMIO_ADD(name) name += other.name;
  PMIO_COUNTERS(PMIO_ADD)
#undef PMIO_ADD
}

Json Numbers::json() const {
  Json counters;
#define PMIO_STORE(name) counters[#name] = name;
  PMIO_COUNTERS(PMIO_STORE)
#undef PMIO_STORE
  return counters;
}

std::string JobStatistics::program() const { return fs::path(fact("program")).filename().string(); }

std::vector<JobStatistics> read_jobs(const std::string& log_directory, const std::string& only) {
  std::vector<JobStatistics> jobs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(log_directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    if (!only.empty() && without_zeros(name.substr(std::string(kPrefix).size())) != without_zeros(only))
      continue;
    try {
      if (auto job = read_job(entry.path())) jobs.push_back(std::move(*job));
    } catch (const Json::exception&) {
      std::fprintf(stderr, "pmio: %s holds no statistics, left out\n", entry.path().c_str());
    }
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const auto& a, const auto& b) { return a.written_ns > b.written_ns; });
  const auto unfinished = [](const JobStatistics& job) { return job.ranks.empty(); };
  if (std::none_of(jobs.begin(), jobs.end(), unfinished)) return jobs;
  const auto logs = scan(log_directory);
  for (JobStatistics& job : jobs)
    if (unfinished(job)) look_at_log(logs.ok() ? logs.value() : std::vector<JobInfo>(), &job);
  return jobs;
}

}  // namespace pmio::cli
