// The target file: errors, identity, counters, and the covered parts of windows, on a real file.
#include "drain/target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "records.h"
#include "support/bytes.h"
#include "support/failing_sync.h"

namespace pmio {
namespace {

using test::below;
using test::Random;

class Target : public ::testing::Test {
 protected:
  Target() {
    char name[] = "/tmp/pmio_target_XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/file";
  }
  ~Target() override { std::filesystem::remove_all(directory_); }

  void put(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }
  std::string content() const { return contents<std::string>(path_); }
  std::unique_ptr<TargetFile> open(TargetFile::Access access = TargetFile::Access::read_write) {
    auto opened = TargetFile::open(path_, access);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(opened).value();
  }

  std::string directory_, path_;
};

uint64_t calls(const std::atomic<uint64_t> (&classes)[3]) { return classes[0] + classes[1] + classes[2]; }

// 100 intervals of 8 bytes, 16 apart.
std::vector<Interval> many_tiny() {
  std::vector<Interval> list;
  for (uint64_t i = 0; i < 100; ++i) list.push_back({1000 + i * 16, 1008 + i * 16});
  return list;
}

// More blocks that touch than one system call takes; some lie apart, and between them the file is as it was.
TEST_F(Target, BlocksAreWrittenTogetherWhereTheyTouch) {
  Random random(1);
  std::string wanted(3000 * 40, '.');
  put(wanted);
  const auto file = open();
  std::vector<std::vector<std::byte>> data;
  std::vector<TargetFile::Block> blocks;
  uint64_t groups = 0;
  for (uint64_t at = 5; blocks.size() < 3000;) {
    const bool apart = below(random, 500) == 0;
    if (apart) at += 1 + below(random, 50);
    groups += apart || blocks.empty();
    const uint64_t length = 1 + below(random, 30);
    data.emplace_back(length, static_cast<std::byte>('a' + blocks.size() % 26));
    blocks.push_back({at, data.back().data(), length});
    std::memcpy(&wanted[at], data.back().data(), length);
    at += length;
  }
  ASSERT_TRUE(file->write_blocks(blocks).ok());
  EXPECT_EQ(content(), wanted);
  EXPECT_LE(calls(file->counters().writes), groups + 3000 / 1024);
  EXPECT_TRUE(file->write_blocks({}).ok());
  blocks.resize(1);
  blocks.front().offset = INT64_MAX;
  EXPECT_EQ(file->write_blocks(blocks).system_errno(), EFBIG);
}

TEST_F(Target, OpensOnlyWhatExistsAndIsRegular) {
  EXPECT_EQ(TargetFile::open(path_, TargetFile::Access::read_write).status().system_errno(), ENOENT);
  EXPECT_EQ(TargetFile::open(directory_, TargetFile::Access::read_only).status().code(), Code::unsupported);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const auto opened = TargetFile::open(path_, TargetFile::Access::write_only);
  EXPECT_EQ(opened.status().code(), Code::unsupported);
  EXPECT_NE(opened.status().message().find(path_), std::string::npos);
}

TEST_F(Target, IdentityIsTheSameByEveryName) {
  put("x");
  const std::string link = directory_ + "/link", other = directory_ + "/other";
  ASSERT_EQ(symlink(path_.c_str(), link.c_str()), 0);
  std::ofstream(other) << "y";
  const auto opened = TargetFile::open(link, TargetFile::Access::read_only);
  ASSERT_TRUE(opened.ok());
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(opened.value()->identity().value(), identity_of(path_).value());
  EXPECT_EQ(identity_of(link).value(), identity_of(path_).value());
  EXPECT_EQ(identity_of(path_).value().inode, info.st_ino);
  EXPECT_EQ(identity_of(path_).value().device, info.st_dev);
  EXPECT_FALSE(identity_of(other).value() == identity_of(path_).value());
  EXPECT_EQ(identity_of(directory_ + "/none").status().system_errno(), ENOENT);
}

TEST_F(Target, ReadsAndWritesAreCounted) {
  put("0123456789");
  const auto file = open();
  char buffer[20];
  uint64_t got;
  ASSERT_TRUE(file->read(4, buffer, 20, &got).ok());
  EXPECT_EQ(std::string(buffer, got), "456789");
  ASSERT_TRUE(file->read(40, buffer, 20, &got).ok());
  EXPECT_EQ(got, 0u);
  ASSERT_TRUE(file->write(12, "ab", 2).ok());
  const std::string big(3 << 20, 'b');
  ASSERT_TRUE(file->write(14, big.data(), big.size()).ok());
  EXPECT_EQ(content(), std::string("0123456789\0\0ab", 14) + big);
  EXPECT_EQ(file->size_bytes().value(), 14 + big.size());
  EXPECT_EQ(file->counters().writes[0], 1u);
  EXPECT_GE(file->counters().writes[2], 1u);
  EXPECT_EQ(file->counters().written_bytes, 2 + big.size());
  EXPECT_EQ(file->counters().read_bytes, 6u);
  EXPECT_TRUE(file->sync().ok());
}

TEST_F(Target, ErrorsNameTheFile) {
  put("x");
  const auto file = open(TargetFile::Access::read_only);
  const Status status = file->write(0, "y", 1);
  EXPECT_EQ(status.system_errno(), EBADF);
  EXPECT_NE(status.message().find(path_), std::string::npos);
  EXPECT_EQ(open()->write(INT64_MAX, "yy", 2).system_errno(), EFBIG);
}

// Whether a program that holds the file open for writing would keep it from being executed.
bool is_held_for_writing(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) != path) continue;
    const int fd = std::stoi(entry.path().filename());
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY) return true;
  }
  return false;
}

TEST_F(Target, WhatIsReadIsOpenedForWritingByTheFirstWrite) {
  put("old bytes");
  auto opened = TargetFile::open_to_read(path_);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  TargetFile& file = **opened;
  EXPECT_EQ(file.access(), TargetFile::Access::read_write);
  char bytes[9];
  uint64_t got = 0;
  ASSERT_TRUE(file.read(0, bytes, sizeof bytes, &got).ok());
  ASSERT_TRUE(file.sync().ok());
  EXPECT_TRUE(file.flush().ok());
  EXPECT_FALSE(is_held_for_writing(path_));
  EXPECT_FALSE(file.opened_to_write());
  const int fd = file.fd();
  // The file that was opened, whatever its name leads to by now.
  std::filesystem::rename(path_, path_ + "-moved");
  ASSERT_TRUE(file.write(0, "new", 3).ok());
  EXPECT_EQ(file.fd(), fd);
  EXPECT_TRUE(is_held_for_writing(path_ + "-moved"));
  std::filesystem::rename(path_ + "-moved", path_);
  EXPECT_EQ(content(), "new bytes");
}

// A window of many tiny pieces takes a lock first, which asks for a descriptor that can write.
TEST_F(Target, WhatIsReadIsOpenedForWritingByTheFirstLock) {
  put(std::string(4096, 'o'));
  auto opened = TargetFile::open_to_read(path_);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::vector<std::byte> window(4096, std::byte{'n'});
  std::vector<Interval> covered;
  for (uint64_t at = 0; at < 4096; at += 64) covered.push_back({at, at + 8});
  ASSERT_TRUE((*opened)->write_covered(0, window.data(), covered).ok());
  EXPECT_EQ(calls((*opened)->counters().writes), 1u);
  EXPECT_EQ(content().substr(0, 64), std::string(8, 'n') + std::string(56, 'o'));
}

TEST_F(Target, FullWindowIsOneWrite) {
  put("");
  const auto file = open();
  std::vector<std::byte> window(kWindowBytes, std::byte{7});
  const Interval all{kWindowBytes, 2 * kWindowBytes};
  ASSERT_TRUE(file->write_covered(kWindowBytes, window.data(), {&all, 1}).ok());
  EXPECT_EQ(calls(file->counters().writes), 1u);
  EXPECT_EQ(file->size_bytes().value(), 2 * kWindowBytes);
}

TEST_F(Target, ManyTinyIntervalsAreOneReadAndOneWrite) {
  put(std::string(5000, 'o'));
  const auto file = open();
  std::vector<std::byte> window(4000, std::byte{'n'});
  const auto covered = many_tiny();
  ASSERT_TRUE(file->write_covered(500, window.data(), covered).ok());
  EXPECT_EQ(calls(file->counters().writes), 1u);
  EXPECT_GE(calls(file->counters().reads), 1u);
  EXPECT_EQ(file->counters().written_bytes, covered.back().end - covered.front().begin);
  const FileNumbers done = file->take_numbers();
  EXPECT_EQ(done.read_modify_writes, 1u);
  EXPECT_EQ(done.read_modify_write_bytes, covered.back().end - covered.front().begin);
  EXPECT_EQ(done.gaps, 0u);
  EXPECT_EQ(done.target_write_bytes, done.read_modify_write_bytes);
  EXPECT_EQ(file->take_numbers().target_write_bytes, 0u);
  std::string expected(5000, 'o');
  for (const Interval& interval : covered) expected.replace(interval.begin, 8, 8, 'n');
  EXPECT_EQ(content(), expected);
}

TEST_F(Target, WithoutReadAccessEachIntervalIsWritten) {
  put(std::string(5000, 'o'));
  const auto file = open(TargetFile::Access::write_only);
  std::vector<std::byte> window(4000, std::byte{'n'});
  ASSERT_TRUE(file->write_covered(500, window.data(), many_tiny()).ok());
  EXPECT_EQ(calls(file->counters().writes), 100u);
  const FileNumbers done = file->take_numbers();
  EXPECT_EQ(done.gaps, 99u);
  EXPECT_GT(done.gap_bytes, 0u);
  EXPECT_EQ(done.read_modify_writes, 0u);
  std::string expected(5000, 'o');
  for (const Interval& interval : many_tiny()) expected.replace(interval.begin, 8, 8, 'n');
  EXPECT_EQ(content(), expected);
}

TEST_F(Target, TinyIntervalsFarFromEachOtherAreNotJoined) {
  put("");
  const auto file = open();
  std::vector<std::byte> window(kWindowBytes, std::byte{'n'});
  std::vector<Interval> covered;
  for (uint64_t i = 0; i < 30; ++i) covered.push_back({i * 100'000, i * 100'000 + 8});
  ASSERT_TRUE(file->write_covered(0, window.data(), covered).ok());
  EXPECT_EQ(file->counters().written_bytes, 240u);
}

uint64_t blocks_of(const std::string& path) {
  struct stat info;
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

// Groups of tiny pieces, each within a block of the file system, and far from the next but not too far to be
// sieved together.
TEST_F(Target, HolesBetweenTinyIntervalsStayHoles) {
  constexpr uint64_t kGroups = 200, kApart = 16 << 10, kMost = kGroups * (8 << 10);
  put("");
  const auto file = open();
  std::string expected;
  std::vector<std::byte> window(kGroups * kApart);
  for (int round = 0; round < 2; round++) {
    std::vector<Interval> covered;
    for (uint64_t group = 0; group < kGroups; ++group) {
      for (uint64_t i = 0; i < 5; ++i) {
        const uint64_t at = group * kApart + i * 32 + static_cast<uint64_t>(round) * 8;
        covered.push_back({at, at + 8});
        std::memset(&window[at], 'a' + round, 8);
        if (expected.size() < at + 8) expected.resize(at + 8);
        std::memset(&expected[at], 'a' + round, 8);
      }
    }
    ASSERT_TRUE(file->write_covered(0, window.data(), covered).ok());
    EXPECT_EQ(calls(file->counters().writes), kGroups) << "each group at once";
    file->counters().writes[0] = 0;
    EXPECT_LE(blocks_of(path_), kMost);
    EXPECT_TRUE(content() == expected);
  }
  // Where something lies between them they are one read and one write, up to the next hole.
  const std::string data(kApart * 50, 'd');
  ASSERT_TRUE(file->write(0, data.data(), data.size()).ok());
  expected.replace(0, data.size(), data);
  std::vector<Interval> covered;
  for (uint64_t at = 64; at < expected.size(); at += kApart) {
    covered.push_back({at, at + 8});
    std::memset(&window[at], 'c', 8);
    std::memset(&expected[at], 'c', 8);
  }
  file->counters().writes[0] = file->counters().writes[1] = 0;
  ASSERT_TRUE(file->write_covered(0, window.data(), covered).ok());
  EXPECT_EQ(calls(file->counters().writes), 1 + (kGroups - 51));
  EXPECT_TRUE(content() == expected);
  EXPECT_LE(blocks_of(path_), kMost + data.size());
}

// Another holder of a lock in the range delays the read-modify-write; afterwards the range is free again.
TEST_F(Target, ReadModifyWriteHonoursLocks) {
  put(std::string(5000, 'o'));
  const auto file = open();
  const int other = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(other, 0);
  struct flock lock {};
  lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET, lock.l_start = 1500, lock.l_len = 1;
  ASSERT_EQ(fcntl(other, F_OFD_SETLK, &lock), 0);
  std::vector<std::byte> window(4000, std::byte{'n'});
  std::thread writer([&] { EXPECT_TRUE(file->write_covered(500, window.data(), many_tiny()).ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(calls(file->counters().writes), 0u);
  // What is written in a gap under the lock survives.
  ASSERT_EQ(pwrite(other, "gap", 3, 1009), 3);
  lock.l_type = F_UNLCK;
  ASSERT_EQ(fcntl(other, F_OFD_SETLK, &lock), 0);
  writer.join();
  EXPECT_EQ(content().substr(1000, 16), "nnnnnnnnogapoooo");
  lock.l_type = F_WRLCK, lock.l_start = 0, lock.l_len = 0;
  EXPECT_EQ(fcntl(other, F_OFD_SETLK, &lock), 0);
  close(other);
}

std::vector<Interval> random_covered(Random& random, uint64_t a, uint64_t bytes) {
  const uint64_t most_length = uint64_t{1} << below(random, 17), most_gap = uint64_t{1} << below(random, 18);
  std::vector<Interval> list;
  for (uint64_t at = below(random, most_gap);;) {
    const uint64_t length = 1 + below(random, most_length);
    if (at + length > bytes) return list;
    list.push_back({a + at, a + at + length});
    at += length + 1 + below(random, most_gap);
  }
}

// Whoever asks first.
TEST_F(Target, OneThatIsSetBackIsChangedByEveryLaterWrite) {
  put("before");
  auto target = open();
  for (int i = 0; i < 100; i++) {
    ASSERT_TRUE(target->write(0, "before", 6).ok());
    auto left = target->set_back();
    ASSERT_TRUE(left.ok()) << left.status().message();
    EXPECT_EQ(open()->state(true).value(), *left);
    ASSERT_TRUE(target->write(0, "before", 6).ok());
    EXPECT_NE(open()->state(true).value(), *left);
  }
}

TEST_F(Target, TakesNothingBehindItsLargestSize) {
  put("");
  const auto target = open();
  const int64_t most = target->largest_bytes();
  EXPECT_GT(most, int64_t{1} << 31);
  if (most == INT64_MAX) GTEST_SKIP() << "this file system does not tell";
  const std::byte one{1};
  EXPECT_FALSE(target->write(static_cast<uint64_t>(most), &one, 1).ok());
  EXPECT_EQ(content(), "");
}

TEST_F(Target, OneThatWasLaidDownIsTakenUpByAnother) {
  put("before");
  auto target = open();
  target->lay_down();
  EXPECT_FALSE(target->write(0, "lost", 4).ok());
  target->take_up(open());
  ASSERT_TRUE(target->write(0, "after!", 6).ok());
  EXPECT_EQ(content(), "after!");
}

TEST_F(Target, ALossIsToldToAllWhoHaveWrittenBefore) {
  put("content");
  const auto file = open();
  const uint64_t before = file->losses();
  const test::FailingSync syncs;
  test::FailingSync::fail_next(ENOSPC);
  ASSERT_TRUE(file->size_bytes(true).ok());
  EXPECT_TRUE(test::FailingSync::has_failed());
  EXPECT_EQ(file->sync().code(), Code::no_space) << "of which only the size was asked";
  EXPECT_FALSE(file->sync_since(before).ok()) << "of which another thread has been told";
  EXPECT_TRUE(file->sync_since(file->losses()).ok());
  EXPECT_TRUE(file->sync().ok());
}

TEST_F(Target, WritesCoveredBytesAndNoOthers) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::string expected(below(random, 1 << 20), '\0');
    for (char& c : expected) c = static_cast<char>(random());
    put(expected);
    const auto file =
        open(below(random, 4) == 0 ? TargetFile::Access::write_only : TargetFile::Access::read_write);
    const uint64_t a = below(random, 1 << 20);
    std::vector<std::byte> window(1 << 20);
    fill_randomly(random, window);
    const auto covered = random_covered(random, a, window.size());
    for (const Interval& interval : covered) {
      if (expected.size() < interval.end) expected.resize(interval.end);
      std::memcpy(expected.data() + interval.begin, window.data() + (interval.begin - a), interval.bytes());
    }
    ASSERT_TRUE(file->write_covered(a, window.data(), covered).ok());
    ASSERT_TRUE(content() == expected) << covered.size() << " intervals";
  }
}

}  // namespace
}  // namespace pmio
