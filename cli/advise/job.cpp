#include "cli/advise/job.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/file_descriptor.h"
#include "cli/stats/files.h"
#include "cli/stats/history.h"
#include "cli/stats/job_json.h"
#include "medium/huge_pages.h"

namespace pmio::cli {
namespace {

using Json = nlohmann::ordered_json;
using advise::FileRecord;
using advise::JobRecord;
using advise::Step;
using advise::Way;

double seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }
double number(uint64_t value) { return static_cast<double>(value); }

std::string hint(const Json& hints, const char* key) {
  const auto found = hints.find(key);
  return found != hints.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// A file may have gone by several ways: then by the first of these.
Way way_of(const std::string& engine) {
  if (engine.find("log") != std::string::npos) return Way::log;
  if (engine.find("twophase") != std::string::npos) return Way::two_phase;
  if (engine.find("independent") != std::string::npos) return Way::independent;
  return Way::library;
}

uint64_t writes_of(const FileNumbers& numbers) {
  return numbers.collective_writes + numbers.independent_writes;
}

FileRecord record_of(const FileOfJob& file) {
  FileRecord record;
  record.path = file.path;
  record.way = way_of(file.engine);
  record.reason = file.reason;
  record.direct_from = hint(file.in_force, "pmio_direct_from");
  record.bytes = number(file.total().written_bytes);
  record.write_seconds = seconds(file.most(&FileNumbers::write_ns));
  for (const auto& [rank, numbers] : file.ranks) {
    if (writes_of(numbers) == 0) continue;
    record.writers += 1;
    record.opens = std::max(record.opens, number(numbers.opens));
    record.calls = std::max(record.calls, number(writes_of(numbers)));
  }
  return record;
}

// Of a rank, in files that were not logged.
uint64_t straight_ns(const std::vector<FileOfJob>& files, uint32_t rank) {
  uint64_t ns = 0;
  for (const FileOfJob& file : files) {
    const auto found = file.ranks.find(rank);
    if (found == file.ranks.end() || way_of(file.engine) == Way::log) continue;
    ns += found->second.write_ns + found->second.read_ns;
  }
  return ns;
}

uint64_t io_ns(const RankStatistics& rank, const std::vector<FileOfJob>& files) {
  const Numbers& n = rank.numbers;
  return n.open_ns + n.to_file_ns() + n.read_ns + straight_ns(files, rank.rank);
}

// Several nodes, if their ranks name several hosts.
double nodes_of(const Ranks& ranks) {
  std::set<std::string> hosts;
  for (const RankStatistics& rank : ranks) hosts.insert(rank.document.value("host", std::string()));
  return number(hosts.size());
}

// Only if the log's directory is still there, on this machine; else nobody knows, and nothing is advised.
bool has_huge_pages(const JobStatistics& job) {
  const FileDescriptor directory(open(job.fact("log_directory").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0 || job.fact("host") != host || !directory.ok()) return true;
  return huge_pages_of(directory.get()) != HugePages::none;
}

// The numbers of a history between two of its moments.
struct Stretch {
  double seconds = 0, bytes = 0, wait = 0, open_close = 0;
};

std::vector<Stretch> stretches_of(const Json& rank) try {
  const uint64_t begin_ns = rank.value("start_realtime_ns", uint64_t{0});
  const Series bytes = series_of(rank, "log_bytes", begin_ns), wait = series_of(rank, "wait_ns", begin_ns);
  const Series open_close = series_of(rank, "open_close_ns", begin_ns);
  std::vector<Stretch> stretches;
  if (wait.values.size() != bytes.values.size() || open_close.values.size() != bytes.values.size()) return {};
  uint64_t before_ns = 0;
  for (size_t i = 0; i < bytes.values.size(); i++) {
    const uint64_t at_ns = std::max(bytes.at_ns[i], before_ns);
    stretches.push_back({seconds(at_ns - before_ns), number(growth(bytes, i)), seconds(growth(wait, i)),
                         seconds(growth(open_close, i))});
    before_ns = at_ns;
  }
  return stretches;
} catch (const Json::exception&) {
  return {};  // it is damaged
}

// A wait or a close is counted when it is over: it may have begun in stretches before that.
void take_from(std::vector<Step>* steps, double seconds) {
  for (auto step = steps->rbegin(); step != steps->rend() && seconds > 0; ++step) {
    const double taken = std::min(seconds, step->compute_seconds);
    step->compute_seconds -= taken;
    seconds -= taken;
  }
}

std::vector<Step> steps_of(const Json& rank, double write_seconds) {
  const std::vector<Stretch> stretches = stretches_of(rank);
  double bytes = 0;
  for (const Stretch& stretch : stretches) bytes += stretch.bytes;
  const double per_byte = bytes > 0 ? write_seconds / bytes : 0;
  std::vector<Step> steps;
  for (const Stretch& stretch : stretches) {
    Step step{.compute_seconds = stretch.seconds,
              .write_seconds = stretch.bytes * per_byte,
              .bytes = stretch.bytes};
    const bool long_close = stretch.open_close > stretch.seconds / 2;
    step.closes_first = long_close;
    step.closes_last = !long_close && stretch.open_close > 0;
    steps.push_back(step);
    take_from(&steps, step.write_seconds + stretch.wait + stretch.open_close);
  }
  // What the program did after the last close may have needed the complete file.
  while (!steps.empty() && !steps.back().closes_first && !steps.back().closes_last) steps.pop_back();
  if (!steps.empty() && !steps.back().closes_last) steps.back().compute_seconds = 0;
  return steps;
}

}  // namespace

JobRecord record_of(const JobStatistics& job) {
  const std::vector<FileOfJob> files = files_of(job.ranks);
  const auto slowest =
      std::max_element(job.ranks.begin(), job.ranks.end(),
                       [&](const auto& a, const auto& b) { return io_ns(a, files) < io_ns(b, files); });
  const Numbers& n = slowest->numbers;
  const Numbers total = total_of(job.ranks);
  JobRecord record;
  record.ranks = number(job.ranks.size());
  record.nodes = nodes_of(job.ranks);
  record.wall_seconds = seconds(slowest->document.value("wall_ns", uint64_t{0}));
  record.open_seconds = seconds(n.open_ns);
  record.write_seconds = seconds(n.to_log_ns() - std::min(n.to_log_ns(), n.append_wait_ns));
  record.wait_seconds = seconds(n.append_wait_ns);
  record.read_seconds = seconds(n.read_ns);
  record.sync_seconds = seconds(n.sync_ns);
  record.close_seconds = seconds(n.close_ns);
  record.straight_seconds = seconds(straight_ns(files, slowest->rank));
  if (job.has_log()) {
    record.medium = job.fact("medium");
    record.has_huge_pages = has_huge_pages(job);
  }
  for (const RankStatistics& rank : job.ranks) {
    if (number(rank.numbers.append_bytes) < record.appended_bytes) continue;
    record.appended_bytes = number(rank.numbers.append_bytes);
    record.append_records = number(rank.numbers.append_records);
    record.append_calls = number(rank.numbers.append_calls);
  }
  record.capacity_bytes = number(n.log_capacity_bytes);
  record.touched_bytes = number(total.log_peak_bytes) / record.nodes;
  record.drain_bytes = number(total.drain_bytes) / record.nodes;
  record.drain_seconds = seconds(total.drain_ns) / record.nodes;
  record.sync_calls = number(n.sync_calls);
  for (const FileOfJob& file : files) {
    record.files.push_back(record_of(file));
    const FileRecord& last = record.files.back();
    if (last.way == Way::log) {
      record.logged_opens += last.opens;
      record.closes_in_background |= hint(file.in_force, "pmio_close") == "background";
      record.drains_in_background &= hint(file.in_force, "pmio_background") != "off";
      const std::string durability = hint(file.in_force, "pmio_durability");
      record.flushes_each_write |= durability == "always";
      record.syncs_log |= durability == "always" || durability == "sync";
    }
  }
  record.steps = steps_of(slowest->document, record.write_seconds);
  return record;
}

}  // namespace pmio::cli
