// Job directories as a crash leaves them, made by the real writers, and the naive idea of what belongs into
// the file.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "drain/target.h"
#include "log/ledger.h"
#include "log/segment.h"
#include "node/control.h"
#include "recover/recover.h"
#include "support/bytes.h"
#include "support/oracle.h"

namespace pmio::test {

using Bytes = std::vector<std::byte>;

// An extent, or as often a vector, that begins below file_bytes: blocks of up to most_block bytes, less than
// most_gap bytes between them.
inline Vector random_range(std::mt19937_64& random, uint64_t file_bytes, uint64_t most_block,
                           uint64_t most_gap) {
  Vector where;
  where.block_length = 1 + random() % most_block;
  where.offset = static_cast<int64_t>(random() % file_bytes);
  if (random() % 2 == 0) {
    where.count = 2 + random() % 20;
    where.stride = static_cast<int64_t>(where.block_length + random() % most_gap);
  }
  return where;
}

inline Bytes read_file(const std::string& path) { return contents(path); }

inline void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline FileIdentity identity(const std::string& path) {
  auto result = identity_of(path);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *result;
}

// A job that has crashed, in the making.
class CrashedJob {
 public:
  CrashedJob(const std::string& log_directory, uint64_t id, uint32_t ranks) : id_(id), ranks_(ranks) {
    char name[32];
    std::snprintf(name, sizeof name, "/job-%016lx", static_cast<unsigned long>(id));
    auto parent = open_medium(log_directory, Durability::none);
    EXPECT_TRUE(parent.ok()) << parent.status().message();
    directory = log_directory + name;
    auto opened = open_medium(directory, Durability::none);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    medium = std::move(opened).value();
    std::ofstream(directory + "/alive");
  }

  struct Segment {
    std::unique_ptr<Region> region;
    SegmentWriter writer;
    std::string name;
  };

  Segment& segment(uint32_t rank, uint32_t slot, const std::string& path, size_t bytes = kMinSegmentBytes) {
    Segment& made = segments[{rank, slot}];
    if (made.region) return made;
    made.name = "seg-" + std::to_string(rank) + "-" + std::to_string(slot);
    auto region = medium->create(made.name, bytes);
    EXPECT_TRUE(region.ok()) << region.status().message();
    made.region = std::move(region).value();
    auto writer = SegmentWriter::format(*made.region, {id_, rank, slot, ranks_, recorded(path), path});
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    made.writer = *writer;
    return made;
  }

  void write(uint32_t rank, uint32_t slot, const std::string& path, const Vector& where, const Bytes& data,
             uint64_t stamp, uint32_t call = 0, bool last = false) {
    Segment& to = segment(rank, slot, path);
    ASSERT_LE(where.bytes(), to.writer.room_bytes());
    to.writer.append(where, data.data(), stamp, call, last);
    ASSERT_TRUE(to.writer.fence().ok());
  }

  // The first drained[(rank, slot)] records of each segment are in the file.
  void ledger(const std::string& path, const std::map<std::pair<uint32_t, uint32_t>, uint64_t>& drained,
              uint32_t flags = 0, std::optional<uint64_t> horizon = {}) {
    const std::string name = "ledger-" + file_key(recorded(path));
    if (!std::filesystem::exists(directory + "/" + name)) {
      ASSERT_TRUE(Ledger::create(*medium, name, 64).ok());
    }
    auto opened = Ledger::open(*medium, name, false);
    ASSERT_TRUE(opened.ok());
    LedgerState state;
    state.target = recorded(path);
    state.flags = flags;
    state.horizon = horizon;
    for (const auto& [which, records] : drained) {
      state.entries.push_back({which.first, which.second, segments[which].writer.salt(), records});
    }
    ASSERT_TRUE(opened->update(state).ok());
  }

  FileIdentity recorded(const std::string& path) const {
    FileIdentity one = identity(path);
    if (device) one.device = *device;
    return one;
  }

  std::optional<uint64_t> device;  // that the file had for the job
  std::string directory;
  std::unique_ptr<Medium> medium;
  std::map<std::pair<uint32_t, uint32_t>, Segment> segments;

 private:
  uint64_t id_;
  uint32_t ranks_;
};

class RecoverTest : public testing::Test {
 protected:
  void SetUp() override {
    // In memory where there is such a place: these tests sync thousands of times.
    const bool in_memory = std::getenv("TMPDIR") == nullptr && access("/dev/shm", W_OK) == 0;
    const auto place = in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    std::string pattern = (place / "pmio-recover-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
    logs = root + "/logs";
    target = root + "/data";
    write_file(target, {});
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  RecoverReport run(RecoverOptions options = {}) {
    options.directory = logs;
    auto report = recover(options);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? *report : RecoverReport{};
  }
  // What is left in the log directory, but for the lock.
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(logs)) {
      if (entry.path().filename() != kRecoverLock) names.push_back(entry.path().filename());
    }
    return names;
  }

  std::string root, logs, target;
};

}  // namespace pmio::test
