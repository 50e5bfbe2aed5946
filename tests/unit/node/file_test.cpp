// The engine against a byte array: random appends, reads by any rank, drains, truncations, tiny logs; the
// reads and the file must equal the array.
#include <sys/stat.h>
#include <sys/wait.h>

#include <thread>

#include "support/node_fixture.h"

namespace pmio {
namespace {

void random_history(uint64_t seed, uint64_t capacity, bool background, bool log_on_disk = false,
                    DirectFrom direct_from = {}) {
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
  auto all = open_all(scratch, path, ranks, capacity, background, nullptr, direct_from);
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
          ASSERT_TRUE(same(contents(path), oracle.bytes)) << "step " << step;
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
          rank.file->changes().truncated();
          rank.file->changes().invalidate_cache();
        }
        break;
      }
    }
  }
  close_all(all);
  ASSERT_TRUE(same(contents(path), oracle.bytes));
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

// Some pieces go straight to the file, over and under what is logged.
TEST(NodeFile, RandomHistoriesWithLargePieces) {
  for (uint64_t seed = 300; seed < 340; seed++) {
    random_history(seed, seed % 2 == 0 ? 1 << 20 : 64 << 20, seed % 3 == 0, false,
                   {512u << seed % 10, 256u << seed % 7});
    if (HasFatalFailure()) return;
  }
}

// Real processes: each writes its interleaved records in epochs with a barrier between, then checks its
// neighbour's.
// Of processes.
class SharedBarrier {
 public:
  SharedBarrier(const std::string& directory, uint32_t processes)
      : medium_(std::move(open_medium(directory, Durability::none)).value()),
        region_(std::move(medium_->create("barrier", 4096)).value()) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(barrier(), &attributes, processes);
  }
  void wait() { pthread_barrier_wait(barrier()); }

 private:
  pthread_barrier_t* barrier() { return reinterpret_cast<pthread_barrier_t*>(region_->data()); }
  std::unique_ptr<Medium> medium_;
  std::unique_ptr<Region> region_;
};

// Each of some ranks writes its records of an epoch, and after a barrier reads the next rank's.
struct Epochs {
  static constexpr uint32_t kRanks = 3;
  static constexpr int kEpochs = 30, kRecords = 300;
  static constexpr uint64_t kRecord = 1312;

  File& file;
  uint32_t rank;
  int bad = 0;
  std::vector<std::byte> record = std::vector<std::byte>(kRecord);

  static uint32_t tag(int epoch, int i, uint32_t of) {
    return static_cast<uint32_t>(epoch << 20 | i << 4) | of;
  }
  static uint64_t place(int i, uint32_t of) { return (static_cast<uint64_t>(i) * kRanks + of) * kRecord; }

  void write(int epoch) {
    for (int i = 0; i < kRecords; i++) {
      const uint32_t own = tag(epoch, i, rank);
      for (uint64_t k = 0; k < kRecord; k += 4) std::memcpy(&record[k], &own, 4);
      bad += !file.append(place(i, rank), record.data(), kRecord, 1).ok();
    }
  }
  void read(int epoch) {
    const uint32_t other = (rank + 1) % kRanks;
    for (int i = 0; i < kRecords; i += 7) {
      const uint32_t expected = tag(epoch, i, other);
      uint64_t got = 0;
      bad += !file.read(place(i, other), record.data(), kRecord, &got).ok();
      bad += got != kRecord;
      for (uint64_t k = 0; k < kRecord; k += 4) bad += std::memcmp(&record[k], &expected, 4) != 0;
    }
  }
};

TEST(NodeFile, ProcessesSeeEachOtherAfterABarrier) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  SharedBarrier barrier(scratch.files_ + "/barrier", Epochs::kRanks);
  const auto run = [&](uint32_t rank) {
    auto job = join(scratch, rank, Epochs::kRanks, 2 << 20, true);
    auto file = *job->open({path, false, {}});
    Epochs epochs{*file, rank};
    for (int epoch = 0; epoch < Epochs::kEpochs; epoch++) {
      epochs.write(epoch);
      barrier.wait();
      epochs.read(epoch);
      barrier.wait();
    }
    epochs.bad += !file->drain().ok();
    barrier.wait();
    epochs.bad += !file->closing().release().ok();
    return epochs.bad;
  };
  std::vector<pid_t> children;
  for (uint32_t rank = 0; rank < Epochs::kRanks; rank++) {
    const pid_t child = fork();
    if (child == 0) _exit(run(rank) != 0);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  const auto bytes = contents(path);
  ASSERT_EQ(bytes.size(), Epochs::place(Epochs::kRecords, 0));
  for (int i = 0; i < Epochs::kRecords; i++) {
    for (uint32_t rank = 0; rank < Epochs::kRanks; rank++) {
      uint32_t tag = 0;
      std::memcpy(&tag, &bytes[Epochs::place(i, rank)], 4);
      EXPECT_EQ(tag, Epochs::tag(Epochs::kEpochs - 1, i, rank));
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.log_));
}

// Somebody, such as the background thread, may hold a file a moment longer than the program has it open. An
// open that follows may mean another file, which has got the same inode number.
TEST(NodeFile, AClosedFileIsNotOpenedAgain) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  auto all = open_all(scratch, path, 1, 1 << 20);
  const std::shared_ptr<File> held = all[0].file;
  const std::vector<std::byte> data(1000, std::byte{1});
  ASSERT_TRUE(held->append(0, data.data(), data.size(), 0).ok());
  ASSERT_TRUE(held->closing().release().ok());
  all[0].file.reset();
  std::filesystem::remove(path);
  std::ofstream(path).flush();
  Job::OpenOptions options;
  options.path = path;
  auto again = all[0].job->open(options);
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->get(), held.get());
  EXPECT_FALSE((*again)->usage().ever_logged());
  ASSERT_TRUE((*again)->append(0, data.data(), 10, 0).ok());
  ASSERT_TRUE((*again)->closing().release().ok());
  EXPECT_EQ(contents(path).size(), 10u);
}

// If nothing is written for a second, the background thread looks less often.
TEST(NodeFile, IsDrainedAfterAQuietTimeToo) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  auto all = open_all(scratch, path, 1, 1 << 20, true);
  File& file = *all[0].file;
  const std::vector<std::byte> data(1000, std::byte{1});
  for (uint64_t round = 0; round < 2; round++) {
    ASSERT_TRUE(file.append(round * data.size(), data.data(), data.size(), 0).ok());
    while (contents(path).size() < (round + 1) * data.size()) usleep(1000);
    usleep(1'300'000);
  }
  ASSERT_TRUE(file.closing().release().ok());
  EXPECT_EQ(contents(path), std::vector<std::byte>(2 * data.size(), std::byte{1}));
}

// Each open is the first or not, and each release the last or not, as it happens.
TEST(NodeFile, ThreadsOpenOneFileAndCloseIt) {
  constexpr uint32_t kRanks = 2, kThreads = 3, kTimes = 300;
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  std::vector<std::unique_ptr<Job>> jobs;
  for (uint32_t rank = 0; rank < kRanks; rank++) jobs.push_back(join(scratch, rank, kRanks, 1 << 20, true));
  const auto run = [&](Job& job, uint32_t place) {
    Job::OpenOptions options;
    options.path = path;
    for (uint32_t i = 0; i < kTimes; i++) {
      auto file = job.open(options);
      ASSERT_TRUE(file.ok()) << file.status().message();
      const uint32_t value = place * kTimes + i + 1;
      uint32_t back = 0;
      uint64_t got = 0;
      const uint64_t at = (value - 1) * sizeof value;
      ASSERT_TRUE((*file)->append(at, reinterpret_cast<const std::byte*>(&value), sizeof value, 0).ok());
      ASSERT_TRUE((*file)->read(at, reinterpret_cast<std::byte*>(&back), sizeof back, &got).ok());
      EXPECT_EQ(back, value);
      ASSERT_TRUE((*file)->closing().release().ok());
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kRanks * kThreads; i++) threads.emplace_back(run, std::ref(*jobs[i % kRanks]), i);
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::byte> bytes = contents(path);
  ASSERT_EQ(bytes.size(), kRanks * kThreads * kTimes * sizeof(uint32_t));
  for (uint32_t i = 0; i < kRanks * kThreads * kTimes; i++) {
    uint32_t value = 0;
    std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
    EXPECT_EQ(value, i + 1);
  }
}

}  // namespace
}  // namespace pmio
