// A file whose close could not drain it, and what the job does with it afterwards: what it wrote first does
// not come back over what it has written since, neither in the job nor by recovery.
#include <cerrno>

#include "support/node_fixture.h"
#include "support/recover_all.h"
#include "support/target_writes.h"

namespace pmio {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint64_t kBytes = 10;  // of each rank

class Reopened : public testing::Test {
 protected:
  Reopened() : path(scratch.files_ + "/data") {
    setenv("PMIO_REGISTRY", scratch.files_.c_str(), 1);
    std::ofstream(path).flush();
    for (uint32_t rank = 0; rank < kRanks; rank++) jobs.push_back(join(scratch, rank, kRanks, 4 << 20, true));
  }

  void open() {
    for (const auto& job : jobs) {
      auto file = job->open({path, false, {}});
      ASSERT_TRUE(file.ok()) << file.status().message();
      files.push_back(*file);
    }
  }
  void write(char value) {
    const std::vector<std::byte> bytes(kBytes, static_cast<std::byte>(value));
    for (uint64_t rank = 0; rank < kRanks; rank++)
      EXPECT_TRUE(files[rank]->append(rank * kBytes, bytes.data(), kBytes, 0).ok());
  }
  void close(bool succeeds) {
    for (auto& file : files) EXPECT_EQ(file->closing().release().ok(), succeeds);
    files.clear();
  }
  void write_and_fail_to_close(char value) {
    open();
    write(value);
    const test::FailingWrites full(ENOSPC);
    close(false);
  }
  static std::vector<std::byte> all(char value) {
    return std::vector<std::byte>(kRanks * kBytes, static_cast<std::byte>(value));
  }

  Scratch scratch;
  std::string path;
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<std::shared_ptr<File>> files;
};

TEST_F(Reopened, OlderBytesDoNotComeBack) {
  write_and_fail_to_close('a');
  open();
  write('b');
  close(true);
  EXPECT_EQ(contents(path), all('b'));
  jobs.clear();
  recover_all(scratch);
  EXPECT_EQ(contents(path), all('b'));
}

TEST_F(Reopened, WhatIsOnlyInTheLogIsReadAndDrained) {
  write_and_fail_to_close('a');
  open();
  std::vector<std::byte> found(kRanks * kBytes);
  uint64_t got = 0;
  EXPECT_TRUE(files[0]->read(0, found.data(), found.size(), &got).ok());
  EXPECT_EQ(got, found.size());
  EXPECT_EQ(found, all('a'));
  for (const auto& file : files) EXPECT_TRUE(file->errors().take().ok());  // the close has said it
  close(true);
  EXPECT_EQ(contents(path), all('a'));
}

TEST_F(Reopened, NobodyDrainsItMeanwhile) {
  write_and_fail_to_close('a');
  usleep(300'000);  // longer than a file may be idle
  EXPECT_EQ(contents(path).size(), 0u);
  jobs.clear();
  EXPECT_EQ(contents(path).size(), 0u);
  recover_all(scratch);
  EXPECT_EQ(contents(path), all('a'));
}

TEST_F(Reopened, ASecondFailureKeepsBoth) {
  write_and_fail_to_close('a');
  write_and_fail_to_close('b');
  jobs.clear();
  recover_all(scratch);
  EXPECT_EQ(contents(path), all('b'));
}

TEST_F(Reopened, WhatTheEndOfTheJobCannotDrainIsKept) {
  open();
  write('a');
  {
    const test::FailingWrites full(ENOSPC);
    for (const auto& file : files) EXPECT_FALSE(file->drain().ok());
    files.clear();  // the program has not closed it
    jobs.clear();
  }
  recover_all(scratch);
  EXPECT_EQ(contents(path), all('a'));
}

// Not taken for a helper that died, whose round is run again.
TEST_F(Reopened, AFileThatStaysBusyIsAnErrorOfTheClose) {
  open();
  write('a');
  {
    const test::FailingWrites busy(EBUSY);
    close(false);
  }
  open();
  close(true);
  EXPECT_EQ(contents(path), all('a'));
}

}  // namespace
}  // namespace pmio
