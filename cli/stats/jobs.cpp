#include "cli/stats/jobs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/clock.h"
#include "log/nodes_note.h"
#include "medium/default_directory.h"
#include "medium/job_name.h"
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
  job.ranks = read_ranks(directory);
  job.facts = job.ranks.empty() ? read_json(directory / "job.json") : job.ranks.front().document;
  if (!job.facts.is_object()) return {};
  job.note_state();
  return job;
}

// A job on several nodes has a log on each, with the node's number in its id.
bool is_log_of(const JobInfo& log, const std::string& job) {
  const std::string name = "job-" + job;
  return log.name == name || job_name(job_of_all_nodes(log.id)) == name;
}

// Of a job that left no statistics its log tells whether it lives. A job on several nodes may have several.
void look_at_log(const std::vector<JobInfo>& logs, JobStatistics* job) {
  for (const JobInfo& log : logs) {
    if (!is_log_of(log, job->id)) continue;
    if (log.state != JobState::dead) {
      job->state = "running";
      continue;
    }
    uint64_t bytes = 0;
    for (const FileInfo& file : log.files) bytes += file.discarded ? 0 : file.undrained_bytes();
    job->bytes_in_log = job->bytes_in_log.value_or(0) + bytes;
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

void JobStatistics::note_state() {
  const size_t all = number("ranks");
  state =
      ranks.size() == all ? "ended" : std::to_string(ranks.size()) + " of " + std::to_string(all) + " ranks";
}

std::string JobStatistics::program() const { return fs::path(fact("program")).filename().string(); }

namespace {

// What one node has kept, and another one.
void join(JobStatistics* job, JobStatistics&& other) {
  job->written_ns = std::max(job->written_ns, other.written_ns);
  if (!other.ranks.empty() && (job->ranks.empty() || other.ranks.front().rank < job->ranks.front().rank))
    job->facts = other.facts;
  for (RankStatistics& rank : other.ranks) {
    const auto place = std::lower_bound(job->ranks.begin(), job->ranks.end(), rank.rank,
                                        [](const RankStatistics& one, uint32_t r) { return one.rank < r; });
    if (place == job->ranks.end() || place->rank != rank.rank) job->ranks.insert(place, std::move(rank));
  }
  job->note_state();
}

void join_nodes(std::vector<JobStatistics>* jobs) {
  std::vector<JobStatistics> joined;
  for (JobStatistics& job : *jobs) {
    const auto same = std::find_if(joined.begin(), joined.end(),
                                   [&job](const JobStatistics& one) { return one.id == job.id; });
    if (same == joined.end())
      joined.push_back(std::move(job));
    else
      join(&*same, std::move(job));
  }
  *jobs = std::move(joined);
}

void read_directory(const std::string& directory, const std::string& only, std::vector<JobStatistics>* jobs) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    if (!only.empty() && without_zeros(name.substr(std::string(kPrefix).size())) != without_zeros(only))
      continue;
    try {
      if (auto job = read_job(entry.path())) jobs->push_back(std::move(*job));
    } catch (const Json::exception&) {
      std::fprintf(stderr, "pmio: %s holds no statistics, left out\n", entry.path().c_str());
    }
  }
}

}  // namespace

std::vector<JobStatistics> read_jobs(const std::vector<std::string>& directories, const std::string& only) {
  std::vector<JobStatistics> jobs;
  for (const std::string& directory : directories) read_directory(directory, only, &jobs);
  join_nodes(&jobs);
  std::sort(jobs.begin(), jobs.end(),
            [](const auto& a, const auto& b) { return a.written_ns > b.written_ns; });
  // Statistics may be in another directory than the log, and logs in another than the job has been told.
  std::map<std::string, std::vector<JobInfo>> logs;
  for (JobStatistics& job : jobs) {
    if (!job.ranks.empty()) continue;
    job.state = "killed";
    std::set<std::string> where(directories.begin(), directories.end());
    where.insert(job.fact("log_directory"));
    for (const std::string& directory : where) {
      if (!logs.contains(directory)) {
        auto found = scan(directory);
        logs[directory] = found.ok() ? std::move(found).value() : std::vector<JobInfo>();
      }
      look_at_log(logs[directory], &job);
    }
  }
  return jobs;
}

void JobChoice::add_options(CLI::App& command) {
  const char* named = std::getenv("PMIO_STATS_DIR");
  const Result<std::string> kept = expand_directory(named == nullptr ? "" : named);
  directories = {kept.ok() ? kept.value() : default_directory()};
  command
      .add_option("--dir", directories,
                  "PMIO_STATS_DIR of the job, or its log directory; several: of its nodes")
      ->allow_extra_args(false)
      ->capture_default_str();
  command.add_option("--job", job, "Job id, in hexadecimal");
}

std::string JobChoice::told_directories() const {
  std::string all;
  for (const std::string& directory : directories) all += (all.empty() ? "" : ", ") + directory;
  return all;
}

std::string JobChoice::told() const {
  return (job.empty() ? "" : "of job " + job + " ") + "in " + told_directories();
}

}  // namespace pmio::cli
