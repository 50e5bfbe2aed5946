// What a recovery refuses, keeps, or survives: running jobs, other files, damage, other owners.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include <cstddef>

#include "fixture.h"

namespace pmio::test {
namespace {

class Refusal : public RecoverTest {
 protected:
  // Three records of one rank: bytes 0-9 are 1, 10-19 are 2, 20-29 are 3.
  void crash(uint64_t id = 1) {
    CrashedJob job(logs, id, 1);
    for (int i = 0; i < 3; i++) {
      job.write(0, 0, target, {10 * i, 10, 0, 1}, Bytes(10, static_cast<std::byte>(i + 1)),
                static_cast<uint64_t>(i));
    }
    directory = job.directory;
  }
  FileOutcome only_file(const RecoverReport& report) {
    EXPECT_EQ(report.jobs.size(), 1u);
    EXPECT_EQ(report.jobs.at(0).files.size(), 1u);
    return report.jobs.at(0).files.at(0);
  }
  // Changes bytes of a file in the job's directory.
  void overwrite(const std::string& name, off_t offset, const std::string& bytes) {
    const int fd = open((directory + "/" + name).c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    if (offset < 0) offset = lseek(fd, 0, SEEK_END) + offset;
    ASSERT_EQ(pwrite(fd, bytes.data(), bytes.size(), offset), static_cast<ssize_t>(bytes.size()));
    close(fd);
  }
  void expect_kept(const std::string& reason) {
    const auto before = left();
    const RecoverReport report = run();
    EXPECT_FALSE(report.complete());
    const FileOutcome file = only_file(report);
    EXPECT_EQ(file.result, FileResult::kept);
    EXPECT_NE(file.message.find(reason), std::string::npos) << file.message;
    EXPECT_NE(file.message.find(directory), std::string::npos) << file.message;
    EXPECT_EQ(left(), before);
  }
  Bytes prefix(int records) {
    Bytes bytes;
    for (int i = 0; i < records; i++) bytes.insert(bytes.end(), 10, static_cast<std::byte>(i + 1));
    return bytes;
  }
  std::string directory;
};

TEST_F(Refusal, NothingToDo) {
  EXPECT_TRUE(run().complete());  // no directory
  std::filesystem::create_directory(logs);
  EXPECT_TRUE(run().complete());
}

TEST_F(Refusal, ARunningJob) {
  crash();
  const int alive = open((directory + "/alive").c_str(), O_RDONLY);
  ASSERT_EQ(flock(alive, LOCK_SH), 0);
  const RecoverReport report = run();
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(report.jobs.at(0).state, JobState::running);
  EXPECT_EQ(report.jobs.at(0).running_bytes, 30u);
  EXPECT_TRUE(read_file(target).empty());
  close(alive);
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), prefix(3));
}

TEST_F(Refusal, AMissingAliveFileMeansDead) {
  crash();
  std::filesystem::remove(directory + "/alive");
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), prefix(3));
}

TEST_F(Refusal, ATargetThatIsGone) {
  crash();
  std::filesystem::rename(target, root + "/moved");
  expect_kept("is gone");
  std::filesystem::rename(root + "/moved", target);
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), prefix(3));
}

TEST_F(Refusal, ATargetThatWasReplaced) {
  crash();
  const Bytes innocent(5, std::byte{9});
  write_file(root + "/new", innocent);
  std::filesystem::rename(root + "/new", target);
  expect_kept("another one");
  EXPECT_EQ(read_file(target), innocent);
}

// A network file system has another device number when it is mounted again.
TEST_F(Refusal, AnotherDeviceNumberIsNoOtherFileWhereNoDeviceIs) {
  if (major(identity(target).device) != 0) GTEST_SKIP() << "needs a tmpfs";
  const Bytes data(40, std::byte{7});
  const Vector where{0, data.size(), 0, 1};
  for (const uint64_t device : {makedev(0, 12345), makedev(8, 1)}) {
    write_file(target, {});
    CrashedJob job(logs, 1, 1);
    job.device = device;
    job.write(0, 0, target, where, data, 1);
    if (major(device) == 0) {
      ASSERT_TRUE(recover_pending(logs, identity(target), target, 0).ok());
      EXPECT_TRUE(read_file(target) == data);
    } else {
      EXPECT_EQ(run().jobs.at(0).files.at(0).result, FileResult::kept);
      EXPECT_TRUE(read_file(target).empty());
    }
  }
}

TEST_F(Refusal, ANewerLogWaitsForAnOlderOne) {
  crash(1);
  { CrashedJob(logs, 2, 1).write(0, 0, target, {0, 5, 0, 1}, Bytes(5, std::byte{8}), 1); }
  // Both slots of the older one's ledger are unreadable.
  write_file(directory + "/ledger-" + file_key(identity(target)), Bytes(8192, std::byte{1}));
  chmod((directory + "/ledger-" + file_key(identity(target))).c_str(), 0600);
  const RecoverReport report = run();
  ASSERT_EQ(report.jobs.size(), 2u);
  EXPECT_NE(report.jobs[0].files.at(0).message.find("ledger is damaged"), std::string::npos);
  EXPECT_NE(report.jobs[1].files.at(0).message.find("older log"), std::string::npos);
  EXPECT_TRUE(read_file(target).empty());
  EXPECT_FALSE(recover_pending(logs, identity(target), target, 77).ok());
}

TEST_F(Refusal, ADiscardedFileStaysDeleted) {
  {
    CrashedJob job(logs, 1, 1);
    job.write(0, 0, target, {0, 10, 0, 1}, Bytes(10), 1);
    job.ledger(target, {}, kDiscarded);
  }
  std::filesystem::remove(target);
  const RecoverReport report = run();
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(only_file(report).result, FileResult::discarded);
  EXPECT_FALSE(std::filesystem::exists(target));
  EXPECT_TRUE(left().empty());
}

TEST_F(Refusal, ATornTailIsCutOff) {
  crash();
  overwrite("seg-0-0", -3 * 64 + 20, "torn");
  const RecoverReport report = run();
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(only_file(report).records, 2u);
  EXPECT_EQ(read_file(target), prefix(2));
  EXPECT_TRUE(left().empty());
}

TEST_F(Refusal, TornDataIsCutOff) {
  crash();
  overwrite("seg-0-0", static_cast<off_t>(kHeaderBytes) + 32, "x");  // data of the third record
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), prefix(2));
}

TEST_F(Refusal, DamageInTheMiddleIsToldAndKept) {
  crash();
  overwrite("seg-0-0", -2 * 64 + 20, "damage");
  for (int repetition = 0; repetition < 2; repetition++) {
    const RecoverReport report = run();
    EXPECT_FALSE(report.complete());
    const FileOutcome file = only_file(report);
    EXPECT_EQ(file.result, repetition == 0 ? FileResult::restored : FileResult::clean);
    ASSERT_EQ(file.damaged.size(), 1u);
    EXPECT_EQ(file.damaged[0].path, directory + "/seg-0-0");
    EXPECT_EQ(file.damaged[0].rank, 0u);
    EXPECT_EQ(file.damaged[0].damage.first, 1u);
    EXPECT_EQ(file.damaged[0].damage.acknowledged, 2u);
    EXPECT_EQ(file.damaged[0].damage.unknown, 1u);
    EXPECT_EQ(read_file(target), prefix(1));
    EXPECT_TRUE(std::filesystem::exists(directory + "/seg-0-0"));
  }
  EXPECT_TRUE(recover_pending(logs, identity(target), target, 77).ok());
}

TEST_F(Refusal, AnotherVersion) {
  crash();
  overwrite("seg-0-0", offsetof(SegmentHeader, version), std::string("\x02\0\0\0", 4));
  const RecoverReport report = run();
  EXPECT_FALSE(report.complete());
  ASSERT_EQ(report.jobs.at(0).unreadable.size(), 1u);
  EXPECT_NE(report.jobs.at(0).unreadable[0].find("version 2"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(directory + "/seg-0-0"));
}

TEST_F(Refusal, ADamagedHeader) {
  crash();
  overwrite("seg-0-0", offsetof(SegmentHeader, path), "x");
  EXPECT_FALSE(run().complete());
  EXPECT_TRUE(read_file(target).empty());
  EXPECT_TRUE(std::filesystem::exists(directory + "/seg-0-0"));
}

// What can be read another time may be older than what can be read now, and must not come over it then.
TEST_F(Refusal, ASegmentThatMayBeReadLaterHoldsTheOthersBack) {
  for (const bool of_another_version : {false, true}) {
    SCOPED_TRACE(of_another_version);
    write_file(target, {});
    {
      CrashedJob job(logs, 1, 2);
      job.write(1, 0, target, {0, 10, 0, 1}, Bytes(10, std::byte{1}), 1);
      job.write(0, 0, target, {0, 10, 0, 1}, Bytes(10, std::byte{2}), 2);
      directory = job.directory;
    }
    const std::string segment = directory + "/seg-1-0", elsewhere = root + "/elsewhere";
    if (of_another_version) {
      overwrite("seg-1-0", offsetof(SegmentHeader, version), std::string("\x02\0\0\0", 4));
    } else {
      std::filesystem::rename(segment, elsewhere);
      std::filesystem::create_symlink(elsewhere, segment);
    }
    expect_kept("cannot be read now");
    EXPECT_FALSE(recover_pending(logs, identity(target), target, 77).ok());
    EXPECT_TRUE(read_file(target).empty());
    if (of_another_version) {
      overwrite("seg-1-0", offsetof(SegmentHeader, version), std::string("\x01\0\0\0", 4));
    } else {
      std::filesystem::rename(elsewhere, segment);
    }
    EXPECT_TRUE(run().complete());
    EXPECT_EQ(read_file(target), Bytes(10, std::byte{2}));
    EXPECT_TRUE(left().empty());
  }
}

// Made by no writer. Were such records valid, the same bytes would be read as often as there are records.
TEST_F(Refusal, DataOfTwoRecordsDoNotOverlap) {
  {
    CrashedJob job(logs, 1, 1);
    for (const int64_t offset : {0, 10})
      job.write(0, 0, target, {offset, 10, 0, 1}, Bytes(10, std::byte{1}), 1);
    const Region& region = *job.segment(0, 0, target).region;
    auto& second = *reinterpret_cast<LogRecord*>(job.segment(0, 0, target).region->data() +
                                                 region.size_bytes() - 2 * sizeof(LogRecord));
    second.data_position = kHeaderBytes / kDataAlignment;
    second.record_crc = record_checksum(second, job.segment(0, 0, target).writer.salt(), 1);
  }
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), prefix(1));
}

TEST_F(Refusal, FreeAndEmptySegmentsGoWithTheJob) {
  crash();
  {
    auto medium = open_medium(directory, Durability::none);
    ASSERT_TRUE((*medium)->create("seg-0-1", kMinSegmentBytes).ok());  // never formatted
    ASSERT_TRUE((*medium)->create("file-1-2", 4096).ok());
    ASSERT_TRUE((*medium)->create("run-1-2-0", 4096).ok());
    std::ofstream(directory + "/seg-0-2");  // creation interrupted
    std::ofstream(directory + "/lock");
    std::ofstream(directory + "/undrained");
  }
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), prefix(3));
  EXPECT_TRUE(left().empty());
}

TEST_F(Refusal, AnUpdateOfTheLedgerThatNeverEnded) {
  crash();
  {
    auto medium = open_medium(directory, Durability::none);
    ASSERT_TRUE(Ledger::create(**medium, "ledger-" + file_key(identity(target)), 4).ok());
  }
  overwrite("ledger-" + file_key(identity(target)), 0, "PMIOLDR1 torn");
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), prefix(3));
  EXPECT_TRUE(left().empty());
}

TEST_F(Refusal, ADirectoryOfSomebodyElse) {
  crash();
  if (chown(logs.c_str(), geteuid() + 1, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(recover({.directory = logs}).status().code(), Code::access);
  EXPECT_EQ(scan(logs).status().code(), Code::access);
  EXPECT_TRUE(read_file(target).empty());
}

TEST_F(Refusal, ASymbolicLinkOrADirectoryOpenToOthers) {
  crash();
  std::filesystem::create_symlink(logs, root + "/link");
  EXPECT_EQ(recover({.directory = root + "/link"}).status().code(), Code::access);
  ASSERT_EQ(chmod(logs.c_str(), 0777), 0);
  EXPECT_EQ(recover({.directory = logs}).status().code(), Code::access);
}

TEST_F(Refusal, AFailingTargetKeepsTheLog) {
  crash();
  rlimit limit{}, tiny{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  tiny.rlim_max = limit.rlim_max;
  tiny.rlim_cur = 15;
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tiny), 0);
  const RecoverReport report = run();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(only_file(report).result, FileResult::kept);
  EXPECT_TRUE(run().complete());
  EXPECT_EQ(read_file(target), prefix(3));
}

// No byte of a log may lead the reader astray: random bytes at random places, and it neither crashes nor
// hangs.
TEST_F(Refusal, SurvivesAnyBytes) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; round++) {
    write_file(target, {});
    crash();
    CrashedJob(logs, 1, 1).ledger(target, {});
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const auto size = static_cast<off_t>(entry.file_size());
      for (int i = 0; i < 8 && size > 0; i++) {
        const off_t near_an_end = static_cast<off_t>(random() % 200);
        const off_t at = random() % 2 == 0 ? near_an_end : size - 1 - near_an_end;
        overwrite(entry.path().filename(), std::min(at, size - 1),
                  std::string(1, static_cast<char>(random())));
      }
    }
    run();
    std::filesystem::remove_all(logs);
  }
}

// It may be of any file, so nothing may be logged that it would go over later.
TEST_F(Refusal, ASegmentThatCannotBeReadNowIsPending) {
  crash();
  overwrite("seg-0-0", offsetof(SegmentHeader, version), std::string("\x02\0\0\0", 4));
  const Status pending = recover_pending(logs, identity(target), target, 77);
  EXPECT_EQ(pending.code(), Code::busy);
  EXPECT_NE(pending.message().find("seg-0-0"), std::string::npos) << pending.message();
  const int alive = open((directory + "/alive").c_str(), O_RDONLY);
  ASSERT_EQ(flock(alive, LOCK_SH), 0);
  EXPECT_TRUE(recover_pending(logs, identity(target), target, 77).ok());  // of a job that runs
  close(alive);
  overwrite("seg-0-0", offsetof(SegmentHeader, version), std::string("\x01\0\0\0", 4));
  EXPECT_TRUE(recover_pending(logs, identity(target), target, 77).ok());
  EXPECT_EQ(read_file(target), prefix(3));
}

// What is no job's directory, or one that others may write to, is told of and stops nothing.
TEST_F(Refusal, WhatOnlyHasAJobsNameStopsNothing) {
  for (const bool dry_run : {true, false}) {
    crash();
    std::ofstream(logs + "/job-7") << "a file";
    std::filesystem::create_directory(logs + "/job-8");
    chmod((logs + "/job-8").c_str(), 0777);
    EXPECT_TRUE(scan(logs).ok());
    const RecoverReport report = run({.dry_run = dry_run});
    ASSERT_EQ(report.jobs.size(), 3u);
    size_t refused = 0;
    for (const JobOutcome& job : report.jobs) refused += job.files.empty() && job.unreadable.size() == 1;
    EXPECT_EQ(refused, 2u);
    EXPECT_FALSE(report.complete());
    if (!dry_run) {
      EXPECT_EQ(read_file(target), prefix(3));
    }
    write_file(target, {});
    EXPECT_TRUE(recover_pending(logs, identity(target), target, 77).ok());
    EXPECT_EQ(read_file(target), dry_run ? prefix(3) : Bytes());
    EXPECT_TRUE(std::filesystem::exists(logs + "/job-7"));
  }
}

}  // namespace
}  // namespace pmio::test
