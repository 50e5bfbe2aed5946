// Ranks that were told different stripes of one file, as by opens of their own with other hints.
#include <thread>

#include "node/file_parts.h"
#include "support/node_fixture.h"

namespace pmio {
namespace {

constexpr uint64_t kStripe = 64 << 10;

std::vector<Rank> open_with(const Scratch& scratch, const std::string& path,
                            std::span<const LayoutHints> hints) {
  std::vector<Rank> all;
  for (uint32_t rank = 0; rank < hints.size(); rank++) {
    Rank one;
    one.job = join(scratch, rank, static_cast<uint32_t>(hints.size()), 64 << 20, false);
    auto file = one.job->open({path, false, hints[rank]});
    EXPECT_TRUE(file.ok()) << file.status().message();
    one.file = *file;
    all.push_back(std::move(one));
  }
  return all;
}

TEST(NodeLayout, AllRanksTakeTheStripesOfTheFirst) {
  const Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  const LayoutHints hints[] = {{kStripe, 3}, {}, {2 * kStripe, 5}};
  auto all = open_with(scratch, path, hints);
  for (const Rank& rank : all) {
    EXPECT_EQ(rank.file->parts().shared.layout.stripe_bytes, kStripe);
    EXPECT_EQ(rank.file->parts().shared.layout.servers, 3u);
  }
  close_all(all);
}

// With stripes of their own, who helps in a round would pass over what its leader counts on.
TEST(NodeLayout, RanksThatWereToldDifferentStripesDrainEveryByte) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 5; round++) {
    const Scratch scratch;
    const std::string path = scratch.files_ + "/data";
    std::ofstream(path).flush();
    const LayoutHints hints[] = {{kStripe, 4}, {}};
    auto all = open_with(scratch, path, hints);
    const auto data = random_bytes(random, 8 << 20);
    constexpr uint64_t kRecord = 4000;
    for (uint64_t at = 0, i = 0; at < data.size(); at += kRecord, i++) {
      const uint64_t n = std::min<uint64_t>(kRecord, data.size() - at);
      ASSERT_TRUE(all[i % 2].file->append(at, data.data() + at, n, 0).ok());
    }
    std::thread other([&] { EXPECT_TRUE(all[1].file->drain().ok()); });
    EXPECT_TRUE(all[0].file->drain().ok());
    other.join();
    close_all(all);
    ASSERT_TRUE(same(contents(path), data)) << "in round " << round;
  }
}

}  // namespace
}  // namespace pmio
