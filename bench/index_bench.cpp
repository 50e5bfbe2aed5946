// Millions of extents in one file: what each costs in DRAM, in the log and in time, and whether that stays
// linear.
//
//   index_bench [--log-dir D] [--file F] [--extents N]... [--extent-bytes B] [--order random|sequential]
//   [--json FILE]
//
// One process, no MPI. The extents do not touch each other, so that none can be merged with another. Phases:
// append; merge (the first read, which indexes all that was appended); reads of single extents at random;
// reads of the whole file in pieces of 1 MiB; drain. The background thread is off, so that no phase does
// another's work. After the drain the file is compared with what was appended.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "node/file.h"
#include "node/job.h"

namespace {

using pmio::Status;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

struct Options {
  std::string log_directory = "/dev/shm/pmio-index-bench-" + std::to_string(getpid());
  std::string file = "index-bench-" + std::to_string(getpid()) + ".data";
  std::vector<uint64_t> extents{1'000'000, 2'000'000, 5'000'000, 10'000'000};
  uint64_t extent_bytes = 64;
  std::string order = "random";
  std::string json;
};

void must(const Status& status, const char* what) {
  if (status.ok()) return;
  fprintf(stderr, "index_bench: %s: %s\n", what, status.message().c_str());
  exit(1);
}

uint64_t mix(uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 31);
}

// A permutation of [0, n): multiplication by a number that has no common factor with n.
class Order {
 public:
  Order(uint64_t n, bool random) : n_(n) {
    if (!random) return;
    factor_ = n * 618 / 1000 | 1;
    while (std::gcd(factor_, n) != 1) factor_++;
  }
  uint64_t operator()(uint64_t i) const {
    return static_cast<uint64_t>(static_cast<__uint128_t>(i) * factor_ % n_);
  }

 private:
  uint64_t n_, factor_ = 1;
};

// The heap and what else is this process's own: the log is shared memory, and not in it.
uint64_t own_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  return 0;
}

// Bytes of the job's files whose names begin with prefix.
uint64_t medium_bytes(const std::string& directory, const std::string& prefix) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().filename().string().starts_with(prefix)) bytes += fs::file_size(entry.path());
  return bytes;
}

class Bench {
 public:
  Bench(const Options& options, uint64_t extents)
      : options_(options),
        n_(extents),
        order_(extents, options.order == "random"),
        data_(options.extent_bytes) {}

  nlohmann::json run() {
    create();
    result_ = {{"extents", n_}, {"extent_bytes", options_.extent_bytes}, {"order", options_.order}};
    timed("append_ns", n_, [&] { append(); });
    const pmio::Counters& counters = job_->counters();
    result_["log_bytes_per_extent"] = per_extent(counters.append_bytes + 64 * counters.append_records);
    result_["log_segment_bytes_per_extent"] = per_extent(medium_bytes(job_->directory(), "seg-"));
    const uint64_t before = own_memory_bytes();
    timed("merge_ns", n_, [&] { read(0); });
    const uint64_t after = own_memory_bytes();
    result_["dram_bytes_per_extent"] = per_extent(after > before ? after - before : 0);
    result_["run_files_bytes_per_extent"] = per_extent(medium_bytes(job_->directory(), "run-"));
    const uint64_t reads = std::min<uint64_t>(n_, 200'000);
    timed("random_read_ns", reads, [&] {
      for (uint64_t i = 0; i < reads; i++) read(mix(i) % n_);
    });
    timed("sequential_read_ns", n_, [&] { read_all(); });
    timed("drain_ns", n_, [&] { must(file_->drain(), "drain"); });
    finish();
    return result_;
  }

 private:
  double per_extent(uint64_t bytes) const { return static_cast<double>(bytes) / static_cast<double>(n_); }
  uint64_t offset_of(uint64_t index) const { return index * 2 * options_.extent_bytes; }

  template <class Phase>
  void timed(const char* name, uint64_t times, Phase phase) {
    const auto start = Clock::now();
    phase();
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    result_[name] = took.count() / static_cast<double>(times);
  }

  void create() {
    std::ofstream(options_.file, std::ios::trunc);
    pmio::JobOptions job;
    job.directory = options_.log_directory;
    job.id = mix(n_);
    job.capacity_bytes = n_ * (options_.extent_bytes + 64) * 5 / 4 + (64 << 20);
    job.index_bytes = uint64_t{1} << 40;
    job.background = false;
    auto joined = pmio::Job::join(job);
    must(joined.status(), "join");
    job_ = std::move(joined.value());
    auto opened = job_->open({.path = fs::absolute(options_.file)});
    must(opened.status(), "open");
    file_ = std::move(opened.value());
  }

  void fill(uint64_t index) {
    for (uint64_t i = 0; i < data_.size(); i += 8) {
      const uint64_t word = mix(index * 1024 + i);
      memcpy(data_.data() + i, &word, std::min<uint64_t>(8, data_.size() - i));
    }
  }

  void append() {
    for (uint64_t i = 0; i < n_; i++) {
      const uint64_t index = order_(i);
      fill(index);
      must(file_->append(offset_of(index), data_.data(), data_.size(), 0), "append");
    }
  }

  void read(uint64_t index) {
    std::vector<std::byte>& found = scratch_;
    found.resize(data_.size());
    uint64_t got = 0;
    must(file_->read(offset_of(index), found.data(), found.size(), &got), "read");
    fill(index);
    if (got != found.size() || found != data_)
      must({pmio::Code::corrupt, "read other bytes than were written"}, "read");
  }

  void read_all() {
    std::vector<std::byte> piece(1 << 20);
    for (uint64_t at = 0, got = 1; got > 0; at += got)
      must(file_->read(at, piece.data(), piece.size(), &got), "read");
  }

  void finish() {
    must(file_->closing().release(), "release");
    file_.reset();
    job_.reset();
    std::ifstream target(options_.file, std::ios::binary);
    std::vector<std::byte> found(2 * data_.size());
    for (uint64_t index = 0; index < n_; index++) {
      target.read(reinterpret_cast<char*>(found.data()), static_cast<std::streamsize>(found.size()));
      fill(index);
      if (memcmp(found.data(), data_.data(), data_.size()) != 0)
        must({pmio::Code::corrupt, "wrong bytes"}, "the file");
    }
    fs::remove(options_.file);
    fs::remove_all(options_.log_directory);
  }

  const Options& options_;
  uint64_t n_;
  Order order_;
  std::vector<std::byte> data_, scratch_;
  std::unique_ptr<pmio::Job> job_;
  std::shared_ptr<pmio::File> file_;
  nlohmann::json result_;
};

// The first and the last size compared: 1.0 is linear.
void print_linearity(const std::vector<nlohmann::json>& results) {
  if (results.size() < 2) return;
  printf("\nper extent, at %llu against %llu extents:\n", results.back()["extents"].get<unsigned long long>(),
         results.front()["extents"].get<unsigned long long>());
  for (const auto& [name, value] : results.front().items()) {
    if (!value.is_number_float() || value.get<double>() == 0) continue;
    printf("  %-30s %.2f\n", name.c_str(), results.back()[name].get<double>() / value.get<double>());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Costs of millions of extents in one file");
  app.add_option("--log-dir", options.log_directory, "log directory, made and removed");
  app.add_option("--file", options.file, "target file, made and removed");
  app.add_option("--extents", options.extents, "how many, one run for each");
  app.add_option("--extent-bytes", options.extent_bytes)->check(CLI::Range(1, 4096));
  app.add_option("--order", options.order)->check(CLI::IsMember({"random", "sequential"}));
  app.add_option("--json", options.json, "where the results go too");
  CLI11_PARSE(app, argc, argv);
  std::vector<nlohmann::json> results;
  for (uint64_t extents : options.extents) {
    results.push_back(Bench(options, extents).run());
    printf("%s\n", results.back().dump(1).c_str());
    fflush(stdout);
  }
  print_linearity(results);
  if (!options.json.empty()) std::ofstream(options.json) << nlohmann::json(results).dump(1) << '\n';
  return 0;
}
