// Somebody removes the log directory, or what is in it, under a running job.
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include "support/busy_directory.h"
#include "support/node_fixture.h"
#include "support/said.h"

namespace pmio {
namespace {

constexpr uint64_t kCapacity = 1 << 20;

enum class Removed { directory, its_files };
struct How {
  Removed removed;
  bool on_disk;
};

struct LostLog : testing::TestWithParam<How> {
  Scratch scratch{GetParam().on_disk};
  const std::string path = scratch.files_ + "/file";
  SharedLoss loss{};
  test::Said said;
  std::vector<Rank> ranks;
  uint64_t capacity = kCapacity;

  LostLog() { std::ofstream(path).flush(); }

  std::unique_ptr<Job> joined(uint32_t rank, uint32_t of, bool background) {
    JobOptions options;
    options.directory = scratch.log_;
    options.id = std::hash<std::string>()(scratch.log_);
    options.rank = rank;
    options.ranks = of;
    options.capacity_bytes = capacity;
    options.index_bytes = scratch.index_bytes_;
    options.background = background;
    options.loss = &loss;
    options.say = said.listener();
    auto job = Job::join(options);
    EXPECT_TRUE(job.ok()) << job.status().message();
    return std::move(job).value();
  }

  void start(uint32_t here, bool background, uint32_t elsewhere = 0) {
    const uint32_t of = here + elsewhere;
    for (uint32_t rank = 0; rank < here; rank++) {
      Rank one;
      one.job = joined(rank, of, background);
      one.file = *one.job->open({path, false, {}});
      ranks.push_back(std::move(one));
    }
  }

  void write(uint32_t rank, uint64_t at, const std::string& text) {
    const Status status =
        ranks[rank].file->append(at, reinterpret_cast<const std::byte*>(text.data()), text.size(), 0);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  std::string read(uint32_t rank, uint64_t at, uint64_t bytes) {
    std::string text(bytes, '?');
    uint64_t got = 0;
    const Status status = ranks[rank].file->read(at, reinterpret_cast<std::byte*>(text.data()), bytes, &got);
    EXPECT_TRUE(status.ok()) << status.message();
    return text.substr(0, got);
  }

  void remove_log() {
    const std::string directory = ranks[0].job->directory();
    if (GetParam().removed == Removed::directory) return test::remove_busy_directory(directory);
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      std::filesystem::remove(entry.path());
  }

  // As ranks do, which are processes.
  void close() {
    std::vector<std::thread> threads;
    for (Rank& rank : ranks) {
      threads.emplace_back([&rank] {
        Status status = rank.file->drain();
        EXPECT_TRUE(status.ok()) << status.message();
      });
    }
    for (std::thread& thread : threads) thread.join();
    close_all(ranks);
  }

  std::string in_file() {
    const auto bytes = contents(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// A rank's first segment is smaller than the others.
TEST_P(LostLog, SegmentsOfSeveralSizesAreCopied) {
  capacity = 64 << 20;
  start(2, false);
  constexpr uint64_t kPiece = 64 << 10, kPieces = 200;
  for (uint64_t i = 0; i < kPieces; i++)
    write(1, i * kPiece, std::string(kPiece, static_cast<char>('a' + i % 26)));
  remove_log();
  std::thread owner([this] { EXPECT_TRUE(ranks[1].file->drain().ok()); });
  for (uint64_t i = 0; i < kPieces; i++)
    EXPECT_EQ(read(0, i * kPiece, kPiece), std::string(kPiece, static_cast<char>('a' + i % 26))) << i;
  owner.join();
  close();
}

TEST_P(LostLog, WhatAllRanksHadLoggedComesIntoTheFile) {
  start(3, false);
  write(0, 0, std::string(100, 'a'));
  write(1, 50, std::string(100, 'b'));
  write(0, 120, std::string(10, 'c'));
  write(2, 125, std::string(10, 'd'));
  remove_log();
  close();
  EXPECT_EQ(in_file(), std::string(50, 'a') + std::string(70, 'b') + std::string(5, 'c') +
                           std::string(10, 'd') + std::string(15, 'b'));
  const std::vector<std::string> texts = said.texts();
  ASSERT_EQ(texts.size(), 3u);  // by each process, of which one prints it
  EXPECT_EQ(std::count(texts.begin(), texts.end(), texts[0]), 3);
  EXPECT_NE(texts[0].find("was removed; what was logged is being written"), std::string::npos);
}

TEST_P(LostLog, AnotherRankReadsWhatItHasNeverMapped) {
  start(2, true);
  for (int i = 0; i < 100; i++) {
    write(0, static_cast<uint64_t>(i) * 100, std::string(100, static_cast<char>('a' + i % 20)));
    if (i == 50) remove_log();
    EXPECT_EQ(read(1, static_cast<uint64_t>(i) * 100, 100),
              std::string(100, static_cast<char>('a' + i % 20)));
  }
  close();
}

TEST_P(LostLog, ARankAloneGoesOnWithoutAThreadOfPmio) {
  start(1, false);
  const std::string block(100'000, 'x');
  for (uint64_t i = 0; i < 5; i++) write(0, i * block.size(), block);
  remove_log();
  for (uint64_t i = 5; i < 30; i++) write(0, i * block.size(), block);
  EXPECT_EQ(read(0, 0, 10), "xxxxxxxxxx");
  close();
  EXPECT_EQ(in_file(), std::string(30 * block.size(), 'x'));
}

TEST_P(LostLog, NoFurtherFileIsLogged) {
  start(1, false);
  remove_log();
  const std::string another = scratch.files_ + "/another";
  std::ofstream(another).flush();
  const auto opened = ranks[0].job->open({another, false, {}});
  EXPECT_EQ(opened.status().code(), Code::io);
  EXPECT_NE(opened.status().message().find("was removed"), std::string::npos);
  EXPECT_TRUE(ranks[0].job->has_lost_log());
  close();
}

// By a handle that is handed on, say.
TEST_P(LostLog, WhoDoesNotLogSeesWhatOthersHadLogged) {
  start(1, true, 1);
  auto other = joined(1, 2, true);
  write(0, 0, "aaaa");
  remove_log();
  const auto identity = identity_of(path);
  ASSERT_TRUE(identity.ok());
  const auto found = other->find(identity.value(), path);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found.value(), nullptr);
  EXPECT_EQ(in_file(), "aaaa");
  close();
}

TEST_P(LostLog, AnEndBringsItIn) {
  start(2, true);
  write(0, 0, "aaaa");
  write(1, 2, "bbbb");
  remove_log();
  for (const Rank& rank : ranks) rank.job->end();
  EXPECT_EQ(in_file(), "aabbbb");
  close();
}

// Of a rank that is gone nobody can give anything up any more.
TEST_P(LostLog, WhatADeadRankTookWithItIsAnError) {
  start(1, false, 1);
  const pid_t victim = fork();
  if (victim == 0) {
    auto job = joined(1, 2, false);
    auto file = *job->open({path, false, {}});
    const std::byte data[4] = {};
    _exit(file->append(0, data, sizeof data, 0).ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(victim, &status, 0), victim);
  ASSERT_EQ(status, 0);
  write(0, 10, "aaaa");
  remove_log();
  const Status drained = ranks[0].file->drain();
  EXPECT_EQ(drained.code(), Code::io);
  EXPECT_NE(drained.message().find("rank 1 is gone"), std::string::npos) << drained.message();
  EXPECT_EQ(ranks[0].file->closing().release().code(), Code::io);
  ranks.clear();
}

// Whatever is logged, merged, drained, mapped when it happens.
TEST_P(LostLog, ProgramsAtRandomGoOn) {
  const uint64_t seeds = GetParam().on_disk ? 2 : 6;
  for (uint64_t seed = 0; seed < seeds; seed++) {
    std::mt19937_64 random(seed);
    std::filesystem::resize_file(path, 0);
    start(3, true);
    Oracle oracle;
    const uint64_t calls = 400, removal = random() % calls;
    for (uint64_t i = 0; i < calls; i++) {
      if (i == removal) remove_log();
      const auto rank = static_cast<uint32_t>(random() % ranks.size());
      const uint64_t at = random() % (2 << 20), bytes = 1 + random() % (random() % 4 == 0 ? 60'000 : 500);
      if (random() % 3 != 0) {
        const auto data = random_bytes(random, bytes);
        const Status status = ranks[rank].file->append(at, data.data(), bytes, 0);
        ASSERT_TRUE(status.ok()) << status.message();
        oracle.write(at, data.data(), bytes);
        continue;
      }
      std::vector<std::byte> got(bytes);
      uint64_t n = 0;
      const Status status = ranks[rank].file->read(at, got.data(), bytes, &n);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(n, at >= oracle.bytes.size() ? 0 : std::min<uint64_t>(bytes, oracle.bytes.size() - at));
      ASSERT_TRUE(n == 0 || std::memcmp(got.data(), oracle.bytes.data() + at, n) == 0)
          << "seed " << seed << ", call " << i;
    }
    close();
    ASSERT_TRUE(same(contents(path), oracle.bytes)) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Directories, LostLog,
                         testing::Values(How{Removed::directory, false}, How{Removed::its_files, false},
                                         How{Removed::directory, true}));

}  // namespace
}  // namespace pmio
