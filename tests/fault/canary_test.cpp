// The tests of the test: each of these mistakes loses or invents bytes in some crash, and the exploration
// that finds nothing wrong with pmio must find it.
#include <gtest/gtest.h>

#include <cstring>

#include "base/checksum.h"
#include "explore.h"
#include "log/format.h"
#include "spoiled_medium.h"

namespace pmio::fault {
namespace {

constexpr Setting kPowerLoss{MediumKind::dax, Durability::always, Failure::power_loss};
constexpr Setting kDeath{MediumKind::tmpfs, Durability::sync, Failure::process_death};

const Operation kOlder{Call::write, 0, 0, 100};
const Operation kNewer{Call::write, 1, 50, 100};
const Operation kPieces{Call::pieces, 0, 20, 300};
const Operation kDrain{Call::drain, 0};
const Operation kGiveBack{Call::reopen, 1};

// Every crash in any of these, none of which loses anything where nothing is spoiled.
const std::vector<History> kHistories = {
    {kOlder, kNewer}, {kPieces, kNewer, kPieces}, {kOlder, kNewer, kDrain}, {kOlder, kNewer, kGiveBack}};

Tally explore_all(const Explorer::Options& options, const std::vector<History>& histories = kHistories) {
  Explorer explorer(options);
  for (const History& history : histories) explorer.explore(history, 0, Bytes(20));
  Tally tally = explorer.tally();
  std::printf("%llu crashes, %s\n", static_cast<unsigned long long>(tally.crashes),
              tally.losses.empty() ? "no loss" : tally.losses.front().c_str());
  return tally;
}

void expect_found(const Explorer::Options& options) { EXPECT_FALSE(explore_all(options).losses.empty()); }

template <class Mistake>
auto spoil(const std::string& prefix) {
  return [prefix](MediumOpener good) -> MediumOpener {
    return [=](const std::string& directory, Durability durability) -> Result<std::unique_ptr<Medium>> {
      auto medium = good(directory, durability);
      if (!medium.ok()) return medium.status();
      return std::unique_ptr<Medium>(std::make_unique<SpoiledMedium>(
          std::move(medium).value(), prefix, [](std::unique_ptr<Region> region) {
            return std::unique_ptr<Region>(std::make_unique<Mistake>(std::move(region)));
          }));
    };
  };
}

struct NoFence : SpoiledRegion {
  using SpoiledRegion::SpoiledRegion;
  Status fence() override { return {}; }
};

struct NoSync : SpoiledRegion {
  using SpoiledRegion::SpoiledRegion;
  Status sync() override { return {}; }
};

struct NoFlush : SpoiledRegion {
  using SpoiledRegion::SpoiledRegion;
  void flush(size_t, size_t) override {}
};

// Only the records are flushed: they may be durable before their data.
struct RecordsOnly : SpoiledRegion {
  using SpoiledRegion::SpoiledRegion;
  void flush(size_t offset_bytes, size_t length_bytes) override {
    if (offset_bytes < kHeaderBytes || offset_bytes > size_ / 2) good_->flush(offset_bytes, length_bytes);
  }
};

struct DataOnly : SpoiledRegion {
  using SpoiledRegion::SpoiledRegion;
  void flush(size_t offset_bytes, size_t length_bytes) override {
    if (offset_bytes < size_ / 2) good_->flush(offset_bytes, length_bytes);
  }
};

struct NoStore : SpoiledRegion {
  using SpoiledRegion::SpoiledRegion;
  void copy(size_t, const void*, size_t) override {}
};

TEST(Canary, NothingSpoiledNothingLost) {
  for (const Setting& setting : {kPowerLoss, kDeath}) {
    const Tally tally = explore_all({.setting = setting});
    EXPECT_TRUE(tally.losses.empty());
    EXPECT_GT(tally.crashes, 50u);
  }
}

TEST(Canary, AFenceLeftOut) { expect_found({.setting = kPowerLoss, .spoil_medium = spoil<NoFence>("seg-")}); }
TEST(Canary, AFlushLeftOut) { expect_found({.setting = kPowerLoss, .spoil_medium = spoil<NoFlush>("seg-")}); }
TEST(Canary, ARecordPublishedBeforeItsData) {
  expect_found({.setting = kPowerLoss, .spoil_medium = spoil<RecordsOnly>("seg-")});
}
TEST(Canary, DataPublishedBeforeTheirRecord) {
  expect_found({.setting = kPowerLoss, .spoil_medium = spoil<DataOnly>("seg-")});
}
TEST(Canary, AHeaderThatIsNotMadeDurable) {
  expect_found({.setting = {MediumKind::disk, Durability::sync, Failure::power_loss},
                .spoil_medium = spoil<NoSync>("seg-")});
}
// Segments are given back before anybody can know that they were drained: an older write comes back.
TEST(Canary, ASegmentGivenBackBeforeItsDrainIsDurable) {
  expect_found({.setting = kPowerLoss, .spoil_medium = spoil<NoSync>("ledger-")});
}
TEST(Canary, ASegmentGivenBackBeforeItsDrainIsRecorded) {
  expect_found({.setting = kDeath, .spoil_medium = spoil<NoStore>("ledger-")});
}
TEST(Canary, ATargetThatIsNotSyncedBeforeTheLedger) {
  expect_found({.setting = kPowerLoss, .spoil_target_sync = true});
}

// What a reader sees that does not look at the checksums, told by an honest one: they always match.
void believe_all(Image& image, bool data_too) {
  for (auto& [name, bytes] : image.files) {
    if (name.compare(0, 4, "seg-") != 0 || bytes.size() < kMinSegmentBytes) continue;
    SegmentHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    for (uint32_t i = 0; i < 20; i++) {
      std::byte* at = bytes.data() + bytes.size() - sizeof(LogRecord) * (i + 1);
      LogRecord record;
      std::memcpy(&record, at, sizeof record);
      if (record.kind == 0) break;
      const uint64_t begin = uint64_t{record.data_position} * kDataAlignment;
      const bool inside = begin < bytes.size() && record.length < bytes.size() - begin;
      if (data_too && inside) record.data_crc = crc32c(0, bytes.data() + begin, record.length);
      record.record_crc = record_checksum(record, header.salt, i);
      std::memcpy(at, &record, sizeof record);
    }
  }
}
TEST(Canary, AReaderThatBelievesRecords) {
  // The data must be whole, and of the record just that word of its eight missing which tells where they
  // belong: one history in eight does not meet that at any of its twenty writes.
  Explorer::Options options{.setting = kPowerLoss, .fates = {Fate::but_one}};
  options.spoil_image = [](Image& image) { believe_all(image, false); };
  const std::vector<History> short_writes = {History(20, {Call::write, 0, 3000, 8})};
  constexpr uint64_t kTries = 40;
  while (options.seed < kTries && explore_all(options, short_writes).losses.empty()) options.seed++;
  EXPECT_LT(options.seed, kTries);
}
TEST(Canary, AReaderThatBelievesData) {
  expect_found({.setting = kPowerLoss, .spoil_image = [](Image& image) { believe_all(image, true); }});
}

}  // namespace
}  // namespace pmio::fault
