// The size of a file that is cut while other ranks log to it: that of the target, or the end of what is still
// to be drained.
#include <sys/syscall.h>

#include <thread>

#include "support/node_fixture.h"
#include "support/system_calls.h"

namespace {

std::atomic<bool> hold_next_write{false}, write_is_held{false}, may_go_on{false};

// How the target is written. What is held has been written.
ssize_t write_and_hold(int fd, const void* data, size_t length, off_t offset) {
  const ssize_t result = syscall(SYS_pwrite64, fd, data, length, offset);
  if (hold_next_write.exchange(false)) {
    write_is_held = true;
    while (!may_go_on) usleep(1000);
  }
  return result;
}

}  // namespace

namespace pmio {
namespace {

struct NodeSize : testing::Test {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::vector<Rank> ranks;

  void SetUp() override {
    std::ofstream(path).flush();
    ranks = open_all(scratch, path, 3, 16 << 20);
  }
  void TearDown() override { close_all(ranks); }

  void write_to(uint32_t rank, uint64_t end) {
    const std::vector<std::byte> data(10, std::byte{'x'});
    ASSERT_TRUE(ranks[rank].file->append(end - data.size(), data.data(), data.size(), {}).ok());
  }
  void drain() { ASSERT_TRUE(ranks[0].file->drain().ok()); }
  void cut(uint64_t size) { ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(size)), 0); }
  // As the ranks that share a handle do.
  void note_cut(std::initializer_list<uint32_t> callers) {
    for (const uint32_t rank : callers) {
      ranks[rank].file->changes().truncated();
      ranks[rank].file->changes().invalidate_cache();
    }
  }
  void cut_after_drain(uint64_t size, uint32_t rank = 0) {
    cut(size);
    note_cut({rank});
  }
  void expect_size(uint64_t size) {
    for (const Rank& rank : ranks) {
      const Result<uint64_t> found = rank.file->size_bytes();
      ASSERT_TRUE(found.ok());
      EXPECT_EQ(found.value(), size);
    }
  }
  // Nothing of the log changes what the file is.
  void expect_size_and_file(uint64_t size) {
    expect_size(size);
    drain();
    expect_size(size);
    EXPECT_EQ(contents(path).size(), size);
  }
};

TEST_F(NodeSize, WhatWasCutOffDoesNotCountBecauseOfALowerWriteThatIsStillToCome) {
  write_to(1, 1000);
  drain();
  write_to(1, 10);
  cut_after_drain(50);
  expect_size(50);
  write_to(1, 20);
  expect_size(50);
  write_to(1, 60);
  expect_size_and_file(60);
}

TEST_F(NodeSize, WhatIsStillToComeCounts) {
  write_to(1, 1000);
  drain();
  write_to(1, 200);
  write_to(1, 10);
  cut_after_drain(50);
  expect_size(200);
  write_to(1, 20);  // the rank hears of it only now
  expect_size(200);
  write_to(1, 30);
  expect_size_and_file(200);
}

TEST_F(NodeSize, WhatIsDrainedAfterTheCutIsInTheFile) {
  write_to(1, 300);
  drain();
  write_to(1, 200);
  cut_after_drain(50);
  drain();
  expect_size(200);
  write_to(1, 10);
  expect_size_and_file(200);
}

TEST_F(NodeSize, IsCutMoreThanOnce) {
  write_to(1, 1000);
  write_to(2, 2000);
  drain();
  write_to(1, 10);
  cut_after_drain(500, 0);
  write_to(2, 700);
  cut_after_drain(100, 2);
  expect_size(700);
  write_to(1, 20);
  drain();
  expect_size(700);
  cut_after_drain(30, 1);
  expect_size(30);
  write_to(1, 40);
  write_to(2, 20);
  expect_size_and_file(40);
}

TEST_F(NodeSize, ReadsEndWhereItWasCut) {
  write_to(1, 1000);
  drain();
  write_to(1, 60);
  cut_after_drain(50);
  for (int turn = 0; turn < 2; turn++) {
    std::vector<std::byte> data(1000);
    uint64_t got = 0;
    ASSERT_TRUE(ranks[2].file->read(20, data.data(), 980, &got).ok());
    EXPECT_EQ(got, 40u);
    ASSERT_TRUE(ranks[2].file->read(500, data.data(), 10, &got).ok());
    EXPECT_EQ(got, 0u);
    write_to(1, 10);
  }
}

// Who is not of the job has cut it, which a sync finds out although another rank goes on.
TEST_F(NodeSize, IsThatOfAFileThatOthersHaveCut) {
  write_to(1, 1000);
  drain();
  cut(50);
  write_to(1, 10);
  ranks[0].file->reach().synced();
  expect_size(50);
  write_to(1, 70);
  ranks[0].file->reach().synced();  // as long as it is: the rest is to come
  expect_size_and_file(70);
}

// A drain that has written, and does not count that yet: it is cut off, and does not count afterwards.
TEST_F(NodeSize, WhatADrainHasWrittenIsNotStillToCome) {
  write_to(1, 1000);
  const test::StandIn writes({.pwrite = write_and_hold});
  write_is_held = may_go_on = false;
  hold_next_write = true;
  std::thread drains([this] { drain(); });
  while (!write_is_held) usleep(1000);
  cut(50);
  std::atomic<bool> noted{false};
  std::thread notes([&] {
    note_cut({2});
    noted = true;
  });
  for (int polls = 0; polls < 50 && !noted; polls++) usleep(1000);
  write_to(1, 10);
  may_go_on = true;
  drains.join();
  notes.join();
  expect_size(50);
  write_to(1, 20);
  expect_size_and_file(50);
}

// In whatever order they come: nothing that is drained later changes the size.
TEST_F(NodeSize, IsWhatTheFileWillBe) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; round++) {
    write_to(1, 1000);
    std::thread writes([this, seed = random()] {
      std::mt19937_64 own(seed);
      for (uint64_t left = own() % 40; left > 0; left--) write_to(1, own() % 8 == 0 ? 990 : 20 + own() % 100);
    });
    std::thread drains([this] { drain(); });
    drain();
    cut_after_drain(50);
    writes.join();
    drains.join();
    const Result<uint64_t> size = ranks[round % 3].file->size_bytes();
    ASSERT_TRUE(size.ok());
    expect_size_and_file(size.value());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace pmio
