// Several ranks of a job in one process (each a Job of its own, as processes are), and the byte array that
// their file must equal.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "node/file.h"
#include "support/bytes.h"
#include "support/oracle.h"

namespace pmio {

class Scratch {
 public:
  explicit Scratch(bool log_on_disk = false) {
    char logs[] = "/dev/shm/pmio-test-XXXXXX";
    char disk_logs[] = "/tmp/pmio-test-XXXXXX";
    char files[] = "/tmp/pmio-test-XXXXXX";
    log_ = mkdtemp(log_on_disk ? disk_logs : logs);
    // A bound of two small runs: the others have to move to the log medium.
    if (log_on_disk) index_bytes_ = 8192;
    files_ = mkdtemp(files);
  }
  ~Scratch() {
    std::filesystem::remove_all(log_);
    std::filesystem::remove_all(files_);
  }
  std::string log_, files_;
  uint64_t index_bytes_ = 256 << 20;
};

inline std::unique_ptr<Job> join(const Scratch& scratch, uint32_t rank, uint32_t ranks, uint64_t capacity,
                                 bool background, std::atomic<uint64_t>* files_logged = nullptr,
                                 const MediumOpener& open_log = open_medium) {
  JobOptions options;
  options.directory = scratch.log_;
  options.id = std::hash<std::string>()(scratch.log_);  // nobody else's, who would share the index
  options.rank = rank;
  options.ranks = ranks;
  options.capacity_bytes = capacity;
  options.background = background;
  options.index_bytes = scratch.index_bytes_;
  options.files_logged = files_logged;
  options.open_log = open_log;
  auto job = Job::join(options);
  EXPECT_TRUE(job.ok()) << job.status().message();
  return std::move(job).value();
}

struct Rank {
  std::unique_ptr<Job> job;
  std::shared_ptr<File> file;
};

inline std::vector<Rank> open_all(const Scratch& scratch, const std::string& path, uint32_t ranks,
                                  uint64_t capacity, bool background = false,
                                  std::atomic<uint64_t>* files_logged = nullptr,
                                  DirectFrom direct_from = {}) {
  std::vector<Rank> all;
  for (uint32_t rank = 0; rank < ranks; rank++) {
    Rank one;
    one.job = join(scratch, rank, ranks, capacity, background, files_logged);
    Job::OpenOptions options;
    options.path = path;
    options.direct_from = direct_from;
    auto file = one.job->open(options);
    EXPECT_TRUE(file.ok()) << file.status().message();
    one.file = *file;
    all.push_back(std::move(one));
  }
  return all;
}

inline void close_all(std::vector<Rank>& ranks) {
  for (Rank& rank : ranks) {
    Status status = rank.file->closing().release();
    EXPECT_TRUE(status.ok()) << status.message();
    rank.file.reset();
  }
  ranks.clear();
}

inline Pattern random_pattern(std::mt19937_64& random) {
  Pattern pattern;
  int64_t at = static_cast<int64_t>(random() % 64);
  const int parts = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < parts; i++) {
    Vector part;
    part.offset = at;
    part.block_length = 1 + random() % 3000;
    part.count = random() % 3 == 0 ? 1 : 1 + random() % 40;
    part.stride = part.count == 1 ? 0 : static_cast<int64_t>(part.block_length + random() % 500);
    at = part.end() + static_cast<int64_t>(random() % 200);
    pattern.add(part);
  }
  pattern.finish(at + static_cast<int64_t>(random() % 100));
  return pattern;
}

}  // namespace pmio
