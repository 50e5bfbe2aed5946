// What has been written past the log and is not synced yet.
#include "node/writes_to_sync.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "support/node_fixture.h"

namespace pmio::test {
namespace {

class WritesToSyncTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = files_.files_ + "/target";
    std::ofstream(path).flush();
    auto target = TargetFile::open(path, TargetFile::Access::read_write);
    ASSERT_TRUE(target.ok());
    target_ = std::move(target).value();
    memory_ = std::make_unique<std::byte[]>(sizeof(WritesToSync));
    writes_ = reinterpret_cast<WritesToSync*>(memory_.get());
    writes_->init();
  }
  Status write(std::span<const Vector> ranges) {
    writes_->begin_write();
    return writes_->end_write(ranges, *target_);
  }
  Status write(int64_t offset, uint64_t bytes) {
    const Vector range{offset, bytes, 0, 1};
    return write({&range, 1});
  }
  bool holds(int64_t offset, uint64_t bytes) {
    const Vector range{offset, bytes, 0, 1};
    return writes_->holds({&range, 1});
  }

  Scratch files_;
  std::unique_ptr<TargetFile> target_;
  std::unique_ptr<std::byte[]> memory_;
  WritesToSync* writes_ = nullptr;
};

TEST_F(WritesToSyncTest, HoldsWhatWasWrittenUntilItIsSynced) {
  EXPECT_FALSE(holds(0, 1000));
  EXPECT_FALSE(writes_->writing());
  writes_->begin_write();
  EXPECT_TRUE(writes_->writing());
  const Vector strided{100, 10, 20, 5};
  ASSERT_TRUE(writes_->end_write({&strided, 1}, *target_).ok());
  EXPECT_FALSE(writes_->writing());
  EXPECT_TRUE(holds(105, 1));
  EXPECT_FALSE(holds(110, 10)) << "between two blocks";
  EXPECT_FALSE(holds(190, 1000));
  ASSERT_TRUE(writes_->sync(*target_).ok());
  EXPECT_FALSE(holds(0, 1000));
}

TEST_F(WritesToSyncTest, OfManyRangesTheSpan) {
  std::vector<Vector> ranges;
  for (int64_t i = 0; i < 100; i++) ranges.push_back({1000 + i * i, 1, 0, 1});
  ASSERT_TRUE(write(ranges).ok());
  EXPECT_TRUE(holds(1002, 1));
  EXPECT_FALSE(holds(0, 1000));
  EXPECT_FALSE(holds(1000 + 99 * 99 + 1, 1000));
}

TEST_F(WritesToSyncTest, SyncsWhereThereIsNoRoom) {
  for (int64_t i = 0; i < WritesToSync::kMostRanges; i++) ASSERT_TRUE(write(2 * i, 1).ok());
  EXPECT_TRUE(holds(0, 1));
  ASSERT_TRUE(write(1 << 20, 1).ok());
  EXPECT_FALSE(holds(0, 2 * WritesToSync::kMostRanges));
  EXPECT_TRUE(holds(1 << 20, 1));
}

TEST_F(WritesToSyncTest, AFailureIsForEver) {
  ASSERT_TRUE(write(0, 8).ok());
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const int kept = dup(target_->fd());
  ASSERT_EQ(dup2(pipe_ends[1], target_->fd()), target_->fd());  // which cannot be synced
  EXPECT_EQ(writes_->sync(*target_).system_errno(), EINVAL);
  ASSERT_EQ(dup2(kept, target_->fd()), target_->fd());
  EXPECT_EQ(writes_->sync(*target_).system_errno(), EINVAL);
  for (const int fd : {kept, pipe_ends[0], pipe_ends[1]}) close(fd);
}

// Another node may have been told what an earlier one had synced, of the same file.
TEST_F(WritesToSyncTest, CountsOnFromEarlierOnes) {
  EXPECT_EQ(writes_->synced(), 0u);
  ASSERT_TRUE(write(0, 10).ok());
  EXPECT_EQ(writes_->synced(), 0u);
  ASSERT_TRUE(writes_->sync(*target_).ok());
  const uint64_t earlier = writes_->synced();
  EXPECT_GT(earlier, 0u);

  std::memset(memory_.get(), 0, sizeof(WritesToSync));
  writes_->init();
  EXPECT_EQ(writes_->synced(), 0u);
  ASSERT_TRUE(write(0, 10).ok());
  ASSERT_TRUE(writes_->sync(*target_).ok());
  EXPECT_GT(writes_->synced(), earlier);
}

// Nothing that a thread has written is left behind its own sync, whatever the others do meanwhile.
TEST_F(WritesToSyncTest, SyncsOfSeveralAtOnce) {
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; t++) {
    threads.emplace_back([this, t] {
      for (int64_t i = 0; i < 500; i++) {
        const int64_t at = (t * 500 + i) * 10;
        EXPECT_TRUE(write(at, 10).ok());
        if (i % 3 != 0) continue;
        EXPECT_TRUE(writes_->sync(*target_).ok());
        EXPECT_FALSE(holds(at, 10));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(writes_->sync(*target_).ok());
  EXPECT_FALSE(holds(0, 1 << 20));
}

}  // namespace
}  // namespace pmio::test
