// Crashes at every event of every short history, and of long random ones: what was acknowledged is there,
// nothing is invented, the last writer wins, recovering twice or crashing in a recovery changes nothing.
// PMIO_FAULT_CALLS=4 tries all histories of up to so many calls (default 2); PMIO_FAULT_SEEDS=1000 so many
// long ones, from PMIO_FAULT_SEED on; PMIO_FAULT_EVERY=1 crashes at every event also where that takes long.
#include <gtest/gtest.h>

#include <cstdlib>

#include "explore.h"

namespace pmio::fault {
namespace {

const Setting kSettings[] = {
    {MediumKind::tmpfs, Durability::sync, Failure::process_death},
    {MediumKind::dax, Durability::always, Failure::power_loss},
    {MediumKind::disk, Durability::always, Failure::power_loss},
    {MediumKind::disk, Durability::sync, Failure::power_loss},
    {MediumKind::disk, Durability::sync, Failure::process_death},
};

uint64_t asked_for(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

const Bytes& initial() {
  static const Bytes bytes(40, std::byte{0xaa});
  return bytes;
}

const History kAlphabet = {
    {Call::write, 0, 0, 24}, {Call::write, 1, 8, 100}, {Call::pieces, 0, 4, 30}, {Call::drain, 0},
    {Call::sync, 1},         {Call::truncate, 0, 16},  {Call::reopen, 0},        {Call::discard, 1},
};

// All histories of `calls` calls, after what has happened before. Only the last call is crashed: the crashes
// of the calls before it are those of a shorter history.
void every_history(Explorer& explorer, const History& alphabet, size_t calls, History history) {
  if (calls == 0) return explorer.explore(history, history.size() - 1, initial());
  for (const Operation& operation : alphabet) {
    history.push_back(operation);
    every_history(explorer, alphabet, calls - 1, history);
    history.pop_back();
  }
}

void expect_no_loss(const Setting& setting, const Tally& tally) {
  for (const std::string& loss : tally.losses) ADD_FAILURE() << loss;
  std::printf("%s: %llu histories, %llu crashes (%llu of a recovery), %zu losses\n",
              describe(setting).c_str(), static_cast<unsigned long long>(tally.histories),
              static_cast<unsigned long long>(tally.crashes),
              static_cast<unsigned long long>(tally.recovery_crashes), tally.losses.size());
}

class Crash : public testing::TestWithParam<Setting> {};

TEST_P(Crash, EveryShortHistory) {
  Explorer explorer({.setting = GetParam()});
  for (size_t calls = 1; calls <= asked_for("PMIO_FAULT_CALLS", 2); calls++)
    every_history(explorer, kAlphabet, calls, {});
  expect_no_loss(GetParam(), explorer.tally());
}

TEST_P(Crash, EveryCrashOfARecovery) {
  Explorer explorer(
      {.setting = GetParam(), .crash_recovery = true, .every = asked_for("PMIO_FAULT_EVERY", 5)});
  const History alphabet = {kAlphabet[1], kAlphabet[2], kAlphabet[3]};
  for (size_t calls = 1; calls <= asked_for("PMIO_FAULT_CALLS", 2); calls++)
    every_history(explorer, alphabet, calls, {});
  expect_no_loss(GetParam(), explorer.tally());
}

// The log is full when it begins: the next call drains, gives segments back and uses them again.
TEST_P(Crash, SegmentsThatAreUsedAgain) {
  Explorer explorer({.setting = GetParam(), .every = asked_for("PMIO_FAULT_EVERY", 17)});
  const Operation fill{Call::fill, 0, 0, Run::kFillBytes};
  History full;
  for (int i = 0; i < 4; i++)
    full.push_back({Call::fill, 0, static_cast<uint64_t>(i) * 1000, Run::kFillBytes});
  full.push_back({Call::write, 1, 500, 3000});  // newer than what is in rank 0's segments
  explorer.explore({full[0], full[1], full[2], full[3], full[4], fill}, 5, {});
  explorer.explore({full[0],
                    full[1],
                    full[2],
                    full[3],
                    full[4],
                    fill,
                    {Call::write, 1, 0, 700},
                    {Call::reopen, 0},
                    {Call::write, 0, 600, 200}},
                   7, {});
  expect_no_loss(GetParam(), explorer.tally());
}

Operation random_operation(std::mt19937_64& random) {
  const auto rank = static_cast<uint32_t>(random() % Run::kRanks);
  const uint64_t offset = random() % 5000;
  switch (random() % 16) {
    case 0:
      return {Call::drain, rank};
    case 1:
      return {Call::sync, rank};
    case 2:
      return {Call::truncate, rank, offset};
    case 3:
      return {Call::reopen, rank};
    case 4:
      return random() % 4 == 0 ? Operation{Call::discard, rank} : Operation{Call::drain, rank};
    case 5:
      return {Call::fill, rank, offset, Run::kFillBytes};
    case 6:
    case 7:
    case 8:
    case 9:
      return {Call::pieces, rank, offset, 3 + random() % 3000};
    default:
      return {Call::write, rank, offset, 1 + random() % 3000};
  }
}

TEST_P(Crash, LongRandomHistories) {
  Tally all;
  const uint64_t first = asked_for("PMIO_FAULT_SEED", 1);
  for (uint64_t seed = first; seed < first + asked_for("PMIO_FAULT_SEEDS", 6); seed++) {
    std::mt19937_64 random(seed);
    History history;
    for (uint64_t calls = 5 + random() % 30; calls > 0; calls--) history.push_back(random_operation(random));
    Explorer explorer({.setting = GetParam(),
                       .crash_recovery = seed % 8 == 0,
                       .every = asked_for("PMIO_FAULT_EVERY", 3),
                       .seed = seed});
    explorer.explore(history, history.size() - 3, initial());
    all.histories++;
    all.crashes += explorer.tally().crashes;
    all.recovery_crashes += explorer.tally().recovery_crashes;
    all.losses.insert(all.losses.end(), explorer.tally().losses.begin(), explorer.tally().losses.end());
  }
  expect_no_loss(GetParam(), all);
}

INSTANTIATE_TEST_SUITE_P(Media, Crash, testing::ValuesIn(kSettings),
                         [](const testing::TestParamInfo<Setting>& one) {
                           std::string name = describe(one.param);
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

}  // namespace
}  // namespace pmio::fault
