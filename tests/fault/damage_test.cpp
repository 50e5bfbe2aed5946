// Damage is told from a torn tail, with file, range and rank, wherever it sits, as far as anything on the
// medium tells it; and is told again by the next recovery.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "explore.h"
#include "log/ledger.h"
#include "node/control.h"

namespace pmio::fault {
namespace {

constexpr Setting kDeath{MediumKind::tmpfs, Durability::sync, Failure::process_death};
constexpr Setting kPower{MediumKind::dax, Durability::always, Failure::power_loss};
constexpr Setting kPowerSync{MediumKind::disk, Durability::sync, Failure::power_loss};

class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    std::string pattern =
        std::filesystem::exists("/dev/shm") ? "/dev/shm/pmio-damage-XXXXXX" : "/tmp/pmio-damage-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    target_ = root_ + "/data";
    write_bytes(target_, {});
  }
  ~DamageTest() override { std::filesystem::remove_all(root_); }

  // What a crash after these calls leaves, with everything that was stored.
  void crash(const Setting& setting, const History& history) {
    const std::string directory = root_ + "/logs/job-0000000000000007";
    std::filesystem::create_directories(directory);
    for (const std::string& made : {root_ + "/logs", directory})
      std::filesystem::permissions(made, std::filesystem::perms::owner_all);
    write_bytes(target_, {});
    Machine machine;
    machine.start(directory, target_);
    fault::Run run(setting, root_ + "/logs", target_, machine.opener(setting.kind, setting.durability), 7);
    for (const Operation& operation : history) ASSERT_TRUE(run.execute(operation).ok());
    machine.stop();
    image_ = machine.image(setting.failure, Fate::persist, 1);
  }

  Bytes& file(const std::string& name) {
    EXPECT_EQ(image_.files.count(name), 1u) << name;
    return image_.files[name];
  }
  LogRecord& record(const std::string& name, uint32_t index) {
    Bytes& bytes = file(name);
    return *reinterpret_cast<LogRecord*>(bytes.data() + bytes.size() - sizeof(LogRecord) * (index + 1));
  }
  Bytes& file_with_prefix(const std::string& prefix) {
    const auto found = image_.files.lower_bound(prefix);
    EXPECT_TRUE(found != image_.files.end() && found->first.compare(0, prefix.size(), prefix) == 0);
    return found->second;
  }

  RecoverReport recover_image() {
    write_image(image_, root_ + "/crash", "job-0000000000000007");
    write_bytes(target_, image_.target);
    set_modified(target_, image_.target_time);
    return recover_again();
  }
  RecoverReport recover_again() {
    RecoverOptions options;
    options.directory = root_ + "/crash";
    auto report = recover(options);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return *report;
  }

  // One damaged segment of rank 0, told twice; nothing else.
  Damage told() {
    const RecoverReport report = recover_image();
    EXPECT_FALSE(report.complete());
    EXPECT_EQ(report.jobs.size(), 1u);
    const FileOutcome& outcome = report.jobs.at(0).files.at(0);
    EXPECT_EQ(outcome.path, target_);
    EXPECT_EQ(outcome.damaged.size(), 1u);
    if (outcome.damaged.empty()) return {};
    EXPECT_EQ(outcome.damaged[0].rank, 0u);
    const RecoverReport again = recover_again();
    EXPECT_FALSE(again.complete());
    EXPECT_EQ(again.jobs.at(0).files.at(0).damaged.size(), 1u);
    return outcome.damaged[0].damage;
  }
  void expect_silent() {
    const RecoverReport report = recover_image();
    EXPECT_TRUE(report.complete());
    EXPECT_TRUE(recover_again().jobs.empty());
  }

  std::string root_, target_;
  Image image_;
};

const History kWrites = {{Call::write, 0, 0, 100}, {Call::write, 0, 200, 100}, {Call::write, 0, 400, 100}};

TEST_F(DamageTest, RotInTheMiddle) {
  for (const Setting& setting : {kDeath, kPower}) {
    crash(setting, kWrites);
    record("seg-0-0", 1).file_offset ^= 8;
    const Damage damage = told();
    EXPECT_EQ(damage.first, 1u);
    EXPECT_EQ(damage.acknowledged, setting.failure == Failure::process_death ? 3u : 2u);
    EXPECT_EQ(damage.unknown, 1u);
    EXPECT_EQ(read_bytes(target_).size(), 100u);
  }
}

TEST_F(DamageTest, RotInDataTellsTheRange) {
  for (const Setting& setting : {kDeath, kPower}) {
    crash(setting, kWrites);
    file("seg-0-0")[kHeaderBytes + 104 + 50] ^= std::byte{1};  // of the second write
    const Damage damage = told();
    EXPECT_EQ(damage.first, 1u);
    EXPECT_EQ(damage.unknown, 0u);
    ASSERT_FALSE(damage.lost.empty());
    EXPECT_EQ(damage.lost[0], (Vector{200, 100, 0, 1}));
  }
}

TEST_F(DamageTest, RotInTheLastRecordAfterTheDeathOfTheProcess) {
  crash(kDeath, kWrites);
  record("seg-0-0", 2).stamp_ns ^= 1;
  const Damage damage = told();
  EXPECT_EQ(damage.first, 2u);
  EXPECT_EQ(damage.acknowledged, 3u);
  EXPECT_EQ(read_bytes(target_).size(), 300u);
}

TEST_F(DamageTest, RotInAllRecordsAfterTheDeathOfTheProcess) {
  crash(kDeath, kWrites);
  Bytes& bytes = file("seg-0-0");
  std::fill(bytes.end() - 4096, bytes.end(), std::byte{0});
  EXPECT_EQ(told().acknowledged, 3u);
}

// docs/recovery.md: nothing tells this from a call that was under way.
TEST_F(DamageTest, RotInTheLastRecordAfterAPowerFailureIsUndecidable) {
  crash(kPower, kWrites);
  record("seg-0-0", 2).stamp_ns ^= 1;
  expect_silent();
  EXPECT_EQ(read_bytes(target_).size(), 300u);
}

// But the last record of a segment that was closed is covered by its seal.
TEST_F(DamageTest, RotInTheLastRecordOfAFullSegment) {
  crash(kPower, {{Call::fill, 0, 0, fault::Run::kFillBytes}, {Call::fill, 0, 0, fault::Run::kFillBytes}});
  ASSERT_EQ(image_.files.count("seg-0-1"), 1u);
  record("seg-0-0", 1).stamp_ns ^= 1;  // the fill went on in the next segment
  EXPECT_EQ(told().first, 1u);
}

// Where fences are not durable, a gap may be anything that did not get there.
TEST_F(DamageTest, AGapIsNoDamageWhereFencesDoNotLast) {
  crash(kPowerSync, kWrites);
  record("seg-0-0", 1).file_offset ^= 8;
  expect_silent();
}

TEST_F(DamageTest, DrainedRecordsMayRot) {
  crash(kDeath, {kWrites[0], kWrites[1], {Call::drain, 0}, kWrites[2]});
  record("seg-0-0", 0).file_offset ^= 8;
  file("seg-0-0")[kHeaderBytes] ^= std::byte{1};
  expect_silent();
  EXPECT_EQ(read_bytes(target_).size(), 500u);
}

TEST_F(DamageTest, RotInTheHeader) {
  crash(kPower, kWrites);
  file("seg-0-0")[200] ^= std::byte{1};
  const RecoverReport report = recover_image();
  EXPECT_FALSE(report.complete());
  ASSERT_EQ(report.jobs.at(0).unreadable.size(), 1u);
  EXPECT_NE(report.jobs.at(0).unreadable[0].find("seg-0-0"), std::string::npos);
  EXPECT_FALSE(recover_again().complete());
}

// A page that reads as zeros looks like a segment that was never used, but for the records behind it.
TEST_F(DamageTest, AHeaderOfZeros) {
  for (const Setting& setting : {kDeath, kPower}) {
    crash(setting, kWrites);
    std::fill_n(file("seg-0-0").begin(), 8192, std::byte{0});
    EXPECT_FALSE(recover_image().complete());
    EXPECT_FALSE(recover_again().complete());
  }
}

TEST_F(DamageTest, ASegmentThatIsGone) {
  crash(kDeath, kWrites);
  image_.files.erase("seg-0-0");
  const RecoverReport report = recover_image();
  EXPECT_FALSE(report.complete());
  const FileOutcome& outcome = report.jobs.at(0).files.at(0);
  ASSERT_EQ(outcome.damaged.size(), 1u);
  EXPECT_TRUE(outcome.damaged[0].lost);
  EXPECT_EQ(outcome.damaged[0].damage.acknowledged, 3u);
  EXPECT_EQ(outcome.damaged[0].damage.within, (Vector{0, 500, 0, 1}));
  EXPECT_FALSE(recover_again().complete());
}

// The slot before says less than was drained; what it calls undrained is older than what the file has.
TEST_F(DamageTest, RotInTheLedgersLastSlot) {
  crash(kDeath, {kWrites[0], {Call::drain, 0}, kWrites[1], {Call::drain, 0}, kWrites[2]});
  Bytes& ledger = file_with_prefix("ledger-");
  ledger[ledger.size() / 2 + sizeof(LedgerSlot)] ^= std::byte{1};
  const RecoverReport report = recover_image();
  EXPECT_FALSE(report.complete());
  EXPECT_NE(report.jobs.at(0).files.at(0).message.find("ledger is damaged"), std::string::npos);
}

TEST_F(DamageTest, RotInTheOnlySlotOfTheLedger) {
  crash(kDeath, {kWrites[0], {Call::drain, 0}, kWrites[1]});
  file_with_prefix("ledger-")[sizeof(LedgerSlot)] ^= std::byte{1};
  EXPECT_NE(recover_image().jobs.at(0).files.at(0).message.find("ledger is damaged"), std::string::npos);
}

// A call under way: whatever it has stored, in one record or several.
TEST_F(DamageTest, ATornTailIsSilent) {
  for (const Setting& setting : {kDeath, kPower}) {
    crash(setting, kWrites);
    Bytes& bytes = file("seg-0-0");
    std::fill_n(bytes.end() - 5 * static_cast<ptrdiff_t>(sizeof(LogRecord)), 2 * sizeof(LogRecord),
                std::byte{0x5a});
    expect_silent();
    EXPECT_EQ(read_bytes(target_).size(), 500u);
  }
}

// The control block is evidence, not truth: whatever is in it, nothing is restored by it or left out.
TEST_F(DamageTest, AControlBlockOfAnythingChangesNothing) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 30; i++) {
    crash(kDeath, kWrites);
    Bytes& bytes = file_with_prefix("file-");
    for (int k = 0; k < 200; k++) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (i % 2 == 0) reinterpret_cast<FileControl*>(bytes.data())->seats = static_cast<uint32_t>(random());
    recover_image();
    EXPECT_EQ(read_bytes(target_).size(), 500u);
  }
}

}  // namespace
}  // namespace pmio::fault
