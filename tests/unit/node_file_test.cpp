// The engine against a byte array: several ranks of a job in one process (each a Job of its own, as processes
// are), random appends, reads by any rank, drains, truncations, tiny logs; the reads and the file must equal
// the array.
#include "node/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace pmio {
namespace {

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

std::vector<std::byte> contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::unique_ptr<Job> join(const Scratch& scratch, uint32_t rank, uint32_t ranks, uint64_t capacity,
                          bool background) {
  JobOptions options;
  options.directory = scratch.log_;
  options.id = 0x1234;
  options.rank = rank;
  options.ranks = ranks;
  options.capacity_bytes = capacity;
  options.background = background;
  options.index_bytes = scratch.index_bytes_;
  auto job = Job::join(options);
  EXPECT_TRUE(job.ok()) << job.status().message();
  return std::move(job).value();
}

struct Rank {
  std::unique_ptr<Job> job;
  std::shared_ptr<File> file;
};

std::vector<Rank> open_all(const Scratch& scratch, const std::string& path, uint32_t ranks, uint64_t capacity,
                           bool background = false) {
  std::vector<Rank> all;
  for (uint32_t rank = 0; rank < ranks; rank++) {
    Rank one;
    one.job = join(scratch, rank, ranks, capacity, background);
    Job::OpenOptions options;
    options.path = path;
    auto file = one.job->open(options);
    EXPECT_TRUE(file.ok()) << file.status().message();
    one.file = *file;
    all.push_back(std::move(one));
  }
  return all;
}

void close_all(std::vector<Rank>& ranks) {
  for (Rank& rank : ranks) {
    Status status = rank.file->release();
    EXPECT_TRUE(status.ok()) << status.message();
    rank.file.reset();
  }
  ranks.clear();
}

// What the file should contain.
struct Oracle {
  std::vector<std::byte> bytes;
  void write(uint64_t offset, const std::byte* data, uint64_t n) {
    if (n == 0) return;
    if (bytes.size() < offset + n) bytes.resize(offset + n);
    std::memcpy(bytes.data() + offset, data, n);
  }
};

Pattern random_pattern(std::mt19937_64& random) {
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

std::vector<std::byte> random_bytes(std::mt19937_64& random, uint64_t n) {
  std::vector<std::byte> bytes(n);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void random_history(uint64_t seed, uint64_t capacity, bool background, bool log_on_disk = false) {
  SCOPED_TRACE("seed " + std::to_string(seed) + " capacity " + std::to_string(capacity));
  std::mt19937_64 random(seed);
  Scratch scratch(log_on_disk);
  const std::string path = scratch.files_ + "/data";
  Oracle oracle;
  if (seed % 2) {
    oracle.bytes = random_bytes(random, random() % 300000);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(oracle.bytes.data()),
               static_cast<std::streamsize>(oracle.bytes.size()));
  } else {
    std::ofstream(path).flush();
  }
  const auto ranks = static_cast<uint32_t>(1 + random() % 4);
  auto all = open_all(scratch, path, ranks, capacity, background);
  const uint64_t span = 1 << (12 + random() % 12);
  for (int step = 0; step < 150; step++) {
    File& file = *all[random() % ranks].file;
    const uint64_t offset = random() % span;
    switch (random() % 12) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const auto data = random_bytes(random, random() % 2 ? random() % 5000 : random() % 400000);
        ASSERT_TRUE(file.append(offset, data.data(), data.size(), 0).ok());
        oracle.write(offset, data.data(), data.size());
        break;
      }
      case 4:
      case 5: {
        const Pattern where = random_pattern(random);
        const uint64_t skip = random() % (where.size + 1);
        const auto data = random_bytes(random, random() % 60000);
        PatternCursor cursor(where, static_cast<int64_t>(offset), skip);
        const Pattern flat = Pattern::bytes(std::max<uint64_t>(1, data.size()));
        PatternCursor memory(flat, 0, 0);
        ASSERT_TRUE(file.append(cursor, memory, data.data(), data.size(), 1).ok());
        PatternCursor again(where, static_cast<int64_t>(offset), skip);
        for (uint64_t done = 0; done < data.size();) {
          const auto piece = again.next_piece(data.size() - done);
          oracle.write(static_cast<uint64_t>(piece.offset), data.data() + done, piece.length);
          done += piece.length;
        }
        break;
      }
      case 6:
      case 7:
      case 8: {
        std::vector<std::byte> got_bytes(random() % 300000, std::byte{0xee});
        uint64_t got = 0;
        ASSERT_TRUE(file.read(offset, got_bytes.data(), got_bytes.size(), &got).ok());
        const uint64_t want = offset >= oracle.bytes.size()
                                  ? 0
                                  : std::min<uint64_t>(got_bytes.size(), oracle.bytes.size() - offset);
        ASSERT_EQ(got, want) << "step " << step;
        ASSERT_EQ(std::memcmp(got_bytes.data(), oracle.bytes.data() + (want ? offset : 0), want), 0)
            << "step " << step;
        break;
      }
      case 9: {
        const Pattern where = random_pattern(random);
        const uint64_t skip = random() % (where.size + 1);
        const uint64_t n = random() % 60000;
        std::vector<std::byte> want;
        PatternCursor again(where, static_cast<int64_t>(offset), skip);
        for (uint64_t done = 0; done < n;) {
          const auto piece = again.next_piece(n - done);
          const auto begin = std::min<uint64_t>(static_cast<uint64_t>(piece.offset), oracle.bytes.size());
          const auto end =
              std::min<uint64_t>(static_cast<uint64_t>(piece.offset) + piece.length, oracle.bytes.size());
          want.insert(want.end(), oracle.bytes.begin() + static_cast<ptrdiff_t>(begin),
                      oracle.bytes.begin() + static_cast<ptrdiff_t>(end));
          if (end - begin < piece.length) break;
          done += piece.length;
        }
        std::vector<std::byte> data(n + 1);
        uint64_t got = 0;
        PatternCursor cursor(where, static_cast<int64_t>(offset), skip);
        const Pattern flat = Pattern::bytes(n + 1);
        PatternCursor memory(flat, 0, 0);
        ASSERT_TRUE(file.read(cursor, memory, data.data(), n, &got).ok());
        ASSERT_EQ(got, want.size()) << "step " << step;
        ASSERT_EQ(std::memcmp(data.data(), want.data(), got), 0) << "step " << step;
        break;
      }
      case 10: {
        if (random() % 3 == 0) {
          ASSERT_TRUE(file.drain().ok());
          ASSERT_EQ(contents(path), oracle.bytes) << "step " << step;
        } else {
          ASSERT_EQ(*file.size_bytes(), oracle.bytes.size());
        }
        break;
      }
      case 11: {
        if (random() % 4) break;
        for (Rank& rank : all) ASSERT_TRUE(rank.file->drain().ok());
        oracle.bytes.resize(random() % span);
        ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(oracle.bytes.size())), 0);
        for (Rank& rank : all) {
          rank.file->truncated();
          rank.file->invalidate_cache();
        }
        break;
      }
    }
  }
  close_all(all);
  ASSERT_EQ(contents(path), oracle.bytes);
  ASSERT_TRUE(std::filesystem::is_empty(scratch.log_)) << "a finished job leaves nothing";
}

TEST(NodeFile, RandomHistoriesInTinyLogs) {
  for (uint64_t seed = 0; seed < 40; seed++) {
    random_history(seed, 1 << 20, false);
    if (HasFatalFailure()) return;
  }
}

TEST(NodeFile, RandomHistoriesInLargeLogs) {
  for (uint64_t seed = 100; seed < 140; seed++) {
    random_history(seed, 64 << 20, seed % 3 == 0);
    if (HasFatalFailure()) return;
  }
}

TEST(NodeFile, RandomHistoriesWithTheLogOnDiskAndATinyIndex) {
  for (uint64_t seed = 200; seed < 215; seed++) {
    random_history(seed, 4 << 20, seed % 2 == 0, true);
    if (HasFatalFailure()) return;
  }
}

// Real processes: each writes its interleaved records in epochs with a barrier between, then checks its
// neighbour's.
TEST(NodeFile, ProcessesSeeEachOtherAfterABarrier) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  constexpr uint32_t kRanks = 3;
  constexpr int kEpochs = 30;
  constexpr int kRecords = 300;
  constexpr uint64_t kRecord = 1312;
  pthread_barrier_t* barrier = nullptr;
  Medium* medium = nullptr;
  auto opened = open_medium(scratch.files_ + "/barrier", Durability::none);
  ASSERT_TRUE(opened.ok());
  medium = opened->get();
  auto region = medium->create("barrier", 4096);
  ASSERT_TRUE(region.ok());
  barrier = reinterpret_cast<pthread_barrier_t*>((*region)->data());
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(barrier, &attributes, kRanks);
  std::vector<pid_t> children;
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    const pid_t child = fork();
    if (child == 0) {
      int bad = 0;
      {
        auto job = join(scratch, rank, kRanks, 2 << 20, true);
        auto file = *job->open({path, false, {}});
        std::vector<std::byte> record(kRecord);
        for (int epoch = 0; epoch < kEpochs; epoch++) {
          for (int i = 0; i < kRecords; i++) {
            const uint32_t tag = static_cast<uint32_t>(epoch << 20 | i << 4) | rank;
            for (uint64_t k = 0; k < kRecord; k += 4) std::memcpy(&record[k], &tag, 4);
            bad +=
                !file->append((static_cast<uint64_t>(i) * kRanks + rank) * kRecord, record.data(), kRecord, 1)
                     .ok();
          }
          pthread_barrier_wait(barrier);
          const uint32_t other = (rank + 1) % kRanks;
          for (int i = 0; i < kRecords; i += 7) {
            const uint32_t tag = static_cast<uint32_t>(epoch << 20 | i << 4) | other;
            uint64_t got = 0;
            bad += !file->read((static_cast<uint64_t>(i) * kRanks + other) * kRecord, record.data(), kRecord,
                               &got)
                        .ok();
            bad += got != kRecord;
            for (uint64_t k = 0; k < kRecord; k += 4) bad += std::memcmp(&record[k], &tag, 4) != 0;
          }
          pthread_barrier_wait(barrier);
        }
        bad += !file->drain().ok();
        pthread_barrier_wait(barrier);
        bad += !file->release().ok();
      }
      _exit(bad != 0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  const auto bytes = contents(path);
  ASSERT_EQ(bytes.size(), kRanks * kRecords * kRecord);
  for (uint64_t i = 0; i < kRanks * kRecords; i++) {
    uint32_t tag = 0;
    std::memcpy(&tag, &bytes[i * kRecord], 4);
    EXPECT_EQ(tag, static_cast<uint32_t>((kEpochs - 1) << 20 | (i / kRanks) << 4 | i % kRanks));
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.log_));
}

}  // namespace
}  // namespace pmio
