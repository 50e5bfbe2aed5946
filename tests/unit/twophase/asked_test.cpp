// Buffering::asked: which calls are exchanged. What is written is the same in any case.
#include <atomic>

#include "support/bytes.h"
#include "twophase/job.h"

namespace pmio::test {
namespace {

constexpr uint32_t kAskedRanks = 3;
constexpr uint64_t kAskedPiece = 1000;

struct Given {
  std::vector<bool> asks;          // each rank
  std::vector<uint64_t> pieces;    // that it gives
  uint64_t between = kAskedRanks;  // pieces from one of a rank's to its next
};

Part part_of(const Given& given, uint32_t rank) {
  Part part;
  part.view.add({static_cast<int64_t>(rank * kAskedPiece), kAskedPiece});
  part.view.finish(static_cast<int64_t>(given.between * kAskedPiece));
  part.bytes = given.pieces[rank] * kAskedPiece;
  part.buffer.assign(part.bytes, static_cast<std::byte>(rank + 1));
  return part;
}

// Whether the call is exchanged, as each rank says.
bool is_exchanged(const Given& given) {
  TwoPhaseOptions options;
  options.writes = Buffering::asked;
  Job job(std::vector<uint32_t>(kAskedRanks, 0), options);
  job.start({});
  std::vector<Part> parts;
  for (uint32_t rank = 0; rank < kAskedRanks; ++rank) job.expect(parts.emplace_back(part_of(given, rank)));
  std::atomic<uint64_t> exchanged{0}, alone{0};
  job.run([&](TwoPhase& two_phase, uint32_t rank) {
    TwoPhaseRequest request = parts[rank].request();
    request.asks = given.asks[rank];
    EXPECT_TRUE(two_phase.write(request).ok());
    exchanged += two_phase.counters().exchanged_calls;
    alone += two_phase.counters().independent_calls;
  });
  EXPECT_TRUE(same(contents(job.path()), job.expected()));
  EXPECT_EQ(exchanged + alone, kAskedRanks);
  EXPECT_EQ(exchanged % kAskedRanks, 0u) << "all ranks decide alike";
  return exchanged == kAskedRanks;
}

TEST(Asked, IsExchangedIfRanksWithHalfOfTheBytesAsk) {
  EXPECT_TRUE(is_exchanged({{true, true, true}, {100, 100, 100}}));
  EXPECT_TRUE(is_exchanged({{true, true, false}, {100, 100, 100}}));
  EXPECT_FALSE(is_exchanged({{true, false, false}, {100, 100, 100}}));
  EXPECT_FALSE(is_exchanged({{false, false, false}, {100, 100, 100}}));
}

TEST(Asked, IsNotExchangedIfRanksGiveLittle) {
  EXPECT_TRUE(is_exchanged({{true, true, true}, {33, 33, 33}}));
  EXPECT_FALSE(is_exchanged({{true, true, true}, {32, 32, 32}}));
}

TEST(Asked, IsNotExchangedIfMuchOfWhatIsAccessedIsNotWanted) {
  EXPECT_TRUE(is_exchanged({{true, true, true}, {100, 100, 100}, 4}));
  EXPECT_FALSE(is_exchanged({{true, true, true}, {100, 100, 100}, 5}));
}

}  // namespace
}  // namespace pmio::test
