// Several nodes in one process: independent writes, in the log and past it.
#include <cerrno>
#include <future>

#include "nodes_fixture.h"
#include "span/spanning.h"
#include "support/failing_sync.h"

namespace pmio::test {
namespace {

TEST_F(ClusterTest, AnIndependentWriteComesAfterWhatItOverlaps) {
  write_all(1, 10'000);
  const std::vector<std::byte> data(7000, std::byte{0x5a});
  const Status status = write_independent(3, 1000, data);
  ASSERT_TRUE(status.ok()) << status.message();
  oracle_.write(1000, data.data(), data.size());
  for (const uint32_t rank : {0u, 2u, 5u}) expect_read(rank);
  write_all(2, 10'000);
  ASSERT_TRUE(drain(0).ok());
  expect_file();
}

// What is logged of them needs no question any more, and reaches the file with a round that other ranks,
// which have not come as far, do not hold up.
TEST_F(ClusterTest, IndependentWritesAreLogged) {
  const std::vector<std::byte> data(7000, std::byte{0x5a});
  for (uint64_t i = 0; i < 10; i++) {
    for (const uint32_t rank : {0u, 5u}) {
      const uint64_t offset = rank * kWindowBytes + i * data.size();
      ASSERT_TRUE(write_independent(rank, offset, data).ok());
      oracle_.write(offset, data.data(), data.size());
    }
  }
  EXPECT_FALSE(same(contents(path_), oracle_.bytes));
  write(1, 1, 10'000);  // the others have not come to this call
  ASSERT_TRUE(drain(5).ok());
  EXPECT_TRUE(Spanning::of(*members_[5].file).all_drained_here());
  for (uint32_t rank = 0; rank < kRanks; rank++)
    if (rank != 1) write(rank, 1, 10'000);
  expect_read(3);
}

// Who has asked for a whole window is told of what is logged there afterwards.
TEST_F(ClusterTest, IndependentWritesAreSeenByWhoKnowsTheWindow) {
  write_all(1, 10'000);
  std::vector<std::byte> data(8), found(8);
  uint64_t got = 0;
  for (int version = 1; version < 5; version++) {
    for (int i = 0; i < 100; i++)
      ASSERT_TRUE(members_[5].file->read(i * 8, found.data(), found.size(), &got).ok());
    std::fill(data.begin(), data.end(), static_cast<std::byte>(version));
    ASSERT_TRUE(write_independent(static_cast<uint32_t>(version % 4), 80, data).ok());
    ASSERT_TRUE(members_[5].file->read(80, found.data(), found.size(), &got).ok());
    EXPECT_TRUE(found == data) << version;
  }
}

// Blocks of two nodes in turn, each in a window of its own: nobody asks again about what lies between its
// own.
TEST_F(ClusterTest, WindowsInTheHolesOfAVectorAreLeftToOthers) {
  constexpr uint64_t kBytes = 1000, kBlocks = 5;
  Pattern memory = Pattern::bytes(kBytes * kBlocks), strided;
  strided.add({0, kBytes, 2 * kWindowBytes, kBlocks});
  strided.finish(2 * kWindowBytes * kBlocks);
  const auto write = [&](uint32_t rank, uint64_t offset) {
    const auto data = random_bytes(random_, kBytes * kBlocks);
    PatternCursor to(strided, static_cast<int64_t>(offset), 0), from(memory, 0, 0);
    ASSERT_TRUE(Spanning::of(*members_[rank].file)
                    .write_independent(to, from, data.data(), data.size(), CallNumber(0, 0, true))
                    .ok());
    for (uint64_t i = 0; i < kBlocks; i++)
      oracle_.write(offset + i * 2 * kWindowBytes, data.data() + i * kBytes, kBytes);
  };
  const std::atomic<uint64_t>& questions = members_[5].file->parts().shared.control->foreign_leases;
  for (uint64_t i = 0; i < 10; i++) {
    write(0, i * kBytes);
    write(5, kWindowBytes + i * kBytes);
  }
  EXPECT_EQ(questions, 1);
  drain_all();
  expect_file();
}

// All nodes at the same windows: some writes are logged, others go to the file, and drains come in between.
TEST_F(ClusterTest, IndependentWritesOfAllRanksAtOnce) {
  constexpr uint64_t kPiece = 700, kPieces = 100;
  const auto go = [&](uint32_t rank) {
    for (uint64_t i = 0; i < kPieces; i++) {
      for (const int version : {1, 2}) {
        const std::vector<std::byte> data(kPiece, static_cast<std::byte>(rank * 16 + i % 8 * 2 + version));
        const uint64_t offset = (i * kRanks + rank) * kPiece;
        EXPECT_TRUE(write_independent(rank, offset, data).ok());
        std::vector<std::byte> found(kPiece);
        uint64_t got = 0;
        EXPECT_TRUE(members_[rank].file->read(offset, found.data(), kPiece, &got).ok());
        EXPECT_TRUE(got == kPiece && found == data);
      }
      if (i % 25 == rank) {
        EXPECT_TRUE(drain(rank).ok());
      }
    }
  };
  std::vector<std::future<void>> all;
  for (uint32_t rank = 0; rank < kRanks; rank++) all.push_back(std::async(std::launch::async, go, rank));
  for (auto& one : all) one.get();
  for (uint64_t piece = 0; piece < kPieces * kRanks; piece++) {
    const uint64_t rank = piece % kRanks, i = piece / kRanks;
    const std::vector<std::byte> data(kPiece, static_cast<std::byte>(rank * 16 + i % 8 * 2 + 2));
    oracle_.write(piece * kPiece, data.data(), kPiece);
  }
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  drain_all();
  expect_file();
}

// They then go to the file, all of them seen and in order.
TEST_F(ClusterTest, IndependentWritesGoOnBehindTheLastStamp) {
  const std::string path = files_.files_ + "/busy";
  std::ofstream(path).flush();
  std::vector<std::shared_ptr<File>> files;
  for (Member& member : members_) {
    Job::OpenOptions options;
    options.path = path;
    options.reach = Spanning::over(*member.cluster);
    auto file = member.job->open(options);
    ASSERT_TRUE(file.ok() && Spanning::of(**file).join_nodes({kNumber + 1, 0, kLastClock - 4, 0, 0}).ok());
    files.push_back(*file);
  }
  constexpr uint64_t kBytes = 100, kWrites = 12;
  const Pattern whole = Pattern::bytes(kBytes);
  int said = 0;
  for (uint64_t i = 0; i < kWrites; i++) {
    const std::vector<std::byte> data(kBytes, static_cast<std::byte>(i + 1));
    std::vector<std::byte> found(kBytes);
    PatternCursor to(whole, static_cast<int64_t>(i * kBytes / 2), 0), from(whole, 0, 0);
    File& writer = *files[i % 2];
    ASSERT_TRUE(
        Spanning::of(writer).write_independent(to, from, data.data(), kBytes, CallNumber(0, 0, true)).ok());
    said += Spanning::of(writer).has_used_up_stamps() ? 1 : 0;
    uint64_t got = 0;
    ASSERT_TRUE(files[kRanks - 1]->read(i * kBytes / 2, found.data(), kBytes, &got).ok());
    EXPECT_TRUE(got == kBytes && found == data) << i;
  }
  EXPECT_EQ(said, 1);
  for (auto& file : files) ASSERT_TRUE(file->drain().ok());
  const auto bytes = contents(path);
  ASSERT_EQ(bytes.size(), (kWrites + 1) * kBytes / 2);
  for (uint64_t i = 0; i < bytes.size(); i++)
    EXPECT_EQ(bytes[i], static_cast<std::byte>(std::min(i / (kBytes / 2) + 1, kWrites))) << i;
}

// A nonblocking collective write is begun by one rank long before another, which is told of what came after.
TEST_F(ClusterTest, WhatFollowsACallThatIsOnlyStartedIsSeenByRanksThatHaveNotStartedIt) {
  std::vector<std::byte> data(100, std::byte{1}), found(100);
  uint64_t got = 0;
  Spanning::of(*members_[0].file).begin_call(false);
  ASSERT_TRUE(members_[0].file->append(5000, data.data(), data.size(), CallNumber(0, 1, false)).ok());
  Spanning::of(*members_[0].file).end_call();
  ASSERT_TRUE(write_independent(0, 0, data).ok());
  for (const uint32_t rank : {1u, 5u}) {
    ASSERT_TRUE(members_[rank].file->read(0, found.data(), found.size(), &got).ok());
    EXPECT_TRUE(found == data);
    std::fill(data.begin(), data.end(), static_cast<std::byte>(rank + 1));
    ASSERT_TRUE(write_independent(rank, 0, data).ok());
    ASSERT_TRUE(members_[rank].file->read(0, found.data(), found.size(), &got).ok());
    EXPECT_TRUE(found == data);
  }
  for (uint32_t rank = 1; rank < kRanks; rank++) {
    Spanning::of(*members_[rank].file).begin_call(false);
    Spanning::of(*members_[rank].file).end_call();
  }
  drain_all();
  ASSERT_TRUE(members_[3].file->read(0, found.data(), found.size(), &got).ok());
  EXPECT_TRUE(found == data);
}

// Lost are the round's bytes, or those that a rank has written past the log: the round cannot know.
TEST_F(ClusterTest, WhatIsLostIsToldToWhoeverMayHaveWrittenIt) {
  write_all(1, 10'000);
  for (Member& member : members_) {  // what follows such a call goes past the log
    Spanning::of(*member.file).begin_call(false);
    Spanning::of(*member.file).end_call();
  }
  auto round = NodeRound::begin(members_[0].file, call_stamp(1, 1));
  ASSERT_TRUE(round.ok());
  const FailingSync syncs;
  FailingSync::fail_next(EIO);
  EXPECT_FALSE(members_[0].file->changes().sync().ok());
  EXPECT_EQ((*round)->sync().system_errno(), EIO) << "of which somebody else has been told";
  round->reset();

  ASSERT_TRUE(drain(0).ok());
  round = NodeRound::begin(members_[0].file, call_stamp(1, 1));
  ASSERT_TRUE(round.ok());
  ASSERT_TRUE(write_independent(1, 50'000, std::vector<std::byte>(100)).ok());
  FailingSync::fail_next(EIO);
  EXPECT_EQ((*round)->sync().system_errno(), EIO);
  round->reset();
  for (const uint32_t rank : {0u, 1u}) EXPECT_EQ(members_[rank].file->sync().system_errno(), EIO) << rank;
}

// Of a write past the log that spans windows, one of which other nodes have written to before.
TEST_F(ClusterTest, NoWindowOfAWritePastTheLogIsServedFromAnotherNodesLog) {
  const std::vector<std::byte> old(100, std::byte{1}), later(200, std::byte{2});
  std::vector<std::byte> found(200);
  uint64_t got = 0;
  uint32_t call = 0;
  for (const uint64_t offset : {kWindowBytes - 100, kWindowBytes}) {
    call++;
    for (uint32_t rank = 0; rank < kRanks; rank++) {
      File& file = *members_[rank].file;
      Spanning::of(file).begin_call(call == 1);  // what follows one that is only started goes past the log
      if (rank == 5) {
        ASSERT_TRUE(file.append(offset, old.data(), old.size(), CallNumber(0, call, false)).ok());
      }
      Spanning::of(file).end_call();
    }
  }
  ASSERT_TRUE(drain(0).ok());
  ASSERT_TRUE(write_independent(3, kWindowBytes, old).ok());
  ASSERT_TRUE(write_independent(3, kWindowBytes - 100, later).ok());
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    ASSERT_TRUE(members_[rank].file->read(kWindowBytes - 100, found.data(), 100, &got).ok());
    EXPECT_EQ(found.front(), later.front()) << rank;
    ASSERT_TRUE(members_[rank].file->read(kWindowBytes - 100, found.data(), 200, &got).ok());
    EXPECT_TRUE(found == later) << rank;
  }
}

// Stamps have so many numbers.
TEST_F(ClusterTest, BeyondTheLastNumberOfACallWritesGoToTheFile) {
  for (Member& member : members_)
    ASSERT_TRUE(Spanning::of(*member.file).join_nodes({kNumber, kLastCall - 3, 0, 0, 0}).ok());
  for (uint64_t call = 1; call <= 5; call++) {
    write_all(call, 10'000);
    write_alone(static_cast<uint32_t>(call), 10'000);
    expect_read(static_cast<uint32_t>(call - 1));
  }
  drain_all();
  expect_file();
}

// The nodes' clients have the pages as they were before.
TEST_F(ClusterTest, WhatIsWrittenPastTheLogIsFetchedAnew) {
  for (Member& member : members_) {  // what follows such a call goes past the log
    Spanning::of(*member.file).begin_call(false);
    Spanning::of(*member.file).end_call();
  }
  for (uint32_t i = 0; i < 60; i++) {
    write_alone(i % kRanks, 50'000);
    expect_file();
    for (uint32_t reader = 0; reader < kRanks; reader++) expect_read(reader);
  }
}

// By small reads in a row, with which the bytes behind them are read along.
TEST_F(ClusterTest, WhatIsReadAlongIsReadAnewWhenARankOfTheNodeHasWrittenIt) {
  constexpr uint64_t kPiece = 1000, kPieces = 300;
  for (Member& member : members_) {  // what follows such a call goes past the log
    Spanning::of(*member.file).begin_call(false);
    Spanning::of(*member.file).end_call();
  }
  const auto write = [&](uint32_t rank, uint64_t offset, uint64_t bytes) {
    const std::vector<std::byte> data = random_bytes(random_, bytes);
    ASSERT_TRUE(write_independent(rank, offset, data).ok());
    oracle_.write(offset, data.data(), data.size());
  };
  write(0, 0, kPiece * kPieces);
  std::vector<std::byte> found(kPiece);
  for (uint64_t i = 0; i < kPieces; i++) {
    uint64_t got = 0;
    ASSERT_TRUE(members_[4].file->read(i * kPiece, found.data(), kPiece, &got).ok());
    ASSERT_TRUE(got == kPiece && std::memcmp(found.data(), &oracle_.bytes[i * kPiece], kPiece) == 0) << i;
    if (i % 7 == 0 && i + 1 < kPieces) write(i % 2 == 0 ? 5 : 4, (i + 1) * kPiece, kPiece);
  }
}

}  // namespace
}  // namespace pmio::test
