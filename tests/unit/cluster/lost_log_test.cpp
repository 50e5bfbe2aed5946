// One of several nodes, in one process, loses its log directory.
#include "nodes_fixture.h"
#include "span/spanning.h"
#include "support/busy_directory.h"

namespace pmio::test {
namespace {

class LostLogOfANode : public ClusterTest {
 protected:
  LostLogOfANode() { background_ = true; }
  void remove_log(uint32_t node) { remove_busy_directory(members_[node * kRanksOfNode].job->directory()); }
  // No two ranks write the same bytes in one call: whose stay would be open.
  void write_apart(uint64_t calls) {
    constexpr uint64_t kPlace = 20'000, kBytes = 5000;
    for (uint64_t last = call_ + calls; call_ < last;) {
      call_++;
      for (uint32_t rank = 0; rank < kRanks; rank++) {
        const uint64_t at = (call_ + rank) % kRanks * kPlace + random_() % (kPlace - kBytes);
        const auto data = random_bytes(random_, kBytes);
        File& file = *members_[rank].file;
        Spanning::of(file).begin_call();
        const Status status =
            file.append(at, data.data(), kBytes, CallNumber(0, static_cast<uint32_t>(call_), false));
        Spanning::of(file).end_call();
        ASSERT_TRUE(status.ok()) << status.message();
        oracle_.write(at, data.data(), kBytes);
      }
    }
  }
  uint64_t call_ = 0;
};

TEST_F(LostLogOfANode, WhatItsRanksHadLoggedComesIntoTheFile) {
  write_apart(20);
  write_alone(3, 100'000);
  remove_log(1);
  drain_all();
  expect_file();
  write_apart(20);
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  write_alone(2, 100'000);
  drain_all();
  expect_file();
}

}  // namespace
}  // namespace pmio::test
