// What a job did with each of its files: engine and reason, hints, calls, system calls, collective buffering.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/stats/jobs.h"
#include "stats/file_statistics.h"

namespace pmio::cli {

struct FileOfJob {
  std::string path, engine, reason;  // engine: empty if only the reason is known
  std::string why;                   // why this engine
  nlohmann::ordered_json wished, in_force;
  std::map<uint32_t, FileNumbers> ranks;
  std::vector<uint64_t> server_bytes;

  FileNumbers total() const;
  // The most that a rank has.
  uint64_t most(uint64_t FileNumbers::*number) const;
  // Ranks that have some.
  size_t ranks_with(uint64_t FileNumbers::*number) const;
  // MiB/s of the slowest rank: raw by its system calls, net by the program's calls. 0: not known.
  double raw_write_rate() const {
    return rate(&FileNumbers::target_write_bytes, &FileNumbers::target_write_ns);
  }
  double net_write_rate() const { return rate(&FileNumbers::written_bytes, &FileNumbers::write_ns); }
  double raw_read_rate() const { return rate(&FileNumbers::target_read_bytes, &FileNumbers::target_read_ns); }
  double net_read_rate() const { return rate(&FileNumbers::read_bytes, &FileNumbers::read_ns); }
  nlohmann::ordered_json json() const;

 private:
  double rate(uint64_t FileNumbers::*bytes, uint64_t FileNumbers::*ns) const;
};

// By path.
std::vector<FileOfJob> files_of(const std::vector<RankStatistics>& ranks);

// In 80 columns; of very many only the first.
void print_files(const std::vector<FileOfJob>& files);

}  // namespace pmio::cli
