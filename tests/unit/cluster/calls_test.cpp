// What a sync brings in, what collective calls that are only started hold up, and how many connections the
// job's processes may have.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>

#include <future>

#include "nodes_fixture.h"
#include "span/spanning.h"

namespace pmio::test {
namespace {

using std::chrono_literals::operator""s;

class CallsTest : public ClusterTest {
 protected:
  std::vector<std::byte> read(uint32_t rank, uint64_t offset, uint64_t bytes) {
    std::vector<std::byte> found(bytes);
    uint64_t got = 0;
    EXPECT_TRUE(members_[rank].file->read(offset, found.data(), bytes, &got).ok());
    found.resize(got);
    return found;
  }
  // By another program.
  void write_outside(uint64_t offset, const std::vector<std::byte>& data) const {
    std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(offset))
        .write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  }
  void start_only(uint32_t rank) {
    Spanning::of(*members_[rank].file).begin_call(false);
    Spanning::of(*members_[rank].file).end_call();
  }
};

const std::vector<std::byte> kOld(100, std::byte{1}), kNew(100, std::byte{2});

TEST_F(CallsTest, WhatIsReadAgainIsReadFromTheFileAgain) {
  write_outside(0, std::vector<std::byte>(20'000, std::byte{1}));
  members_[4].file->changes().forget_cache();
  EXPECT_EQ(read(4, 0, 100), kOld);
  write_outside(0, kNew);
  EXPECT_EQ(read(4, 0, 100), kNew);
}

// What has been read along, by a client that keeps what it has read for each descriptor.
TEST_F(CallsTest, ASyncShowsWhatOthersHaveWritten) {
  write_outside(0, std::vector<std::byte>(20'000, std::byte{1}));
  members_[4].file->changes().forget_cache();
  EXPECT_EQ(read(4, 0, 100), kOld);
  write_outside(100, kNew);
  ASSERT_TRUE(members_[4].file->sync().ok());
  EXPECT_EQ(read(4, 100, 100), kNew);
}

TEST_F(CallsTest, ASyncOfANodeThatHasLoggedNothingBringsInTheOthers) {
  const std::vector<std::byte> data(7000, std::byte{0x5a});
  ASSERT_TRUE(write_independent(0, 0, data).ok());
  ASSERT_TRUE(members_[5].file->sync().ok());
  EXPECT_TRUE(contents(path_) == data);
}

// The ranks of one node start a nonblocking call before they open the file once more, the others behind that.
TEST_F(CallsTest, ASecondOpenLeavesTheNumbersOfCallsAlone) {
  write_all(1, 10'000);
  for (const uint32_t rank : ranks_of(0)) start_only(rank);
  uint64_t last = 0;
  for (const Member& member : members_) last = std::max(last, Spanning::of(*member.file).last_call());
  std::vector<std::shared_ptr<File>> second;
  for (Member& member : members_) {
    Job::OpenOptions options;
    options.path = path_;
    options.reach = Spanning::over(*member.cluster);
    auto file = member.job->open(options);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(Spanning::of(**file).join_nodes({kNumber + 1, last, 0, 0, *(*file)->size_bytes_here()}).ok());
    second.push_back(*file);
  }
  for (uint32_t rank = kRanksOfNode; rank < kRanks; rank++) start_only(rank);
  for (const Member& member : members_)
    EXPECT_EQ(Spanning::of(*member.file).last_call(), Spanning::of(*members_[0].file).last_call());
  write_all(3, 10'000);
  auto drained = std::async(std::launch::async, [&] { drain_all(); });
  ASSERT_EQ(drained.wait_for(20s), std::future_status::ready);
  for (uint32_t rank = 0; rank < kRanks; rank++) expect_read(rank);
  expect_file();
  for (const auto& file : second) EXPECT_TRUE(file->closing().release().ok());
}

// To the calls that it has started the others need not have come: they may wait for what it does after this.
TEST_F(CallsTest, AReadDoesNotWaitForCallsThatAreOnlyStarted) {
  write_all(1, 10'000);
  start_only(0);
  start_only(0);
  auto read = std::async(std::launch::async, [&] { expect_read(0); });
  const bool done = read.wait_for(20s) == std::future_status::ready;
  EXPECT_TRUE(done);
  for (uint32_t rank = 1; rank < kRanks; rank++) {
    start_only(rank);
    start_only(rank);
  }
  read.wait();
}

// In a process of its own, whose limits are its own.
TEST_F(CallsTest, TheLimitOfDescriptorsIsRaisedForConnectionsAndTheFilesHaveWhatTheyHad) {
  const pid_t child = fork();
  if (child == 0) {
    JobOptions options;  // one that has no connections yet
    options.directory = logs_[0].log_;
    options.id = kJob + kMostNodes;
    auto joined = Job::join(options);
    if (!joined.ok()) _exit(7);
    Job& job = **joined;
    const rlimit low{300, 2000};
    if (setrlimit(RLIMIT_NOFILE, &low) != 0) _exit(1);
    if (!job.reserve_descriptors(1000).ok()) _exit(2);
    rlimit now{};
    if (getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur != 1300) _exit(3);
    // Connections are above what select() takes, as far as there is room. As if all that is below were the
    // rest.
    constexpr int kLow = 1000 - (1300 - FD_SETSIZE);
    const int file = fcntl(0, F_DUPFD, kLow);
    for (int fd = 3; fd < file; fd++) dup2(file, fd);
    if (!job.require_descriptors().ok()) _exit(4);
    for (int fd = file; fd < kLow + 75; fd++) dup2(0, fd);
    if (job.require_descriptors().ok()) _exit(5);
    const Status too_many = job.reserve_descriptors(900);  // and those above
    _exit(too_many.code() == Code::no_space ? 0 : 6);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0) << WEXITSTATUS(how);
}

}  // namespace
}  // namespace pmio::test
