#include "hints/cb_config_list.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

using List = std::vector<CbConfigEntry>;
using Ranks = std::vector<uint32_t>;
constexpr uint64_t kAll = CbConfigEntry::kAll;

TEST(CbConfigList, TakesHostsAndCounts) {
  EXPECT_EQ(parse_cb_config_list("*:*").value(), (List{{"*", kAll}}));
  EXPECT_EQ(parse_cb_config_list("*").value(), (List{{"*", 1}}));
  EXPECT_EQ(parse_cb_config_list(":3").value(), (List{{"*", 3}}));
  EXPECT_EQ(parse_cb_config_list(" node7:4 , node9,*:0").value(),
            (List{{"node7", 4}, {"node9", 1}, {"*", 0}}));
}

TEST(CbConfigList, SaysWhatIsWrong) {
  for (const char* bad :
       {"", ",", "a,", "a:", "a:b", "a:-1", "a:1x", "a b", "a:1:2", "a*", "a:99999999999999999999"}) {
    const auto list = parse_cb_config_list(bad);
    EXPECT_EQ(list.status().code(), Code::invalid) << bad;
    EXPECT_NE(list.status().message().find("cb_config_list"), std::string::npos);
  }
}

Ranks chosen(const char* list, std::vector<std::string> hosts, uint32_t count = 0) {
  return choose_by_config_list(parse_cb_config_list(list).value(), hosts, count);
}

TEST(CbConfigList, ChoosesHostByHostInTurn) {
  const std::vector<std::string> hosts{"a", "a", "a", "b", "b", "c.site.org"};
  EXPECT_EQ(chosen("*", hosts), (Ranks{0, 3, 5}));
  EXPECT_EQ(chosen("*:*", hosts), (Ranks{0, 3, 5, 1, 4, 2}));
  EXPECT_EQ(chosen("*:*", hosts, 4), (Ranks{0, 3, 5, 1}));
  EXPECT_EQ(chosen("b:2,*", hosts), (Ranks{3, 0, 5, 4}));
  EXPECT_EQ(chosen("*:2,a:0", hosts), (Ranks{3, 5, 4}));
  EXPECT_EQ(chosen("c", hosts), (Ranks{5})) << "without its domain";
  EXPECT_EQ(chosen("a.site.org", hosts), (Ranks{0})) << "with a domain that the host's name has not";
  EXPECT_EQ(chosen("a:1,a:3", hosts), (Ranks{0})) << "the first entry counts";
  EXPECT_EQ(chosen("nowhere:*", hosts), Ranks{});
  EXPECT_EQ(chosen("*:0", hosts), Ranks{});
}

}  // namespace
}  // namespace pmio
