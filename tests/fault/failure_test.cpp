// The medium fails or is full, the target fails, and then the machine does too: a call that failed may have
// left its bytes, a call that was acknowledged has, before and after it.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "explore.h"
#include "log/target_mark.h"
#include "spoiled_medium.h"

namespace pmio::fault {
namespace {

const History kHistory = {
    {Call::write, 0, 0, 24}, {Call::pieces, 1, 8, 300}, {Call::drain, 0},       {Call::write, 1, 4, 100},
    {Call::write, 0, 0, 50}, {Call::drain, 1},          {Call::write, 0, 7, 9}, {Call::sync, 0},
};

const Setting kSettings[] = {
    {MediumKind::dax, Durability::always, Failure::power_loss},
    {MediumKind::disk, Durability::always, Failure::power_loss},
    {MediumKind::disk, Durability::sync, Failure::process_death},
};

// Each event of the kind fails in its turn, until none is left, with a crash at every so-manieth event.
void fail_each(Event event, const History& history, bool must_fail_calls, uint64_t every) {
  for (const Setting& setting : kSettings) {
    uint64_t number = 1;
    uint64_t failed_calls = 0;
    uint64_t crashes = 0;
    for (;; number++) {
      const char* asked = std::getenv("PMIO_FAULT_EVERY");
      if (asked != nullptr) every = std::strtoull(asked, nullptr, 10);
      Explorer explorer({.setting = setting, .every = every, .fail = {{event, number}}, .seed = number});
      explorer.explore(history, 0, Bytes(30, std::byte{0xaa}));
      const Tally& tally = explorer.tally();
      for (const std::string& loss : tally.losses)
        ADD_FAILURE() << event_name(event) << " " << number << " fails, " << loss;
      crashes += tally.crashes;
      failed_calls += tally.failed_calls;
      if (!tally.failure_happened) break;
    }
    std::printf("%s: %llu failures of %s, %llu failed calls, %llu crashes\n", describe(setting).c_str(),
                static_cast<unsigned long long>(number - 1), event_name(event),
                static_cast<unsigned long long>(failed_calls), static_cast<unsigned long long>(crashes));
    EXPECT_GT(number, 2u);
    EXPECT_TRUE(failed_calls > 0 || !must_fail_calls);
  }
}

TEST(Failure, EveryFence) { fail_each(Event::fence, kHistory, true, 3); }
TEST(Failure, EverySync) { fail_each(Event::sync, kHistory, true, 5); }
TEST(Failure, EveryWriteToTheTarget) { fail_each(Event::write, kHistory, true, 5); }
TEST(Failure, EverySyncOfTheTarget) { fail_each(Event::write_sync, kHistory, true, 5); }

// No room for another segment: the log shrinks to what it has, and the call drains instead of failing.
TEST(Failure, EveryNewFile) {
  const Operation fill{Call::fill, 0, 0, Run::kFillBytes};
  fail_each(Event::create,
            {{Call::write, 1, 0, 100}, fill, {Call::drain, 1}, fill, fill, {Call::write, 0, 10, 50}}, false,
            97);
}

class SyncFailsOnce final : public SpoiledRegion {
 public:
  using SpoiledRegion::SpoiledRegion;
  Status sync() override { return failed_ ? good_->sync() : (failed_ = true, Status(Code::io, "sync", EIO)); }

 private:
  bool failed_ = false;
};

// A mark that could not be made durable is not taken for said by the next round.
TEST(Failure, OfTheTargetsMark) {
  char pattern[] = "/dev/shm/pmio-mark-XXXXXX";
  const std::string directory = mkdtemp(pattern);
  auto plain = open_medium(directory, Durability::none);
  ASSERT_TRUE(plain.ok());
  SpoiledMedium medium(std::move(*plain), "mark", [](std::unique_ptr<Region> region) {
    return std::make_unique<SyncFailsOnce>(std::move(region));
  });
  auto mark = TargetMark::create(medium, "mark");
  ASSERT_TRUE(mark.ok());
  mark->settled({100, 5000});
  const auto tells = [&] {
    auto region = medium.open("mark", true);
    return changed_since({(*region)->data(), (*region)->size_bytes()}, {101, 5000}, this_boot());
  };
  EXPECT_FALSE(mark->writing().ok());
  EXPECT_TRUE(tells());  // as before
  EXPECT_TRUE(mark->writing().ok());
  EXPECT_FALSE(tells());
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace pmio::fault
