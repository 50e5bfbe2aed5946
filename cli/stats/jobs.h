// The statistics that jobs have left in a log directory, and what is known of those that left none.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stats/counters.h"

namespace pmio::cli {

// One process's counters, as plain numbers.
struct Numbers {
#define PMIO_DECLARE(name) uint64_t name = 0;
  PMIO_COUNTERS(PMIO_DECLARE)
#undef PMIO_DECLARE

  static Numbers parse(const nlohmann::ordered_json& counters);
  void add(const Numbers& other);
  nlohmann::ordered_json json() const;
  uint64_t to_log_ns() const { return append_ns + direct_ns + late_open_ns; }
  // What the program waited for until its files were complete; drain_ns runs beside it, in the background.
  uint64_t to_file_ns() const { return to_log_ns() + sync_ns + close_ns; }
};

struct RankStatistics {
  uint32_t rank = 0;
  nlohmann::ordered_json document;
  Numbers numbers;
};

struct JobStatistics {
  std::string id;
  int64_t written_ns = 0;                // when it was last written to
  nlohmann::ordered_json facts;          // of the lowest rank, or what was said when the job began
  std::vector<RankStatistics> ranks;     // ascending; empty: the job has not come to MPI_Finalize
  std::string state;                     // "ended", "3 of 4 ranks", "running", "killed"
  std::optional<uint64_t> bytes_in_log;  // of one that was killed, what is not in its files yet
  std::string fact(const char* key) const { return facts.value(key, std::string("?")); }
  uint64_t number(const char* key) const { return facts.value(key, uint64_t{0}); }
  // Whether a file was logged; else statistics were asked for.
  bool has_log() const { return !fact("medium").empty(); }
  std::string program() const;  // without its directory
  void note_state();            // by the ranks that are there
};

// All, newest first. With `only`, that job alone: its number in hexadecimal, leading zeros or not. What
// several directories, of nodes say, have of one job is one.
std::vector<JobStatistics> read_jobs(const std::vector<std::string>& directories, const std::string& only);

// The options by which a command is told which job is meant.
struct JobChoice {
  std::vector<std::string> directories;
  std::string job;

  // With the defaults: pmio_stats_dir of the environment, or the log directory; the newest job.
  void add_options(CLI::App& command);
  std::vector<JobStatistics> read() const { return read_jobs(directories, job); }
  // For messages: "of job 12 in /a, /b".
  std::string told() const;
  std::string told_directories() const;
};

}  // namespace pmio::cli
