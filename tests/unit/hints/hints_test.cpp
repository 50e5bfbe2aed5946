#include "hints/hints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace pmio {
namespace {

TEST(ParseBytes, TakesPlainNumbersAndPowersOf1024) {
  EXPECT_EQ(parse_bytes("0").value(), 0u);
  EXPECT_EQ(parse_bytes("4096").value(), 4096u);
  EXPECT_EQ(parse_bytes("64M").value(), 64u << 20);
  EXPECT_EQ(parse_bytes("64MiB").value(), 64u << 20);
  EXPECT_EQ(parse_bytes("1GiB").value(), 1u << 30);
  EXPECT_EQ(parse_bytes("3kb").value(), 3u << 10);
}

TEST(ParseBytes, RefusesAnythingElse) {
  for (const char* text :
       {"", "M", "-1", "1X", "1MM", "64 M", "1.5G", "99999999999999999999", "99999999999T"}) {
    EXPECT_FALSE(parse_bytes(text).ok()) << text;
  }
}

TEST(SetHint, SetsWhatTheKeySays) {
  Hints hints;
  EXPECT_TRUE(set_hint(hints, "pmio_mode", "off").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_dir", "/dev/shm/x").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_log_size", "1GiB").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_durability", "always").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_background", "off").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_keep_closed", "off").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_close", "Background").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_max_age", "1.5").ok());
  EXPECT_TRUE(set_hint(hints, "striping_unit", "1048576").ok());
  EXPECT_TRUE(set_hint(hints, "striping_factor", "4").ok());
  EXPECT_EQ(hints.mode, Mode::off);
  EXPECT_EQ(hints.directory, "/dev/shm/x");
  EXPECT_EQ(hints.log_bytes, 1u << 30);
  EXPECT_EQ(hints.durability, Durability::always);
  EXPECT_FALSE(hints.background);
  EXPECT_FALSE(hints.keep_closed);
  EXPECT_TRUE(hints.closes_in_background);
  EXPECT_TRUE(set_hint(hints, "pmio_close", "complete").ok());
  EXPECT_FALSE(hints.closes_in_background);
  EXPECT_EQ(set_hint(hints, "pmio_close", "later").code(), Code::invalid);
  EXPECT_EQ(hints.max_age_ns, 1'500'000'000u);
  EXPECT_EQ(hints.layout.striping_unit, 1048576u);
  EXPECT_EQ(hints.layout.striping_factor, 4u);
}

TEST(SetHint, TakesASizeForLargePieces) {
  Hints hints;
  EXPECT_EQ(hints.direct_from, kDirectFrom);
  EXPECT_EQ(direct_from(hints, false), kDirectFrom);
  EXPECT_EQ(direct_from(hints, true), kDirectFromInBackground);
  EXPECT_TRUE(set_hint(hints, "pmio_direct_from", "1M").ok());
  EXPECT_EQ(hints.direct_from, (DirectFrom{1 << 20, 1 << 20}));
  EXPECT_EQ(direct_from(hints, true), hints.direct_from);
  EXPECT_TRUE(set_hint(hints, "pmio_direct_from", "OFF").ok());
  EXPECT_EQ(hints.direct_from, DirectFrom{});
  EXPECT_EQ(set_hint(hints, "pmio_direct_from", "large").code(), Code::invalid);
  EXPECT_TRUE(set_hint(hints, "pmio_direct_from", "auto").ok());
  EXPECT_EQ(hints.direct_from, kDirectFrom);
}

TEST(SetHint, TakesAGoal) {
  Hints hints;
  EXPECT_TRUE(direct_from(hints, false).unless_hidden);
  EXPECT_TRUE(set_hint(hints, "pmio_goal", "Time-To-Log").ok());
  EXPECT_EQ(direct_from(hints, false), DirectFrom{});
  EXPECT_EQ(direct_from(hints, true), DirectFrom{});
  EXPECT_TRUE(set_hint(hints, "pmio_goal", "time-to-file").ok());
  EXPECT_FALSE(direct_from(hints, false).unless_hidden);
  EXPECT_EQ(direct_from(hints, false).warm, kDirectFrom.warm);
  EXPECT_EQ(set_hint(hints, "pmio_goal", "speed").code(), Code::invalid);
  EXPECT_TRUE(set_hint(hints, "pmio_direct_from", "1M").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_goal", "time-to-log").ok());
  EXPECT_EQ(direct_from(hints, false), (DirectFrom{1 << 20, 1 << 20})) << "who says a size has it";
  EXPECT_TRUE(set_hint(hints, "pmio_goal", "auto").ok());
  EXPECT_EQ(hints.goal, Goal::automatic);
}

TEST(SetHint, TakesWhetherPiecesAreGathered) {
  Hints hints;
  EXPECT_EQ(hints.gather, Gather::automatic);
  EXPECT_TRUE(set_hint(hints, "pmio_gather", "on").ok());
  EXPECT_EQ(hints.gather, Gather::on);
  EXPECT_TRUE(set_hint(hints, "pmio_gather", "No").ok());
  EXPECT_EQ(hints.gather, Gather::off);
  EXPECT_EQ(set_hint(hints, "pmio_gather", "sometimes").code(), Code::invalid);
  EXPECT_EQ(hints.gather, Gather::off);
  EXPECT_TRUE(set_hint(hints, "pmio_gather", "AUTO").ok());
  EXPECT_EQ(hints.gather, Gather::automatic);
}

TEST(SetHint, KeepsTheOldValueWhereTheNewOneIsBad) {
  Hints hints;
  hints.log_bytes = 7;
  EXPECT_EQ(set_hint(hints, "pmio_log_size", "big").code(), Code::invalid);
  EXPECT_EQ(hints.log_bytes, 7u);
  EXPECT_EQ(set_hint(hints, "pmio_lgo_size", "1M").code(), Code::invalid);
  EXPECT_EQ(set_hint(hints, "pmio_dir", "relative").code(), Code::invalid);
}

TEST(SetHint, TakesCraysHintsOfCollectiveBuffering) {
  Hints hints;
  for (const auto& [key, value] : std::vector<HintPair>{{"romio_cb_write", "enable"},
                                                        {"romio_cb_read", "disable"},
                                                        {"cb_buffer_size", "1M"},
                                                        {"cb_nodes", "7"},
                                                        {"cb_config_list", "n1:2,*:*"},
                                                        {"pmio_cb_align", "1"},
                                                        {"pmio_cb_memory", "pmem"},
                                                        {"pmio_cb_buffering", "on"}})
    EXPECT_TRUE(set_hint(hints, key, value).ok()) << key;
  const BufferingHints wanted{Buffering::enable,  Buffering::disable, 1 << 20, 7, "n1:2,*:*",
                              Alignment::stripes, BufferMemory::pmem, true};
  EXPECT_EQ(hints.buffering, wanted);
  for (const auto& [key, value] : std::vector<HintPair>{{"romio_cb_write", "yes"},
                                                        {"cb_nodes", "-1"},
                                                        {"cb_buffer_size", "x"},
                                                        {"cb_config_list", "n1:x"},
                                                        {"pmio_cb_align", "3"},
                                                        {"pmio_cb_memory", "disk"},
                                                        {"pmio_cb_buffering", "2"}})
    EXPECT_EQ(set_hint(hints, key, value).code(), Code::invalid) << key;
  EXPECT_EQ(hints.buffering, wanted);
}

TEST(SetHint, TellsWhatIsInForce) {
  TwoPhaseOptions options;
  options.aggregators = {0, 2};
  const auto pairs = buffering_in_force(options);
  EXPECT_EQ(std::count(pairs.begin(), pairs.end(), HintPair("cb_nodes", "2")), 1);
  EXPECT_EQ(std::count(pairs.begin(), pairs.end(), HintPair("pmio_cb_align", "2")), 1);
  EXPECT_EQ(std::count(pairs.begin(), pairs.end(), HintPair("romio_cb_write", "automatic")), 1);
  EXPECT_EQ(std::count(pairs.begin(), pairs.end(), HintPair("pmio_cb_memory", "dram")), 1);
  EXPECT_EQ(std::count(pairs.begin(), pairs.end(), HintPair("pmio_cb_buffering", "off")), 1);
}

TEST(OverrideHints, KnowsListsOfHosts) {
  std::vector<std::string> complaints;
  const char* text =
      "a:cb_config_list=*:4:cb_nodes=2,b:cb_config_list=\"n1:2,n2:*\":cb_nodes=3,c:cb_config_list=n1:1:wrong";
  using Pairs = std::vector<HintPair>;
  EXPECT_EQ(override_hints(text, "a", &complaints), (Pairs{{"cb_config_list", "*:4"}, {"cb_nodes", "2"}}));
  EXPECT_EQ(override_hints(text, "b", &complaints),
            (Pairs{{"cb_config_list", "n1:2,n2:*"}, {"cb_nodes", "3"}}));
  EXPECT_EQ(complaints, std::vector<std::string>{});
  (void)override_hints("a:b", "a", &complaints, "MPICH_MPIIO_HINTS");
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_EQ(complaints[0].rfind("MPICH_MPIIO_HINTS: ", 0), 0u);
}

TEST(SetHint, TakesModesWithoutALog) {
  Hints hints;
  EXPECT_TRUE(set_hint(hints, "pmio_mode", "Independent").ok());
  EXPECT_EQ(hints.mode, Mode::independent);
  EXPECT_TRUE(goes_straight(hints.mode));
  EXPECT_STREQ(mode_name(hints.mode), "independent");
}

TEST(SetHint, TakesWordsInCapitalsAndEveryWordForOff) {
  for (const char* off : {"off", "Off", "OFF", "0", "no", "False", "disable"}) {
    Hints hints;
    EXPECT_TRUE(set_hint(hints, "pmio_mode", off).ok()) << off;
    EXPECT_EQ(hints.mode, Mode::off) << off;
  }
  Hints hints;
  EXPECT_TRUE(set_hint(hints, "pmio_durability", "Always").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_background", "NO").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_mode", "Log").ok());
  EXPECT_TRUE(set_hint(hints, "pmio_interface", "ETH0").ok());
  EXPECT_EQ(hints.durability, Durability::always);
  EXPECT_FALSE(hints.background);
  EXPECT_EQ(hints.mode, Mode::log);
  EXPECT_EQ(hints.interface, "ETH0");
}

TEST(SetHint, TakesADirectoryForStatistics) {
  Hints hints;
  EXPECT_TRUE(set_hint(hints, "pmio_stats_dir", "/Scratch/stats/").ok());
  EXPECT_EQ(hints.stats_directory, "/Scratch/stats");
  const Status status = set_hint(hints, "pmio_stats_dir", "stats");
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("pmio_stats_dir"), std::string::npos) << status.message();
  EXPECT_EQ(hints.stats_directory, "/Scratch/stats");
}

TEST(SetHint, NamesAllKeysWhereOneIsUnknown) {
  Hints hints;
  const Status status = set_hint(hints, "pmio_logsize", "1G");
  for (const std::string_view key : hint_keys())
    EXPECT_NE(status.message().find(key), std::string::npos) << key;
}

TEST(OverrideHints, OfAllPatternsForWhoChecksThem) {
  std::vector<std::string> complaints;
  const auto pairs = every_override("*.h5:pmio_mode=off:x,b*:romio_cb_write=enable", &complaints);
  EXPECT_EQ(pairs, (std::vector<HintPair>{{"pmio_mode", "off"}, {"romio_cb_write", "enable"}}));
  EXPECT_EQ(complaints.size(), 1u);
}

TEST(SetHint, LeavesOtherLibrariesKeysAlone) {
  Hints hints;
  EXPECT_TRUE(set_hint(hints, "romio_ds_write", "enable").ok());
  EXPECT_TRUE(set_hint(hints, "ind_wr_buffer_size", "nonsense").ok());
}

TEST(OverrideHints, AppliesToMatchingNamesOnly) {
  std::vector<std::string> complaints;
  const char* text = "*.h5:pmio_mode=off:romio_cb_write=enable,out/*:pmio_log_size=64M";
  using Pairs = std::vector<HintPair>;
  EXPECT_EQ(override_hints(text, "/data/a.h5", &complaints),
            (Pairs{{"pmio_mode", "off"}, {"romio_cb_write", "enable"}}));
  EXPECT_EQ(override_hints(text, "out/b.dat", &complaints), (Pairs{{"pmio_log_size", "64M"}}));
  EXPECT_EQ(override_hints(text, "c.dat", &complaints), Pairs{});
  EXPECT_TRUE(complaints.empty());
}

TEST(SetHint, TakesALogThatThereCanBe) {
  Hints hints;
  for (const char* size : {"0", "1M", "64G"})
    EXPECT_TRUE(set_hint(hints, "pmio_log_size", size).ok()) << size;
  for (const char* size : {"1", "1K", "65G", "100T"})
    EXPECT_EQ(set_hint(hints, "pmio_log_size", size).code(), Code::invalid) << size;
  EXPECT_EQ(hints.log_bytes, uint64_t{64} << 30);
}

TEST(OverrideHints, MissesAPatternAndHints) {
  for (const char* text : {"a=b", "*.h5", "*.h5:", ":pmio_mode=off"}) {
    std::vector<std::string> complaints;
    EXPECT_TRUE(override_hints(text, "f.h5", &complaints).empty()) << text;
    EXPECT_EQ(complaints.size(), 1u) << text;
  }
}

TEST(OverrideHints, NamesWhatItCannotRead) {
  std::vector<std::string> complaints;
  EXPECT_TRUE(override_hints("*:pmio_mode,,:=x", "f", &complaints).empty());
  EXPECT_EQ(complaints.size(), 2u);
}

TEST(EnvironmentHints, ReadsItsOwnVariables) {
  setenv("PMIO_LOG_SIZE", "64M", 1);
  setenv("PMIO_SOMETHING_ELSE", "1", 1);
  const std::vector<HintPair> pairs = environment_hints();
  EXPECT_EQ(std::count(pairs.begin(), pairs.end(), HintPair("pmio_log_size", "64M")), 1);
  for (const HintPair& pair : pairs) EXPECT_NE(pair.first, "pmio_something_else");
}

TEST(SeenEnvironment, IsOldWhenAVariableChanges) {
  SeenEnvironment seen;
  EXPECT_FALSE(seen.is_now());
  const auto is_old = [&seen] {
    const bool old = !seen.is_now();
    seen.see();
    return old && seen.is_now();
  };
  EXPECT_TRUE(is_old());
  setenv("PMIO_MODE", "log", 1);
  EXPECT_TRUE(is_old());
  setenv("PMIO_MODE", "off", 1);
  EXPECT_TRUE(is_old());
  char text[] = "PMIO_MODE=log";
  putenv(text);
  EXPECT_TRUE(is_old());
  unsetenv("PMIO_MODE");
  EXPECT_TRUE(is_old());
  (void)getenv("PMIO_MODE");
  EXPECT_FALSE(is_old());
  clearenv();
  EXPECT_TRUE(is_old());
}

TEST(Durations, HaveUnits) {
  EXPECT_EQ(parse_duration("2").value(), 2'000'000'000u);
  EXPECT_EQ(parse_duration("0.25s").value(), 250'000'000u);
  EXPECT_EQ(parse_duration("500ms").value(), 500'000'000u);
  EXPECT_EQ(parse_duration("1min").value(), 60'000'000'000u);
  EXPECT_EQ(parse_duration("0").value(), 0u);
  EXPECT_EQ(parse_duration("off").value(), 0u);
  for (const char* bad : {"", "s", "-1", "1h", "1 s", "nan", "inf", "1e3", "100000", "2s3"})
    EXPECT_FALSE(parse_duration(bad).ok()) << bad;
}

}  // namespace
}  // namespace pmio
