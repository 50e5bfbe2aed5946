// Several nodes in one process: small reads with gaps, which the ranks of a node do for each other, among
// writes of all kinds.
#include "span/shared_reads.h"

#include "nodes_fixture.h"
#include "span/spanning.h"

namespace pmio::test {
namespace {

constexpr uint64_t kFileBytes = 3 << 20;
constexpr uint64_t kElsewhere = kFileBytes / 2;  // from there on the first node has nothing in a log

class SharedReadsOfNodes : public ClusterTest {
 protected:
  // From a place on, `pieces` of them with gaps.
  void expect_pieces(uint32_t rank, uint64_t offset, int pieces, uint64_t most_skipped) {
    for (int i = 0; i < pieces; i++) {
      std::vector<std::byte> found(1 + random_() % 2000);
      uint64_t got = 0;
      const Status status = members_[rank].file->read(offset, found.data(), found.size(), &got);
      ASSERT_TRUE(status.ok()) << status.message();
      const uint64_t end = std::min<uint64_t>(oracle_.bytes.size(), offset + found.size());
      const uint64_t wanted = end - std::min(end, offset);
      ASSERT_EQ(got, wanted) << "rank " << rank << " at " << offset;
      ASSERT_TRUE(std::equal(found.begin(), found.begin() + static_cast<int64_t>(got),
                             oracle_.bytes.begin() + static_cast<int64_t>(std::min(end, offset))))
          << "rank " << rank << " at " << offset;
      offset += found.size() + 1 + random_() % most_skipped;
    }
  }
  // Every rank of a node in turn, so that each is served by what another one has read.
  void expect_pieces_of_node(uint32_t node) {
    const uint64_t offset = random_() % kFileBytes;
    for (int turn = 0; turn < 4; turn++)
      for (const uint32_t rank : ranks_of(node))
        expect_pieces(rank, offset + static_cast<uint64_t>(turn) * 100'000, 8, 8000);
  }
  // The same, while somebody writes where they are going to read: all go forward all the time.
  void expect_pieces_among_writes(uint32_t node) {
    const uint64_t offset = random_() % (kFileBytes - 600'000);
    for (uint64_t turn = 0; turn < 6; turn++) {
      for (const uint32_t rank : ranks_of(node)) {
        expect_pieces(rank, offset + turn * 50'000, 8, 3000);
        const auto data = random_bytes(random_, 1 + random_() % 20'000);
        const uint64_t at = offset + turn * 50'000 + random_() % 80'000;
        ASSERT_TRUE(write_independent(static_cast<uint32_t>(random_() % kRanks), at, data).ok());
        oracle_.write(at, data.data(), data.size());
        if (random_() % 16 != 0) continue;
        ASSERT_TRUE(drain(static_cast<uint32_t>(random_() % kRanks)).ok());
      }
    }
  }
  bool shares(uint32_t rank) const {
    const uint64_t made = members_[rank].file->parts().shared.control->shared_reads;
    return made != 0 && made != kNoSharedReads;
  }
  // By a program of no job, on that node.
  void write_from_outside(int node, uint64_t offset, const std::vector<std::byte>& data) {
    ClientCaches::opening = node;
    auto file = TargetFile::open(path_, TargetFile::Access::read_write);
    ClientCaches::opening = ClientCaches::kNone;
    ASSERT_TRUE(file.ok() && (*file)->write(offset, data.data(), data.size()).ok());
    oracle_.write(offset, data.data(), data.size());
  }
  void write_whole(uint64_t call) {
    for (uint32_t rank = 0; rank < kRanks; rank++) {
      const auto data = random_bytes(random_, kFileBytes / kRanks);
      File& file = *members_[rank].file;
      Spanning::of(file).begin_call();
      ASSERT_TRUE(file.append(rank * data.size(), data.data(), data.size(),
                              CallNumber(0, static_cast<uint32_t>(call), false))
                      .ok());
      Spanning::of(file).end_call();
      oracle_.write(rank * data.size(), data.data(), data.size());
    }
  }
};

TEST_F(SharedReadsOfNodes, AmongWritesOfAllKinds) {
  uint64_t call = 0;
  write_whole(++call);
  for (int round = 0; round < 80; round++) {
    switch (random_() % 5) {
      case 0:
        write_all(++call, kFileBytes);
        break;
      case 1:
      case 2:
        write_alone(static_cast<uint32_t>(random_() % kRanks), kFileBytes);
        break;
      case 3:
        ASSERT_TRUE(drain(static_cast<uint32_t>(random_() % kRanks)).ok());
        break;
      default:
        break;
    }
    expect_pieces_of_node(static_cast<uint32_t>(random_() % kNodes));
    expect_pieces_among_writes(static_cast<uint32_t>(random_() % kNodes));
    if (HasFatalFailure()) return;
  }
  for (uint32_t node = 0; node < kNodes; node++) EXPECT_TRUE(shares(node * kRanksOfNode));
  drain_all();
  expect_file();
}

// Writes that go past the log, of a rank of the same node and of others.
TEST_F(SharedReadsOfNodes, AmongWritesPastTheLog) {
  write_whole(1);
  drain_all();
  for (Member& member : members_) {  // what follows such a call goes past the log
    Spanning::of(*member.file).begin_call(false);
    Spanning::of(*member.file).end_call();
  }
  for (int round = 0; round < 60; round++) {
    write_alone(static_cast<uint32_t>(random_() % kRanks), kFileBytes);
    expect_pieces_of_node(0);
    expect_pieces_among_writes(0);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(shares(0));
}

TEST_F(SharedReadsOfNodes, AfterASyncWhatOthersHaveWritten) {
  write_whole(1);
  drain_all();
  for (int round = 0; round < 10; round++) {
    for (const uint32_t rank : ranks_of(0)) expect_pieces(rank, kElsewhere, 20, 8000);
    write_from_outside(1, kElsewhere, random_bytes(random_, 300'000));
    for (Member& member : members_) ASSERT_TRUE(member.file->sync().ok());
    // Begins where the others have ended, so that it goes forward all the time.
    expect_pieces(1, kElsewhere + 200'000, 8, 8000);
    expect_pieces(0, kElsewhere + 150'000, 8, 8000);
    if (HasFatalFailure()) return;
  }
}

TEST_F(SharedReadsOfNodes, AgainWhatOthersHaveWritten) {
  write_whole(1);
  drain_all();
  for (int round = 0; round < 10; round++) {
    for (const uint32_t rank : ranks_of(0)) expect_pieces(rank, kElsewhere, 20, 8000);
    write_from_outside(2, kElsewhere, random_bytes(random_, 300'000));
    for (const uint32_t rank : ranks_of(0)) expect_pieces(rank, kElsewhere, 20, 8000);
    if (HasFatalFailure()) return;
  }
}

// Which has said so before it wrote: of that node all ranks see it at once.
TEST_F(SharedReadsOfNodes, WhatAHandleThatIsHandedOnHasWritten) {
  write_whole(1);
  drain_all();
  for (int round = 0; round < 10; round++) {
    File& file = *members_[1].file;
    ASSERT_TRUE(file.drain(DrainScope::for_library_write).ok());
    file.changes().forget_cache();
    expect_pieces(0, kElsewhere, 20, 8000);
    write_from_outside(0, kElsewhere, random_bytes(random_, 600'000));
    expect_pieces(1, kElsewhere + 100'000, 20, 8000);
    if (HasFatalFailure()) return;
  }
}

TEST_F(SharedReadsOfNodes, AfterACutTheEndIsWhereItIs) {
  write_whole(1);
  drain_all();
  for (const uint32_t rank : ranks_of(0)) expect_pieces(rank, kFileBytes - 500'000, 60, 8000);
  cut(3, kFileBytes - 250'000);
  oracle_.bytes.resize(kFileBytes - 250'000);
  for (const uint32_t rank : ranks_of(0)) expect_pieces(rank, kFileBytes - 500'000, 60, 8000);
}

// By one more handle, so that the file stays.
TEST_F(SharedReadsOfNodes, AfterAnOpenWhatOthersHaveWritten) {
  write_whole(1);
  drain_all();
  for (const uint32_t rank : ranks_of(0)) expect_pieces(rank, kElsewhere, 20, 8000);
  write_from_outside(1, kElsewhere, random_bytes(random_, 600'000));
  std::vector<std::shared_ptr<File>> second;
  for (Member& member : members_) second.push_back(opened(member, path_, kNumber));
  for (const uint32_t rank : ranks_of(0)) expect_pieces(rank, kElsewhere + 200'000, 20, 8000);
}

TEST_F(SharedReadsOfNodes, NothingIsLeftOfThem) {
  write_whole(1);
  drain_all();
  for (const uint32_t rank : ranks_of(0)) expect_pieces(rank, kElsewhere, 20, 8000);
  ASSERT_TRUE(shares(0));
  auto names = members_[0].job->medium().list();
  ASSERT_TRUE(names.ok());
  const auto is_of_reads = [](const std::string& name) { return name.starts_with("reads-"); };
  EXPECT_EQ(std::count_if(names->begin(), names->end(), is_of_reads), 1);
  for (Member& member : members_) {
    ASSERT_TRUE(member.file->closing().release().ok());
    member.file.reset();
  }
  auto left = members_[0].job->medium().list();
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(std::count_if(left->begin(), left->end(), is_of_reads), 0);
}

}  // namespace
}  // namespace pmio::test
