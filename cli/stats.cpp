// `pmio stats`: the statistics that a job's processes left, per rank and in total. The time until the bytes
// were in the log and the time until they were in the file are told apart.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "commands.h"
#include "medium/default_directory.h"
#include "report_format.h"
#include "stats/counters.h"

namespace pmio::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Options {
  std::string directory = default_directory();
  std::string job;
  bool json = false;
};

// One process's counters, as plain numbers.
struct Numbers {
#define PMIO_DECLARE(name) uint64_t name = 0;
  PMIO_COUNTERS(PMIO_DECLARE)
#undef PMIO_DECLARE

  static Numbers parse(const Json& counters) {
    Numbers numbers;
#define PMIO_READ(name) numbers.name = counters.value(#name, uint64_t{0});
    PMIO_COUNTERS(PMIO_READ)
#undef PMIO_READ
    return numbers;
  }
  void add(const Numbers& other) {
#define PMIO_ADD(name) name += other.name;
    PMIO_COUNTERS(PMIO_ADD)
#undef PMIO_ADD
  }
  Json json() const {
    Json counters;
#define PMIO_STORE(name) counters[#name] = name;
    PMIO_COUNTERS(PMIO_STORE)
#undef PMIO_STORE
    return counters;
  }
  uint64_t to_log_ns() const { return append_ns; }
  // What the program waited for until its files were complete; drain_ns runs beside it, in the background.
  uint64_t to_file_ns() const { return append_ns + sync_ns + close_ns; }
};

struct Rank {
  uint32_t rank = 0;
  Json document;
  Numbers numbers;
};

// The directory of the job's statistics: the newest, or the one that is asked for.
std::optional<fs::path> find_job(const Options& options) {
  std::optional<fs::path> newest;
  fs::file_time_type newest_time;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options.directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("stats-") || !entry.is_directory(error)) continue;
    const std::string id = name.substr(6);
    if (!options.job.empty()) {
      if (id == options.job ||
          id == std::string(16 - std::min<size_t>(16, options.job.size()), '0') + options.job) {
        return entry.path();
      }
      continue;
    }
    const auto time = entry.last_write_time(error);
    if (!newest || time > newest_time) {
      newest = entry.path();
      newest_time = time;
    }
  }
  return newest;
}

std::vector<Rank> read_ranks(const fs::path& directory) {
  std::vector<Rank> ranks;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("rank-") || !name.ends_with(".json")) continue;
    std::ifstream file(entry.path());
    Rank rank;
    rank.document = Json::parse(file, nullptr, false);
    try {
      rank.rank = rank.document.at("rank").get<uint32_t>();
      rank.numbers = Numbers::parse(rank.document.at("counters"));
    } catch (const Json::exception&) {
      std::fprintf(stderr, "pmio: %s is not a statistics file, left out\n", entry.path().c_str());
      continue;
    }
    ranks.push_back(std::move(rank));
  }
  std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
  return ranks;
}

Numbers total_of(const std::vector<Rank>& ranks) {
  Numbers total;
  for (const Rank& rank : ranks) total.add(rank.numbers);
  return total;
}

uint64_t slowest(const std::vector<Rank>& ranks, uint64_t (Numbers::*time)() const) {
  uint64_t longest = 0;
  for (const Rank& rank : ranks) longest = std::max(longest, (rank.numbers.*time)());
  return longest;
}

std::string throughput(uint64_t bytes, uint64_t nanoseconds) {
  if (nanoseconds == 0) return "-";
  return human_bytes(
             static_cast<uint64_t>(static_cast<double>(bytes) / static_cast<double>(nanoseconds) * 1e9)) +
         "/s";
}

using Row = std::vector<std::string> (*)(const Numbers& numbers);

void print_table(const char* title, std::vector<std::string> columns, const std::vector<Rank>& ranks,
                 Row row) {
  std::printf("\n%s\n", title);
  columns.insert(columns.begin(), "  rank");
  Table table(std::move(columns));
  const auto add = [&](const std::string& name, const Numbers& numbers) {
    std::vector<std::string> cells = row(numbers);
    cells.insert(cells.begin(), "  " + name);
    table.add(std::move(cells));
  };
  for (const Rank& rank : ranks) add(std::to_string(rank.rank), rank.numbers);
  if (ranks.size() > 1) add("all", total_of(ranks));
  table.print();
}

void print_system_calls(const std::vector<Rank>& ranks) {
  print_table("System writes to files, by size", {"<= 1 KiB", "<= 1 MiB", "larger", "bytes", "time"}, ranks,
              [](const Numbers& n) -> std::vector<std::string> {
                return {human_count(n.target_writes_1k), human_count(n.target_writes_1m),
                        human_count(n.target_writes_large), human_bytes(n.target_write_bytes),
                        human_time(n.target_write_ns)};
              });
  print_table("System reads from files, by size", {"<= 1 KiB", "<= 1 MiB", "larger", "bytes", "time"}, ranks,
              [](const Numbers& n) -> std::vector<std::string> {
                return {human_count(n.target_reads_1k), human_count(n.target_reads_1m),
                        human_count(n.target_reads_large), human_bytes(n.target_read_bytes),
                        human_time(n.target_read_ns)};
              });
}

void print_calls(const std::vector<Rank>& ranks) {
  print_table("MPI-IO calls",
              {"collective writes", "independent", "logged", "collective reads", "independent", "read",
               "from the log", "handed on"},
              ranks, [](const Numbers& n) -> std::vector<std::string> {
                return {human_count(n.collective_writes), human_count(n.independent_writes),
                        human_bytes(n.append_bytes),      human_count(n.collective_reads),
                        human_count(n.independent_reads), human_bytes(n.read_bytes),
                        human_bytes(n.read_log_bytes),    human_count(n.handed_on_calls)};
              });
}

void print_phases(const std::vector<Rank>& ranks) {
  print_table("Time by phase",
              {"open", "to log", "waiting for room", "read", "sync", "close", "merge", "drain (beside)"},
              ranks, [](const Numbers& n) -> std::vector<std::string> {
                return {human_time(n.open_ns),  human_time(n.append_ns), human_time(n.append_wait_ns),
                        human_time(n.read_ns),  human_time(n.sync_ns),   human_time(n.close_ns),
                        human_time(n.merge_ns), human_time(n.drain_ns)};
              });
}

void print_summary(const std::vector<Rank>& ranks) {
  const Numbers total = total_of(ranks);
  const uint64_t to_log = slowest(ranks, &Numbers::to_log_ns);
  const uint64_t to_file = slowest(ranks, &Numbers::to_file_ns);
  std::printf("\nLogged %s in %s records, of all ranks together\n", human_bytes(total.append_bytes).c_str(),
              human_count(total.append_records).c_str());
  Table table({"  slowest rank", "time", "throughput"});
  table.add({"  time to log", human_time(to_log), throughput(total.append_bytes, to_log)});
  table.add(
      {"  time to file (log, sync, close)", human_time(to_file), throughput(total.append_bytes, to_file)});
  table.print();
}

void print_header(const fs::path& directory, const std::vector<Rank>& ranks) {
  const Json& first = ranks.front().document;
  const auto text = [&](const char* key) { return first.value(key, std::string("?")); };
  std::printf("job %s: %s, %zu of %u ranks, %s\n", directory.filename().string().substr(6).c_str(),
              text("program").c_str(), ranks.size(), first.value("ranks", 0u), text("mpi").c_str());
  std::printf("log in %s (%s)\n", text("log_directory").c_str(), text("medium").c_str());
}

void print_as_json(const fs::path& directory, const std::vector<Rank>& ranks) {
  Json document{{"format", "pmio-stats-1"},
                {"job", directory.filename().string().substr(6)},
                {"time_to_log_ns", slowest(ranks, &Numbers::to_log_ns)},
                {"time_to_file_ns", slowest(ranks, &Numbers::to_file_ns)},
                {"total", total_of(ranks).json()},
                {"ranks", Json::array()}};
  for (const Rank& rank : ranks) document["ranks"].push_back(rank.document);
  print_json(document);
}

int run(const Options& options) {
  const auto directory = find_job(options);
  const auto ranks = directory ? read_ranks(*directory) : std::vector<Rank>();
  if (ranks.empty()) {
    std::fprintf(
        stderr,
        "pmio: no statistics%s in %s; a job that logged a file leaves them there at MPI_Finalize, and the "
        "last 16 jobs' are kept\n",
        options.job.empty() ? "" : (" of job " + options.job).c_str(), options.directory.c_str());
    return 1;
  }
  if (options.json) {
    print_as_json(*directory, ranks);
    return 0;
  }
  print_header(*directory, ranks);
  print_summary(ranks);
  print_phases(ranks);
  print_calls(ranks);
  print_system_calls(ranks);
  return 0;
}

}  // namespace

void add_stats(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("stats", "Show what a job did: its newest statistics, or those of --job");
  command->add_option("--dir", options->directory, "The log directory")->capture_default_str();
  command->add_option("--job", options->job, "Job id, in hexadecimal");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { set_exit_code(run(*options)); });
}

static const Registration registration(add_stats);

}  // namespace pmio::cli
