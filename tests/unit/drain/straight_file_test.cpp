// A file without a log: random views and buffers, against a naive array of bytes.
#include "drain/straight_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "records.h"
#include "support/bytes.h"

namespace pmio {
namespace {

using test::below;
using test::Random;

class Straight : public ::testing::Test {
 protected:
  Straight() {
    char name[] = "/tmp/pmio_straight_XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/file";
  }
  ~Straight() override { std::filesystem::remove_all(directory_); }

  void put(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }
  std::string content() const { return contents<std::string>(path_); }
  StraightFile open(TargetFile::Access access = TargetFile::Access::read_write,
                    StraightFile::Sharing sharing = StraightFile::Sharing::node) {
    return StraightFile(std::move(TargetFile::open(path_, access)).value(), sharing);
  }

  std::string directory_, path_;
};

// Of some blocks in ascending order; memory: in any.
Pattern random_pattern(Random& random, bool memory, uint64_t largest) {
  Pattern pattern;
  int64_t at = static_cast<int64_t>(below(random, 50));
  for (uint64_t parts = 1 + below(random, 4); parts > 0; parts--) {
    Vector part{at, 1 + below(random, largest), 0, 1 + below(random, 5)};
    if (part.count > 1) part.stride = static_cast<int64_t>(part.block_length + below(random, 2 * largest));
    pattern.add(part);
    at = part.end() + static_cast<int64_t>(below(random, largest));
  }
  if (memory && below(random, 2) == 0) std::reverse(pattern.parts.begin(), pattern.parts.end());
  pattern.finish(at + static_cast<int64_t>(below(random, 10)));
  return pattern;
}

struct Transfer {
  Transfer(Random& random, uint64_t largest)
      : view(random_pattern(random, false, largest)),
        memory(random_pattern(random, true, largest)),
        displacement(static_cast<int64_t>(below(random, 100))),
        skip(below(random, 3 * view.size)),
        bytes(1 + below(random, 8 * view.size)),
        buffer(static_cast<size_t>(memory.extent) * (bytes / memory.size + 1)) {
    fill_randomly(random, buffer);
  }
  PatternCursor in_file() const { return {view, displacement, skip}; }
  PatternCursor in_memory() const { return {memory, 0, 0}; }

  Pattern view, memory;
  int64_t displacement;
  uint64_t skip, bytes;
  std::vector<std::byte> buffer;
};

// As bytes one by one.
std::vector<std::pair<size_t, size_t>> places(const Transfer& transfer) {
  std::vector<std::pair<size_t, size_t>> all;
  PatternCursor file = transfer.in_file(), memory = transfer.in_memory();
  for (uint64_t i = 0; i < transfer.bytes; i++)
    all.emplace_back(file.next_piece(1).offset, memory.next_piece(1).offset);
  return all;
}

uint64_t largest_of(Random& random) {
  return below(random, 8) == 0 ? 90000 : below(random, 3) == 0 ? 900 : 20;
}

TEST_F(Straight, WritesWhatIsGivenAndNothingElse) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Transfer transfer(random, largest_of(random));
    std::string expected(below(random, 4000), 'x');
    put(expected);
    for (const auto& [at, from] : places(transfer)) {
      if (expected.size() <= at) expected.resize(at + 1);
      expected[at] = static_cast<char>(transfer.buffer[from]);
    }
    StraightFile file = open(TargetFile::Access::write_only);
    PatternCursor to = transfer.in_file(), from = transfer.in_memory();
    ASSERT_TRUE(file.write(to, from, transfer.buffer.data(), transfer.bytes).ok());
    ASSERT_TRUE(content() == expected);
  }
}

TEST_F(Straight, ReadsToTheEndOfTheFileAndLeavesTheRest) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Transfer transfer(random, largest_of(random));
    const auto all = places(transfer);
    std::string there(below(random, all.back().first + 200), '\0');
    for (char& c : there) c = static_cast<char>(random());
    put(there);
    auto expected = transfer.buffer;
    uint64_t count = 0;
    for (const auto& [at, to] : all) {
      if (at >= there.size()) break;
      expected[to] = static_cast<std::byte>(there[at]);
      count++;
    }
    StraightFile file =
        open(TargetFile::Access::read_only,
             below(random, 2) == 0 ? StraightFile::Sharing::node : StraightFile::Sharing::nodes);
    PatternCursor from = transfer.in_file(), to = transfer.in_memory();
    uint64_t got = 0;
    ASSERT_TRUE(file.read(from, to, transfer.buffer.data(), transfer.bytes, &got).ok());
    ASSERT_EQ(got, count);
    ASSERT_TRUE(transfer.buffer == expected);
  }
}

TEST_F(Straight, LosesNoNeighboursBytes) {
  constexpr int kWriters = 4, kRounds = 30;
  constexpr uint64_t kRecords = 500, kRecord = 8;
  put("");
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; writer++) {
    writers.emplace_back([this, writer] {
      StraightFile file = open();
      Pattern view;
      view.add({writer * static_cast<int64_t>(kRecord), kRecord, 0, 1});
      view.finish(kWriters * kRecord);
      const Pattern stream = Pattern::bytes(1);
      for (int round = 0; round < kRounds; round++) {
        const std::vector<std::byte> data(kRecords * kRecord, static_cast<std::byte>(round + writer));
        PatternCursor to(view, 0, 0), from(stream, 0, 0);
        ASSERT_TRUE(file.write(to, from, data.data(), data.size()).ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string found = content();
  ASSERT_EQ(found.size(), kWriters * kRecords * kRecord);
  for (size_t i = 0; i < found.size(); i++)
    ASSERT_EQ(found[i], static_cast<char>(kRounds - 1 + static_cast<int>(i / kRecord % kWriters))) << i;
}

TEST_F(Straight, TellsWhyItCannotWrite) {
  put("abc");
  StraightFile file = open(TargetFile::Access::read_only);
  const Pattern stream = Pattern::bytes(1);
  PatternCursor to(stream, 0, 0), from(stream, 0, 0);
  const std::byte data[2]{};
  EXPECT_FALSE(file.write(to, from, data, 2).ok());
  EXPECT_EQ(content(), "abc");
}

}  // namespace
}  // namespace pmio
