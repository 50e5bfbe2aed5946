#include "preload/roll_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace pmio {
namespace {

constexpr int kForeverMs = 3'600'000;  // who waits for that has failed the test
constexpr int kLongestPauseUs = 3000;

// What becomes of a name that is put up twice, and how often a call fails, of a thousand.
enum class Again { newer_counts, older_counts, is_refused, hides_both };
struct Names {
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> values;
  Again again = Again::newer_counts;
  bool works = true;
  unsigned failing = 0;
};
Names* names = nullptr;
thread_local std::minstd_rand* delays = nullptr;

void delay() {
  if (delays != nullptr)
    std::this_thread::sleep_for(std::chrono::microseconds((*delays)() % kLongestPauseUs));
}

bool fails() { return delays != nullptr && (*delays)() % 1000 < names->failing; }

int put(const char* name, const char* value) {
  delay();
  const bool lost = fails(), untold = fails();
  const std::lock_guard lock(names->mutex);
  if (!names->works || lost) return 0;
  std::vector<std::string>& there = names->values[name];
  if (names->again == Again::is_refused && !there.empty()) return 0;
  there.emplace_back(value);
  return untold ? 0 : 1;
}

int get(const char* name, char* value) {
  delay();
  if (fails()) return 0;
  const std::lock_guard lock(names->mutex);
  const auto found = names->values.find(name);
  if (found == names->values.end()) return 0;
  const std::vector<std::string>& there = found->second;
  if (names->again == Again::hides_both && there.size() > 1) return 0;
  const std::string& counts = names->again == Again::older_counts ? there.front() : there.back();
  std::strncpy(value, counts.c_str(), PMIO_BOARD_VALUE - 1);
  return 1;
}

constexpr pmio_board kBoard{&put, &get};
using Node = std::vector<int>;

pmio_roll call(const Node& node, int ranks, int patience_ms) {
  const pmio_node_roll roll{"job", node.data(), static_cast<int>(node.size()), ranks, patience_ms};
  return pmio_roll_nodes(&kBoard, &roll);
}

class RollNodes : public testing::Test {
 protected:
  RollNodes() { names = &names_; }

  // What each of these nodes finds. They begin at once, or each when it likes.
  static std::vector<pmio_roll> call_all(const std::vector<Node>& nodes, int ranks, int patience_ms,
                                         unsigned seed = 0) {
    std::vector<pmio_roll> found(nodes.size());
    std::vector<std::thread> leaders;
    for (size_t i = 0; i < nodes.size(); ++i) {
      leaders.emplace_back([&, i] {
        std::minstd_rand random(seed + static_cast<unsigned>(i) + 1);
        delays = seed == 0 ? nullptr : &random;
        for (int late = 0; seed != 0 && late < static_cast<int>(random() % 8); ++late) delay();
        found[i] = call(nodes[i], ranks, patience_ms);
      });
    }
    for (std::thread& leader : leaders) leader.join();
    return found;
  }

  static int count(const std::vector<pmio_roll>& found, pmio_roll which) {
    return static_cast<int>(std::count(found.begin(), found.end(), which));
  }

  static void expect_all(const std::vector<Node>& nodes, int ranks) {
    const std::vector<pmio_roll> found = call_all(nodes, ranks, kForeverMs);
    EXPECT_EQ(static_cast<size_t>(count(found, PMIO_ROLL_ALL)), nodes.size());
  }

  Names names_;
};

TEST_F(RollNodes, AllAreThereInBlocks) { expect_all({{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}, 9); }
TEST_F(RollNodes, AllAreThereInTurn) { expect_all({{0, 3, 6}, {1, 4, 7}, {2, 5, 8}}, 9); }
TEST_F(RollNodes, AllAreThereOneEach) { expect_all({{0}, {1}, {2}, {3}}, 4); }

TEST_F(RollNodes, AllAreThereInNoOrder) {
  constexpr int kRanks = 2000;
  constexpr size_t kNodes = 3;
  std::vector<int> order(kRanks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
  std::vector<Node> nodes(kNodes);
  for (size_t i = 0; i < order.size(); ++i) nodes[i % kNodes].push_back(order[i]);
  for (Node& node : nodes) std::sort(node.begin(), node.end());
  expect_all(nodes, kRanks);
  for (const auto& [name, values] : names_.values) {
    ASSERT_EQ(values.size(), 1u) << name;
    EXPECT_LT(values[0].size(), 256u) << name;  // MPI_MAX_PORT_NAME
  }
}

TEST_F(RollNodes, ANodeThatNeverComesIsMissing) {
  const std::vector<pmio_roll> found = call_all({{0, 1}, {4, 5}}, 6, 50);
  EXPECT_EQ(count(found, PMIO_ROLL_ALL), 0);
  EXPECT_GE(count(found, PMIO_ROLL_TO_SAY), 1);
}

TEST_F(RollNodes, NobodyDecidesAndAllLeave) {
  const std::vector<pmio_roll> found = call_all({{2, 3}, {4, 5}}, 6, 50);
  EXPECT_EQ(count(found, PMIO_ROLL_ALL), 0);
  EXPECT_GE(count(found, PMIO_ROLL_TO_SAY), 1);
}

TEST_F(RollNodes, WhatANodeSaysOfItselfIsWaitedForByNobody) {
  for (const bool of_rank_0 : {false, true}) {
    names_.values.clear();
    const Node incomplete = of_rank_0 ? Node{0} : Node{2};
    const pmio_node_roll node{"job", incomplete.data(), 1, 6, kForeverMs};
    pmio_roll_incomplete(&kBoard, &node);
    const std::vector<pmio_roll> found =
        of_rank_0 ? call_all({{2, 3}, {4, 5}}, 6, kForeverMs) : call_all({{0, 1}, {4, 5}}, 6, kForeverMs);
    EXPECT_EQ(count(found, PMIO_ROLL_ALL) + count(found, PMIO_ROLL_UNKNOWN), 0);
  }
}

TEST_F(RollNodes, WithoutAServiceNothingIsKnown) {
  names_.works = false;
  const std::vector<pmio_roll> found = call_all({{0, 1}, {2, 3}}, 4, kForeverMs);
  EXPECT_EQ(count(found, PMIO_ROLL_UNKNOWN), 2);
}

TEST_F(RollNodes, ValuesOfSomebodyElseAreNotTaken) {
  for (const char* value : {"", "2", "2:2", "2:2:1", "2:3:1,.", "-2:2:1,.", "2:0:1,.", "2:2:0,.", "2:2:-1,.",
                            "99999999999999999999:2:1,.", "2:2:2147483647,.", "x:2:1,.", "3:1:1,.", "."}) {
    names_.values = {{"pmio-job-ranks-2-0", {value}}};
    EXPECT_EQ(call({0, 1}, 4, 50), PMIO_ROLL_TO_SAY) << value;
  }
}

// Whatever is late or fails: all find the same, for those who vote would wait for ever for those who do not.
TEST_F(RollNodes, AllFindTheSameHoweverLateTheyAre) {
  constexpr unsigned kSeeds = 160;
  int all = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    names_.values.clear();
    names_.again = static_cast<Again>(seed % 4);
    names_.failing = seed / 4 % 2 * 50;
    const std::vector<Node> nodes{{0, 4}, {1, 5}, {2, 6}, {3, 7}};
    const bool waits = seed % 5 == 0 && names_.failing == 0;  // else somebody may never tell
    const int patience = waits ? kForeverMs : 5 + static_cast<int>(seed % 30);
    const std::vector<pmio_roll> found = call_all(nodes, 8, patience, seed * 16);
    const int here = count(found, PMIO_ROLL_ALL);
    EXPECT_TRUE(here == 0 || here == static_cast<int>(nodes.size())) << "seed " << seed << ": " << here;
    EXPECT_EQ(count(found, PMIO_ROLL_UNKNOWN), 0) << "seed " << seed;
    for (const auto& [name, values] : names_.values) EXPECT_EQ(values.size(), 1u) << name;
    all += here == 0 ? 0 : 1;
  }
  EXPECT_GT(all, 0);
  EXPECT_LT(all, static_cast<int>(kSeeds));
}

}  // namespace
}  // namespace pmio
