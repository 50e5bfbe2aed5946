// A log that nobody wants is thrown away, whole or not at all; and a file's bytes are brought into a copy of
// it.
#include "recover/discard.h"

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <thread>

#include "base/file_descriptor.h"
#include "fixture.h"
#include "log/target_mark.h"
#include "medium/registry.h"

namespace pmio::test {
namespace {

class Unwanted : public RecoverTest {
 protected:
  void SetUp() override {
    RecoverTest::SetUp();
    setenv("PMIO_REGISTRY", root.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("PMIO_REGISTRY");
    RecoverTest::TearDown();
  }
  Discarded::Result discard(uint64_t job, bool even_undrained) {
    auto discarded = discard_job(logs, job, even_undrained);
    EXPECT_TRUE(discarded.ok()) << discarded.status().message();
    return discarded.ok() ? discarded->result : Discarded::Result::not_there;
  }
  void job(uint64_t id, std::byte value, uint64_t offset = 0) {
    CrashedJob crashed(logs, id, 1);
    crashed.write(0, 0, target, {static_cast<int64_t>(offset), 4, 0, 1}, Bytes(4, value), id);
  }
};

TEST_F(Unwanted, IsGoneOnlyIfThatIsSaid) {
  job(1, std::byte{1});
  ASSERT_TRUE(Registry::create().value().add(1, logs, false).ok());
  EXPECT_EQ(discard(1, false), Discarded::Result::would_lose);
  EXPECT_FALSE(left().empty());
  EXPECT_EQ(discard(1, true), Discarded::Result::done);
  EXPECT_TRUE(left().empty());
  EXPECT_TRUE(Registry::find().value().list().value().empty());
  EXPECT_TRUE(run().jobs.empty());
  EXPECT_TRUE(read_file(target).empty());
}

TEST_F(Unwanted, OfALogWithNothingToBringInNobodyIsAsked) {
  {
    CrashedJob crashed(logs, 1, 1);
    crashed.write(0, 0, target, {0, 4, 0, 1}, Bytes(4, std::byte{1}), 1);
    crashed.ledger(target, {{{0, 0}, 1}});
  }
  EXPECT_EQ(discard(1, false), Discarded::Result::done);
  EXPECT_TRUE(left().empty());
}

TEST_F(Unwanted, OfAJobThatRunsNothingIsTouched) {
  job(1, std::byte{1});
  const FileDescriptor alive(open((logs + "/job-0000000000000001/alive").c_str(), O_RDWR));
  ASSERT_EQ(flock(alive.get(), LOCK_SH), 0);
  const auto before = left();
  const auto discarded = discard_job(logs, 1, true);
  ASSERT_FALSE(discarded.ok());
  EXPECT_EQ(discarded.status().code(), Code::busy);
  EXPECT_EQ(left(), before);
}

TEST_F(Unwanted, AnInterruptedOneIsFinished) {
  job(1, std::byte{1});
  std::filesystem::rename(logs + "/job-0000000000000001", logs + "/discarded-job-0000000000000001");
  EXPECT_TRUE(run().jobs.empty());
  EXPECT_EQ(discard(1, false), Discarded::Result::not_there);
  EXPECT_TRUE(left().empty());
}

TEST_F(Unwanted, TheNoteOfALogThatSomebodyRemovedGoesToo) {
  ASSERT_TRUE(Registry::create().value().add(1, logs, false).ok());
  const auto discarded = discard_job(logs, 1, true);
  ASSERT_TRUE(discarded.ok());
  EXPECT_TRUE(discarded.value().had_note);
  EXPECT_TRUE(Registry::find().value().list().value().empty());
}

class IntoACopy : public Unwanted {
 protected:
  RecoverReport copy() {
    RecoverOptions options;
    options.path = target;
    options.to = root + "/copy";
    return run(options);
  }
};

TEST_F(IntoACopy, TheFileAndItsLogsStay) {
  write_file(target, Bytes(8, std::byte{7}));
  job(1, std::byte{1});
  job(2, std::byte{2}, 2);
  const auto before = left();
  const RecoverReport report = copy();
  EXPECT_TRUE(report.copied && report.complete());
  Bytes wanted(8, std::byte{7});
  std::fill_n(wanted.begin(), 2, std::byte{1});
  std::fill_n(wanted.begin() + 2, 4, std::byte{2});
  EXPECT_EQ(read_file(root + "/copy"), wanted);
  EXPECT_EQ(read_file(target), Bytes(8, std::byte{7}));
  EXPECT_EQ(left(), before);
  EXPECT_FALSE(copy().complete()) << "it is there already";
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), wanted);
}

TEST_F(IntoACopy, OfAFileThatSomebodyHasChanged) {
  {
    CrashedJob crashed(logs, 1, 1);
    crashed.write(0, 0, target, {0, 4, 0, 1}, Bytes(4, std::byte{1}), 1);
    auto mark = TargetMark::create(*crashed.medium, "mark-" + file_key(identity(target)));
    ASSERT_TRUE(mark.ok());
    mark->settled({0, 1});
  }
  write_file(target, Bytes(6, std::byte{9}));
  const FileOutcome refused = run().jobs.at(0).files.at(0);
  EXPECT_NE(refused.message.find("0 bytes, written "), std::string::npos) << refused.message;
  EXPECT_NE(refused.message.find("now 6 bytes, written "), std::string::npos) << refused.message;
  EXPECT_TRUE(copy().complete());
  Bytes wanted(6, std::byte{9});
  std::fill_n(wanted.begin(), 4, std::byte{1});
  EXPECT_EQ(read_file(root + "/copy"), wanted);
}

TEST_F(IntoACopy, OfAFileThatIsGone) {
  job(1, std::byte{1}, 4);
  std::filesystem::remove(target);
  const RecoverReport report = copy();
  EXPECT_TRUE(report.copied);
  EXPECT_NE(report.jobs.at(0).files.at(0).note.find("is gone"), std::string::npos);
  Bytes wanted(4);
  wanted.resize(8, std::byte{1});
  EXPECT_EQ(read_file(root + "/copy"), wanted);
}

TEST_F(IntoACopy, HolesStayHoles) {
  ASSERT_EQ(truncate(target.c_str(), 1 << 26), 0);
  job(1, std::byte{1});
  EXPECT_TRUE(copy().complete());
  struct stat facts {};
  ASSERT_EQ(stat((root + "/copy").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_size, 1 << 26);
  EXPECT_LT(facts.st_blocks, 1 << 10);
}

TEST_F(Unwanted, AJobThatDiesMeanwhileIsWaitedFor) {
  job(1, std::byte{1});
  FileDescriptor alive(open((logs + "/job-0000000000000001/alive").c_str(), O_RDWR));
  ASSERT_EQ(flock(alive.get(), LOCK_SH), 0);
  EXPECT_FALSE(run().complete());
  std::thread dies([&alive] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    alive = FileDescriptor();
  });
  RecoverOptions options;
  options.wait = std::chrono::minutes(1);
  EXPECT_TRUE(run(options).complete());
  dies.join();
  EXPECT_EQ(read_file(target), Bytes(4, std::byte{1}));
}

}  // namespace
}  // namespace pmio::test
