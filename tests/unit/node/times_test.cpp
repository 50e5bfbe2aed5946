// What the statistics say of a file's appends and reads, against a clock around the calls.
#include "base/clock.h"
#include "support/node_fixture.h"

namespace pmio {
namespace {

class NodeTimes : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(path_).flush(); }
  // Returns the time that a clock around them tells.
  uint64_t append(File& file, uint64_t calls, uint64_t bytes) {
    const std::vector<std::byte> data(bytes, std::byte{1});
    uint64_t took = 0;
    for (uint64_t i = 0; i < calls; i++) {
      const uint64_t begin = monotonic_ns();
      EXPECT_TRUE(file.append(i * bytes, data.data(), bytes, 0).ok());
      took += monotonic_ns() - begin;
    }
    return took;
  }
  Scratch scratch_;
  const std::string path_ = scratch_.files_ + "/data";
};

TEST_F(NodeTimes, WaitingForRoomIsToldAndIsPartOfTheTime) {
  auto all = open_all(scratch_, path_, 1, 1 << 20);
  const uint64_t took = append(*all[0].file, 100, 200'000);
  ASSERT_TRUE(all[0].file->closing().release().ok());
  all[0].file.reset();
  const Counters& told = all[0].job->counters();
  EXPECT_GT(told.append_wait_ns.load(), 0u);
  EXPECT_LE(told.append_wait_ns.load(), told.append_ns.load());
  EXPECT_LE(told.append_ns.load(), took);
  EXPECT_GE(told.append_ns.load(), took / 2);
  EXPECT_GT(told.log_peak_bytes.load(), told.log_capacity_bytes.load() / 2);
  EXPECT_LE(told.log_peak_bytes.load(), told.log_capacity_bytes.load());
}

TEST_F(NodeTimes, TheFirstCallsAreNotMultiplied) {
  auto all = open_all(scratch_, path_, 1, 64 << 20);
  const uint64_t took = append(*all[0].file, 10, 100);
  ASSERT_TRUE(all[0].file->closing().release().ok());
  all[0].file.reset();
  const Counters& told = all[0].job->counters();
  EXPECT_LE(told.append_ns.load(), took);
  EXPECT_EQ(told.append_timed_calls.load(), 10u);
  EXPECT_EQ(told.append_wait_ns.load(), 0u);
}

TEST_F(NodeTimes, ReadsFromTheFileAreMeasured) {
  std::ofstream(path_) << std::string(1 << 20, 'x');
  auto all = open_all(scratch_, path_, 1, 64 << 20);
  append(*all[0].file, 1, 10);
  std::vector<std::byte> data(1000);
  uint64_t took = 0;
  for (uint64_t i = 0; i < 200; i++) {
    uint64_t got = 0;
    const uint64_t begin = monotonic_ns();
    ASSERT_TRUE(all[0].file->read(1000 + i * 1000, data.data(), data.size(), &got).ok());
    took += monotonic_ns() - begin;
  }
  ASSERT_TRUE(all[0].file->closing().release().ok());
  all[0].file.reset();
  const Counters& told = all[0].job->counters();
  EXPECT_EQ(told.read_timed_calls.load(), 200u);
  EXPECT_LE(told.read_ns.load(), took);
}

}  // namespace
}  // namespace pmio
