// Collective buffering over calls: what aggregators keep in their logs, until their stripes are full or the
// file is drained.
#include "node/log_store.h"

#include "support/fake_collective.h"
#include "support/node_fixture.h"
#include "twophase/two_phase.h"

namespace pmio {
namespace {

constexpr uint32_t kRanks = 4;
constexpr uint64_t kStripe = 64 << 10;

class LogStoreTest : public testing::Test {
 protected:
  LogStoreTest() {
    std::ofstream(path_).flush();
    ranks_ = open_all(scratch_, path_, kRanks, 32 << 20, false, nullptr, {kStripe, kStripe});
  }
  ~LogStoreTest() override { close_all(ranks_); }

  // Each rank writes a record of so many bytes in each of the calls, one behind the other.
  void write_records(uint64_t bytes, uint32_t calls) {
    test::FakeNetwork network(std::vector<uint32_t>(kRanks, 0));
    network.run([&](Collective& collective) {
      const uint32_t rank = collective.members().rank;
      TwoPhaseOptions options;
      options.writes = options.reads = Buffering::enable;
      options.stripe_bytes = kStripe;
      options.aggregators = {1, 2};
      options = in_force(options, collective.members());
      LogStore store(*ranks_[rank].file, options.layout);
      auto two_phase = TwoPhase::make(collective, store, options);
      for (uint32_t call = 0; call < calls; ++call) {
        store.begin_call(CallNumber(call + 1));
        std::vector<std::byte> record = record_of(call * kRanks + rank, bytes);
        const Pattern pattern = Pattern::bytes(bytes);
        const TwoPhaseRequest request{
            &pattern, static_cast<int64_t>((call * kRanks + rank) * bytes), 0, &pattern, record.data(),
            bytes};
        EXPECT_TRUE(two_phase->write(request).ok());
        // What all have written in this call, by another way.
        const uint64_t next = call * kRanks + (rank + 1) % kRanks;
        std::vector<std::byte> read(bytes);
        uint64_t got = 0;
        EXPECT_TRUE(ranks_[rank].file->read(next * bytes, read.data(), bytes, &got).ok());
        EXPECT_EQ(got, bytes);
        EXPECT_EQ(read, record_of(next, bytes));
        std::vector<std::byte> together(bytes);
        const TwoPhaseRequest question{
            &pattern, static_cast<int64_t>(next * bytes), 0, &pattern, together.data(), bytes};
        EXPECT_TRUE(two_phase->read(question, &got).ok());
        EXPECT_EQ(together, read);
      }
    });
    for (uint64_t number = 0; number < calls * kRanks; ++number)
      expected_.write(number * bytes, record_of(number, bytes).data(), bytes);
  }
  static std::vector<std::byte> record_of(uint64_t number, uint64_t bytes) {
    std::mt19937_64 random(number);
    return random_bytes(random, bytes);
  }
  uint64_t bytes_in_file() const { return std::filesystem::file_size(path_); }
  uint64_t writes() const {
    uint64_t sum = 0;
    for (const Rank& rank : ranks_)
      for (const auto& count : rank.file->target().counters().writes) sum += count.load();
    return sum;
  }

  const Scratch scratch_;
  const std::string path_ = scratch_.files_ + "/file";
  std::vector<Rank> ranks_;
  Oracle expected_;
};

TEST_F(LogStoreTest, HoldsBackWhatFillsNoStripe) {
  write_records(10'000, 50);
  EXPECT_EQ(bytes_in_file(), 0u);
  EXPECT_EQ(writes(), 0u);
  for (Rank& rank : ranks_) {
    const Result<uint64_t> size = rank.file->size_bytes();
    ASSERT_TRUE(size.ok());
    EXPECT_EQ(size.value(), 2'000'000u);
  }
  ASSERT_TRUE(ranks_[3].file->drain().ok());
  EXPECT_EQ(contents(path_), expected_.bytes);
  EXPECT_LE(writes(), 2'000'000 / kStripe + 1);
}

TEST_F(LogStoreTest, AFullStripeIsInTheFileAtOnce) {
  write_records(100'000, 1);
  EXPECT_EQ(bytes_in_file(), 400'000 / kStripe * kStripe);
  ASSERT_TRUE(ranks_[0].file->drain().ok());
  EXPECT_EQ(contents(path_), expected_.bytes);
}

// Else it would be overwritten by the older bytes when these are drained.
TEST_F(LogStoreTest, AFullStripeOfWhichALogHoldsOlderBytesIsNot) {
  const std::vector<std::byte> older(100, std::byte{7});
  ASSERT_TRUE(ranks_[0].file->append(kStripe + 5, older.data(), older.size(), CallNumber()).ok());
  write_records(100'000, 1);
  ASSERT_TRUE(ranks_[2].file->drain().ok());
  EXPECT_EQ(contents(path_), expected_.bytes);
}

TEST_F(LogStoreTest, TheLastWriterWins) {
  write_records(3000, 20);
  const std::vector<std::byte> later(5000, std::byte{9});
  ASSERT_TRUE(ranks_[3].file->append(1000, later.data(), later.size(), CallNumber()).ok());
  ASSERT_TRUE(ranks_[0].file->drain().ok());
  expected_.write(1000, later.data(), later.size());
  EXPECT_EQ(contents(path_), expected_.bytes);
}

}  // namespace
}  // namespace pmio
