// Two nodes with a log directory each, as a job leaves them whose ranks wrote one file.
#pragma once

#include <array>

#include "fixture.h"
#include "log/nodes_note.h"

namespace pmio::test {

constexpr uint32_t kRanks = 4;
constexpr uint64_t kJob = 0x5eed0000;

struct Written {
  uint32_t rank;
  uint64_t call;
  Vector where;
  Bytes data;
};

class RecoverNodes : public RecoverTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    RecoverTest::SetUp();
    // Two nodes see the file by the same path, and their logs by none of the other's.
    for (uint32_t node = 0; node < 2; node++) directories_[node] = root + "/logs" + std::to_string(node);
    random_.seed(static_cast<uint64_t>(GetParam()));
  }

  std::vector<Written> random_calls(uint64_t calls) {
    std::vector<Written> all;
    const uint64_t file_bytes = GetParam() % 2 == 0 ? 20'000 : 9'000'000;
    for (uint64_t call = 1; call <= calls; call++) {
      for (uint32_t rank = 0; rank < kRanks; rank++) {
        const Vector where = random_range(random_, file_bytes, 500, 1000);
        all.push_back({rank, call, where, random_bytes(random_, where.bytes())});
      }
    }
    return all;
  }

  // In the order of the calls; of one call the higher rank's bytes win.
  static Bytes after(const std::vector<Written>& all, uint64_t last_call) {
    Oracle oracle;
    for (const Written& one : all) {
      if (one.call <= last_call) oracle.write(one.where, one.data);
    }
    return oracle.bytes;
  }

  // finished: the cut of the last round that the node has finished.
  void crash(uint32_t node, const std::vector<Written>& all, uint64_t finished) {
    CrashedJob job(directories_[node], kJob | node, kRanks);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> drained;
    for (const Written& one : all) {
      if (one.rank / 2 != node) continue;
      job.write(one.rank, 0, target, one.where, one.data, one.call, static_cast<uint32_t>(one.call), true);
      if (one.call <= finished) drained[{one.rank, 0}]++;
    }
    job.ledger(target, drained, 0, finished);
    const NodesNote note{{node, 2, {2 * node, 2 * node + 1}, {{"first", {0, 1}}, {"second", {2, 3}}}},
                         identity(target),
                         target};
    ASSERT_TRUE(write_nodes_note(*job.medium, "nodes-" + file_key(identity(target)), note).ok());
  }

  FileOutcome recover_node(uint32_t node, RecoverOptions options = {}) {
    options.directory = directories_[node];
    auto report = recover(options);
    EXPECT_TRUE(report.ok()) << report.status().message();
    if (!report.ok() || report->jobs.empty() || report->jobs[0].files.empty()) return {};
    EXPECT_EQ(report->jobs[0].files[0].message, "");
    return report->jobs[0].files[0];
  }

  void expect_recovered(const Bytes& expected) {
    EXPECT_TRUE(same(read_file(target), expected));
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name == "data" || name.substr(0, 4) == "logs") << name;
    }
    for (const std::string& directory : directories_) {
      if (!std::filesystem::exists(directory)) continue;
      for (const auto& entry : std::filesystem::directory_iterator(directory))
        EXPECT_EQ(entry.path().filename(), kRecoverLock);
    }
  }

  std::array<std::string, 2> directories_;
  std::mt19937_64 random_;
};

}  // namespace pmio::test
