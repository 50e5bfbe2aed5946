// A file that somebody who is not of the job writes while it is open: pmio notices it, says so once, and
// writes nothing between the program's bytes from then on.
#include <fcntl.h>

#include "support/node_fixture.h"
#include "support/said.h"

namespace pmio {
namespace {

constexpr uint64_t kPieces = 300;  // more than are written one by one anyway
constexpr uint64_t kApart = 32;

class Others : public testing::Test {
 protected:
  Others() : path(scratch.files_ + "/data") {
    setenv("PMIO_REGISTRY", scratch.files_.c_str(), 1);
    std::ofstream(path) << std::string(kPieces * kApart, '.');
    JobOptions options;
    options.directory = scratch.log_;
    options.id = std::hash<std::string>()(scratch.log_);
    options.capacity_bytes = 4 << 20;
    options.background = false;
    options.say = said.listener();
    job = std::move(Job::join(options)).value();
    file = *job->open({path, false, {}});
  }
  ~Others() override { EXPECT_TRUE(file->closing().release().ok()); }

  void write_pieces(char value) {
    const std::vector<std::byte> bytes(8, static_cast<std::byte>(value));
    for (uint64_t i = 0; i < kPieces; i++)
      ASSERT_TRUE(file->append(i * kApart, bytes.data(), bytes.size(), 0).ok());
  }
  uint64_t writes_of_a_round(char value) {
    write_pieces(value);
    const uint64_t before = file->target().counters().writes[0] + file->target().counters().writes[1];
    EXPECT_TRUE(file->drain().ok());
    return file->target().counters().writes[0] + file->target().counters().writes[1] - before;
  }
  void write_past(uint64_t offset, const std::string& text) {
    usleep(20'000);  // than the clock of the file system has ticks
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(pwrite(fd, text.data(), text.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(text.size()));
    ::close(fd);
  }

  Scratch scratch;
  std::string path;
  test::Said said;
  std::unique_ptr<Job> job;
  std::shared_ptr<File> file;
};

TEST_F(Others, AreNoticedAndSaidOnce) {
  EXPECT_EQ(writes_of_a_round('a'), 1u);
  EXPECT_EQ(writes_of_a_round('b'), 1u);
  EXPECT_EQ(said.texts(), std::vector<std::string>());
  write_past(12, "gap");
  EXPECT_EQ(writes_of_a_round('c'), kPieces);
  ASSERT_EQ(said.texts().size(), 1u);
  EXPECT_NE(said.texts()[0].find(path), std::string::npos);
  write_past(44, "gap");
  EXPECT_EQ(writes_of_a_round('d'), kPieces);
  EXPECT_EQ(said.texts().size(), 1u);
  const auto bytes = contents(path);
  EXPECT_EQ(static_cast<char>(bytes[12]), 'g');
  EXPECT_EQ(static_cast<char>(bytes[44]), 'g');
  EXPECT_EQ(static_cast<char>(bytes[32]), 'd');
}

TEST_F(Others, AreNoticedBetweenTheFirstWriteAndTheFirstRound) {
  write_pieces('a');
  write_past(kPieces * kApart, "more");
  EXPECT_EQ(writes_of_a_round('b'), kPieces);
  ASSERT_EQ(said.texts().size(), 1u);
  EXPECT_NE(said.texts()[0].find(std::to_string(kPieces * kApart + 4)), std::string::npos) << said.texts()[0];
}

// Before the job writes it, anybody may.
TEST_F(Others, AreNoneBeforeTheFirstWrite) {
  write_past(12, "gap");
  EXPECT_EQ(writes_of_a_round('a'), 1u);
  EXPECT_EQ(said.texts(), std::vector<std::string>());
}

// A call that was handed on wrote it, or changed its size.
TEST_F(Others, AreNotTheJobItself) {
  EXPECT_EQ(writes_of_a_round('a'), 1u);
  file->changes().invalidate_cache();
  write_past(12, "gap");
  EXPECT_EQ(writes_of_a_round('b'), 1u);
  ASSERT_TRUE(file->drain(DrainScope::for_library_write).ok());
  EXPECT_EQ(writes_of_a_round('c'), kPieces);
  write_past(12, "gap");
  EXPECT_EQ(writes_of_a_round('d'), kPieces);
  EXPECT_EQ(said.texts(), std::vector<std::string>());
}

}  // namespace
}  // namespace pmio
