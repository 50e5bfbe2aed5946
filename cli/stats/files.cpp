#include "cli/stats/files.h"

#include <algorithm>
#include <cstdio>

#include "cli/common/report_format.h"

namespace pmio::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kColumns = 80, kMostShown = 12;

FileNumbers parse_numbers(const Json& file) {
  FileNumbers numbers;
  const auto found = file.find("numbers");
  if (found == file.end() || !found->is_object()) return numbers;
#define PMIO_READ(name) numbers.name = found->value(#name, uint64_t{0});
  PMIO_FILE_NUMBERS(PMIO_READ)
#undef PMIO_READ
  return numbers;
}

Json json_of_numbers(const FileNumbers& numbers) {
  Json object;
#define PMIO_STORE(name) object[#name] = numbers.name;
  PMIO_FILE_NUMBERS(PMIO_STORE)
#undef PMIO_STORE
  return object;
}

Json object_in(const Json& file, const char* key) {
  const auto found = file.find(key);
  return found != file.end() && found->is_object() ? *found : Json::object();
}

void add_servers(const Json& file, std::vector<uint64_t>* all) {
  const std::vector<uint64_t> bytes = file.value("server_bytes", std::vector<uint64_t>());
  if (all->size() < bytes.size()) all->resize(bytes.size());
  for (size_t i = 0; i < bytes.size(); i++) (*all)[i] += bytes[i];
}

// The parts of a line, which goes on in further lines if it is too long.
class Wrapped {
 public:
  explicit Wrapped(const char* title) : line_(std::string("    ") + title) { line_.resize(14, ' '); }
  ~Wrapped() { std::printf("%s\n", line_.c_str()); }
  Wrapped(const Wrapped&) = delete;
  Wrapped& operator=(const Wrapped&) = delete;
  Wrapped& add(std::string part) {
    if (part.size() > kMostPart) part.replace(kMostPart - 3, std::string::npos, "...");
    const std::string separator = any_ ? ", " : "";
    if (any_ && line_.size() + separator.size() + part.size() >= kColumns) {
      std::printf("%s,\n", line_.c_str());
      line_ = std::string(14, ' ') + part;
    } else {
      line_ += separator + part;
    }
    any_ = true;
    return *this;
  }

 private:
  static constexpr size_t kMostPart = kColumns - 14 - 1;  // with a comma
  std::string line_;
  bool any_ = false;
};

std::string number(uint64_t value) { return human_count(value); }
std::string ms_text(uint64_t ns) { return human_decimal(static_cast<double>(ns) / 1e6) + " ms"; }
std::string mib_text(uint64_t bytes) {
  return human_decimal(static_cast<double>(bytes) / (1 << 20)) + " MiB";
}
std::string rate_text(const char* name, double rate) {
  return std::string(name) + " " + human_decimal(rate) + " MiB/s";
}

void print_engine(const FileOfJob& file) {
  Wrapped line("engine");
  line.add(file.engine.empty() ? "?" : file.engine);
  if (!file.why.empty()) line.add("because " + file.why);
  if (!file.reason.empty()) line.add("not the log: " + file.reason);
  const FileNumbers total = file.total();
  line.add("opened by " + number(file.ranks_with(&FileNumbers::opens)) + " ranks");
  if (total.opens > file.ranks.size()) line.add(number(total.opens) + " opens");
}

bool is_told_elsewhere(const std::string& key) { return key == "pmio_dir" || key == "pmio_stats"; }

void print_hints(const FileOfJob& file) {
  if (!file.wished.empty()) {
    Wrapped line("wished");
    for (const auto& [key, value] : file.wished.items())
      if (!is_told_elsewhere(key)) line.add(key + "=" + value.get<std::string>());
  }
  Wrapped line("in force");
  for (const auto& [key, value] : file.in_force.items())
    if (!is_told_elsewhere(key) && value != "") line.add(key + "=" + value.get<std::string>());
}

void print_calls(const FileOfJob& file, const FileNumbers& n) {
  if (n.collective_writes + n.independent_writes > 0) {
    Wrapped line("writes");
    line.add(number(n.collective_writes) + " collective").add(number(n.independent_writes) + " independent");
    line.add(mib_text(n.written_bytes));
    if (n.past_log_bytes > 0) line.add(mib_text(n.past_log_bytes) + " past the log");
    if (n.write_ns > 0) line.add(ms_text(n.write_ns)).add(rate_text("net", file.net_write_rate()));
  }
  if (n.collective_reads + n.independent_reads > 0) {
    Wrapped line("reads");
    line.add(number(n.collective_reads) + " collective").add(number(n.independent_reads) + " independent");
    line.add(mib_text(n.read_bytes));
    if (n.read_ns > 0) line.add(ms_text(n.read_ns)).add(rate_text("net", file.net_read_rate()));
  }
}

void print_system_calls(const FileOfJob& file, const FileNumbers& n) {
  if (n.target_writes_1k + n.target_writes_1m + n.target_writes_large > 0) {
    Wrapped line("to file");
    line.add(number(n.target_writes_1k) + " writes <= 1 KiB").add(number(n.target_writes_1m) + " <= 1 MiB");
    line.add(number(n.target_writes_large) + " larger").add(mib_text(n.target_write_bytes));
    line.add(ms_text(n.target_write_ns)).add(rate_text("raw", file.raw_write_rate()));
    line.add(number(n.gaps) + " gaps of " + mib_text(n.gap_bytes));
    line.add(n.read_modify_writes == 0 ? "no read-modify-write"
                                       : number(n.read_modify_writes) + " read-modify-writes of " +
                                             mib_text(n.read_modify_write_bytes));
  }
  if (n.target_reads_1k + n.target_reads_1m + n.target_reads_large > 0) {
    Wrapped line("from file");
    line.add(number(n.target_reads_1k) + " reads <= 1 KiB").add(number(n.target_reads_1m) + " <= 1 MiB");
    line.add(number(n.target_reads_large) + " larger").add(mib_text(n.target_read_bytes));
    line.add(ms_text(n.target_read_ns)).add(rate_text("raw", file.raw_read_rate()));
  }
}

std::string percent_text(uint64_t part, uint64_t whole) {
  return number(whole == 0 ? 0 : part * 100 / whole) + "%";
}

// A call counts on each of its ranks, and is shown once.
void print_buffering(const FileOfJob& file, const FileNumbers& n) {
  if (n.exchanged_calls + n.unexchanged_calls == 0) return;
  {
    Wrapped line("buffering");
    line.add(number(file.most(&FileNumbers::exchanged_calls)) + " calls exchanged");
    line.add(number(file.most(&FileNumbers::unexchanged_calls)) + " not");
    if (file.in_force.contains("cb_nodes"))
      line.add(file.in_force.value("cb_nodes", std::string()) + " aggregators");
    line.add(number(file.ranks_with(&FileNumbers::windows)) + " active");
    line.add(number(n.windows) + " windows");
    line.add(percent_text(n.whole_stripe_bytes, n.window_bytes) + " of bytes in whole stripes");
    line.add(number(n.shared_stripes) + " stripes of two aggregators");
    line.add(number(n.messages) + " messages");
    line.add(number(n.message_bytes) + " bytes sent").add(number(n.metadata_bytes) + " of metadata");
  }
  Wrapped line("time");
  line.add("imbalance " + ms_text(n.arrival_ns));
  line.add("waiting " + ms_text(n.wait_ns));
  line.add("local work " + ms_text(n.copy_ns)).add("exchange " + ms_text(n.exchange_ns - n.copy_ns));
  line.add("file " + ms_text(n.file_ns));
}

void print_file(const FileOfJob& file) {
  std::printf("  %s\n", file.path.empty() ? "(all further files)" : file.path.c_str());
  print_engine(file);
  if (file.ranks.empty()) return;
  print_hints(file);
  const FileNumbers total = file.total();
  print_calls(file, total);
  print_system_calls(file, total);
  print_buffering(file, total);
}

}  // namespace

FileNumbers FileOfJob::total() const {
  FileNumbers sum;
  for (const auto& [rank, numbers] : ranks) sum.add(numbers);
  return sum;
}

uint64_t FileOfJob::most(uint64_t FileNumbers::*number) const {
  uint64_t most = 0;
  for (const auto& [rank, numbers] : ranks) most = std::max(most, numbers.*number);
  return most;
}

size_t FileOfJob::ranks_with(uint64_t FileNumbers::*number) const {
  return static_cast<size_t>(
      std::count_if(ranks.begin(), ranks.end(), [=](const auto& rank) { return rank.second.*number > 0; }));
}

double FileOfJob::rate(uint64_t FileNumbers::*bytes, uint64_t FileNumbers::*ns) const {
  const uint64_t longest = most(ns);
  const auto mib = static_cast<double>(total().*bytes) / (1 << 20);
  return longest == 0 ? 0 : mib / static_cast<double>(longest) * 1e9;
}

Json FileOfJob::json() const {
  Json file{{"path", path},     {"engine", engine},       {"why", why},
            {"reason", reason}, {"hints_wished", wished}, {"hints", in_force}};
  if (ranks.empty()) return file;
  file["total"] = json_of_numbers(total());
  const auto longest = static_cast<double>(most(&FileNumbers::target_write_ns));
  auto& servers = file["servers"] = Json::array();
  for (const uint64_t bytes : server_bytes) {
    const double mib = static_cast<double>(bytes) / (1 << 20);
    servers.push_back({{"bytes", bytes}, {"mib_per_second", longest > 0 ? mib / longest * 1e9 : 0}});
  }
  file["active_aggregators"] = ranks_with(&FileNumbers::windows);
  file["raw_write_mib_per_second"] = raw_write_rate();
  file["net_write_mib_per_second"] = net_write_rate();
  file["raw_read_mib_per_second"] = raw_read_rate();
  file["net_read_mib_per_second"] = net_read_rate();
  return file;
}

std::vector<FileOfJob> files_of(const std::vector<RankStatistics>& ranks) {
  std::map<std::string, FileOfJob> files;
  for (const RankStatistics& rank : ranks) {
    const auto list = rank.document.find("files");
    if (list == rank.document.end() || !list->is_array()) continue;
    for (const Json& told : *list) {
      const std::string path = told.value("path", std::string());
      FileOfJob& file = files[path];
      file.path = path;
      if (file.reason.empty()) file.reason = told.value("reason", std::string());
      if (!told.contains("numbers")) continue;
      file.ranks[rank.rank].add(parse_numbers(told));
      add_servers(told, &file.server_bytes);
      if (!file.engine.empty()) continue;
      file.engine = told.value("engine", std::string());
      file.why = told.value("why", std::string());
      file.wished = object_in(told, "hints_wished");
      file.in_force = object_in(told, "hints");
    }
  }
  std::vector<FileOfJob> sorted;
  for (auto& [path, file] : files) sorted.push_back(std::move(file));
  return sorted;
}

void print_files(const std::vector<FileOfJob>& files) {
  const auto is_known = [](const FileOfJob& file) { return !file.ranks.empty(); };
  if (std::none_of(files.begin(), files.end(), is_known)) return;
  std::printf("\nFiles; times are those of all ranks together, rates those of the slowest rank\n");
  for (size_t i = 0; i < std::min(files.size(), kMostShown); i++) print_file(files[i]);
  if (files.size() > kMostShown)
    std::printf("  and %zu more: pmio stats --json\n", files.size() - kMostShown);
}

}  // namespace pmio::cli
