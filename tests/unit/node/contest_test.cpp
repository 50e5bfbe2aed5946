// A file of one node's ranks, in a job on several, that other nodes' ranks open, too.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "node/file_parts.h"
#include "node/job_impl.h"
#include "support/node_fixture.h"

namespace pmio {
namespace {

class Contested : public testing::Test {
 protected:
  Contested() : path(scratch.files_ + "/data") {
    setenv("PMIO_REGISTRY", scratch.files_.c_str(), 1);
    std::ofstream(path).flush();
    for (uint32_t rank = 0; rank < 2; rank++) {
      JobOptions options;
      options.directory = scratch.log_;
      options.id = 0x77;
      options.rank = rank;
      options.ranks = 4;
      options.ranks_here = 2;
      options.capacity_bytes = 8 << 20;
      options.background = false;
      auto job = Job::join(options);
      EXPECT_TRUE(job.ok()) << job.status().message();
      all.push_back({std::move(job).value(), nullptr});
    }
    all[0].file = open(0);
  }
  std::shared_ptr<File> open(uint32_t rank) {
    Job::OpenOptions options;
    options.path = path;
    auto file = all[rank].job->open(options);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return *file;
  }
  void write(uint64_t offset, const std::string& text, uint32_t rank = 0) {
    ASSERT_TRUE(
        all[rank].file->append(offset, reinterpret_cast<const std::byte*>(text.data()), text.size(), 0).ok());
  }
  std::string read(uint64_t offset, uint64_t bytes, uint32_t rank = 0) {
    std::string text(bytes, '?');
    uint64_t got = 0;
    EXPECT_TRUE(all[rank].file->read(offset, reinterpret_cast<std::byte*>(text.data()), bytes, &got).ok());
    text.resize(got);
    return text;
  }
  std::string in_file() {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write_from_elsewhere(uint64_t offset, const std::string& text) {
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(pwrite(file.get(), text.data(), text.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(text.size()));
  }

  Scratch scratch;
  std::string path;
  std::vector<Rank> all;
};

TEST_F(Contested, IsLoggedUntilThen) {
  write(0, "hello");
  EXPECT_EQ(in_file(), "");
  EXPECT_EQ(read(0, 9), "hello");
  ASSERT_TRUE(all[0].file->contest().ok());
  EXPECT_EQ(in_file(), "hello");
}

TEST_F(Contested, IsWrittenAtOnceFromThenOn) {
  write(0, "hello");
  ASSERT_TRUE(all[0].file->contest().ok());
  write(1, "a");
  EXPECT_EQ(in_file(), "hallo");
  write_from_elsewhere(0, "H");
  EXPECT_EQ(read(0, 9), "Hallo") << "not what was logged once";
  write(0, "j");
  EXPECT_EQ(in_file(), "jallo");
  const Pattern every_other = [] {
    Pattern pattern;
    pattern.add({0, 1, 2, 3});
    pattern.finish(6);
    return pattern;
  }();
  const Pattern whole = Pattern::bytes(3);
  PatternCursor to(every_other, 0, 0), from(whole, 0, 0);
  ASSERT_TRUE(all[0].file->append(to, from, reinterpret_cast<const std::byte*>("xyz"), 3, 0).ok());
  EXPECT_EQ(in_file(), "xaylz");
  EXPECT_EQ(read(0, 9), "xaylz");
}

TEST_F(Contested, HoldsForAllRanksOfTheNode) {
  all[1].file = open(1);
  write(0, "first");
  write(5, "second", 1);
  // As the leader of the node does, which need not have it open.
  auto found = all[1].job->find(all[0].file->identity(), path);
  ASSERT_TRUE(found.ok() && found.value());
  ASSERT_TRUE(found.value()->contest().ok());
  EXPECT_EQ(in_file(), "firstsecond");
  write(0, "FIRST");
  write(5, "SECOND", 1);
  EXPECT_EQ(in_file(), "FIRSTSECOND");
  write_from_elsewhere(0, "f");
  for (const uint32_t rank : {0, 1}) EXPECT_EQ(read(0, 99, rank), "fIRSTSECOND");
}

TEST_F(Contested, IsFoundByARankThatDoesNotHaveItOpen) {
  write(0, "hello");
  EXPECT_TRUE(all[1].job->is_open(all[0].file->identity(), kThisNode));
  {
    auto found = all[1].job->find(all[0].file->identity(), path);
    ASSERT_TRUE(found.ok() && found.value());
    ASSERT_TRUE((*found)->contest().ok());
  }
  EXPECT_EQ(in_file(), "hello");
  write(0, "j");
  EXPECT_EQ(in_file(), "jello");
  const FileIdentity identity = all[0].file->identity();
  ASSERT_TRUE(all[0].file->closing().release().ok());
  all[0].file.reset();
  for (const Rank& rank : all) EXPECT_FALSE(rank.job->is_open(identity, kThisNode));
  all[0].file = open(0);
  write(0, "c");
  EXPECT_EQ(in_file(), "jello") << "it is open anew, and logged";
}

TEST_F(Contested, IsAsLongAsOthersHaveMadeIt) {
  write(0, "hello");
  ASSERT_TRUE(all[0].file->contest().ok());
  ASSERT_EQ(truncate(path.c_str(), 2), 0);
  EXPECT_EQ(read(0, 9), "he");
  EXPECT_EQ(all[0].file->size_bytes().value(), 2U);
}

// A write that is under way when others come is in the file when it returns.
TEST_F(Contested, HasEachWriteInTheFileThatReturnedAfterwards) {
  constexpr uint64_t kBytes = 64;
  for (int repeat = 0; repeat < 20; repeat++) {
    std::atomic<uint64_t> written{0};
    std::atomic<bool> stop{false};
    std::thread writer([&] {
      for (uint64_t i = 0; !stop && i < 20000; i++) {
        write(i * kBytes, std::string(kBytes, static_cast<char>('a' + i % 26)));
        written.store(i + 1);
      }
    });
    while (written.load() < 100) std::this_thread::yield();
    auto found = all[1].job->find(all[0].file->identity(), path);
    ASSERT_TRUE(found.ok() && found.value());
    ASSERT_TRUE((*found)->contest().ok());
    const uint64_t sure = written.load();
    const std::string bytes = in_file();
    ASSERT_GE(bytes.size(), sure * kBytes);
    for (uint64_t i = 0; i < sure; i++) ASSERT_EQ(bytes[i * kBytes], 'a' + static_cast<int>(i % 26)) << i;
    stop = true;
    writer.join();
    ASSERT_EQ(in_file().size(), written.load() * kBytes);
    ASSERT_TRUE(all[0].file->closing().release().ok());
    all[0].file.reset();
    ASSERT_EQ(truncate(path.c_str(), 0), 0);
    all[0].file = open(0);
  }
}

}  // namespace
}  // namespace pmio
