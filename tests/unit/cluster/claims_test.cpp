// Which node may log a file that its ranks alone have opened: by the registry alone, and asked by several
// nodes.
#include "cluster/claims.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "support/peer_fixture.h"

namespace pmio::peer_test {
namespace {

using Answer = ClaimRegistry::Answer;

constexpr SharedIdentity kFile{7, 1};

Owner of_node(uint32_t node) { return {kThisNode, node}; }
Claimant logs(uint32_t node) { return {of_node(node), 1, {}}; }
Claimant goes_without(uint32_t node) { return {of_node(node), 0, {}}; }

TEST(ClaimRegistry, GrantsAFileToTheFirstNode) {
  ClaimRegistry registry;
  for (int again = 0; again < 2; again++) {
    const auto said = registry.claim(kFile, logs(3));
    EXPECT_EQ(said.answer, Answer::granted);
    EXPECT_FALSE(said.owner);
  }
  EXPECT_EQ(registry.claim({8, 1}, logs(4)).answer, Answer::granted);
  EXPECT_EQ(registry.claim({7, 2}, logs(4)).answer, Answer::granted) << "another file of that number";
}

TEST(ClaimRegistry, HasTheOwnerAskedFirst) {
  ClaimRegistry registry;
  registry.claim(kFile, logs(3));
  auto said = registry.claim(kFile, logs(4));
  ASSERT_TRUE(said.owner);
  EXPECT_EQ(said.owner->owner.node, 3U);
  EXPECT_EQ(registry.after_surrender(kFile, logs(4), false), Answer::granted);
  said = registry.claim(kFile, logs(3));
  ASSERT_TRUE(said.owner);
  EXPECT_EQ(said.owner->owner.node, 4U);
  EXPECT_EQ(registry.after_surrender(kFile, logs(3), true), Answer::contested);
  for (const uint32_t node : {3, 4, 5}) {
    said = registry.claim(kFile, logs(node));
    EXPECT_EQ(said.answer, Answer::contested);
    EXPECT_FALSE(said.owner) << "for good, and nobody is asked any more";
  }
}

TEST(ClaimRegistry, GrantsNothingThatSomebodyHasOpenWithoutTheLog) {
  ClaimRegistry registry;
  EXPECT_EQ(registry.claim(kFile, goes_without(2)).answer, Answer::contested);
  EXPECT_EQ(registry.claim(kFile, logs(2)).answer, Answer::contested);
  registry.claim({9, 1}, logs(2));
  const auto said = registry.claim({9, 1}, goes_without(2));  // by its own ranks
  ASSERT_TRUE(said.owner);
  EXPECT_EQ(registry.after_surrender({9, 1}, goes_without(2), false), Answer::contested);
  EXPECT_EQ(registry.claim({9, 1}, logs(2)).answer, Answer::contested);
}

TEST(ClaimRegistry, ForgetsWhatItsOwnerReleases) {
  ClaimRegistry registry;
  registry.claim(kFile, logs(3));
  registry.release(kFile, of_node(4));
  EXPECT_TRUE(registry.claim(kFile, logs(4)).owner) << "it is not that node's";
  registry.release(kFile, of_node(3));
  EXPECT_EQ(registry.size(), 0U);
  EXPECT_EQ(registry.claim(kFile, logs(4)).answer, Answer::granted);
  registry.claim({9, 1}, goes_without(3));
  registry.release({9, 1}, of_node(3));
  EXPECT_EQ(registry.claim({9, 1}, logs(3)).answer, Answer::contested) << "what is contested stays so";
}

TEST(ClaimRegistry, TellsAGroupFromTheNodes) {
  ClaimRegistry registry;
  const Owner group{kAllRanks + 3, 0}, other{kAllRanks + 4, 0};
  for (int again = 0; again < 2; again++) {
    const auto said = registry.claim(kFile, {group, 1, {}});
    EXPECT_EQ(said.answer, Answer::granted);
    EXPECT_FALSE(said.owner);
  }
  for (const Claimant& by : {logs(0), Claimant{other, 1, {}}, goes_without(5)}) {
    const auto said = registry.claim(kFile, by);
    ASSERT_TRUE(said.owner);
    EXPECT_EQ(said.owner->owner, group);
  }
  registry.release(kFile, of_node(0));
  EXPECT_EQ(registry.size(), 1U);
  registry.release(kFile, group);
  EXPECT_EQ(registry.size(), 0U);
}

// One that it has forgotten might be open somewhere without the log.
TEST(ClaimRegistry, GrantsNothingMoreOnceItIsFull) {
  ClaimRegistry registry(2);
  registry.claim({1, 1}, goes_without(1));
  registry.claim({2, 1}, logs(1));
  EXPECT_EQ(registry.claim({3, 1}, goes_without(2)).answer, Answer::contested);
  EXPECT_EQ(registry.size(), 2U);
  registry.release({2, 1}, of_node(1));
  EXPECT_EQ(registry.claim({3, 1}, logs(1)).answer, Answer::contested);
}

// The files of a node, as its leader sees them.
class Node {
 public:
  NodeFiles files() {
    NodeFiles all;
    all.is_open = [this](const FileIdentity& file, Span /*span*/) {
      const std::lock_guard lock(mutex_);
      return open_.contains(file.inode);
    };
    all.surrender = [this](const FileIdentity& file, const std::string& path) {
      const std::lock_guard lock(mutex_);
      EXPECT_EQ(path, path_of(file.inode));
      const auto at = open_.find(file.inode);
      if (at == open_.end()) return false;
      at->second = false;
      return true;
    };
    return all;
  }
  static std::string path_of(uint64_t inode) { return "/files/" + std::to_string(inode); }
  void open(uint64_t inode) {
    const std::lock_guard lock(mutex_);
    open_[inode] = true;
  }
  void close(uint64_t inode) {
    const std::lock_guard lock(mutex_);
    open_.erase(inode);
  }
  // Open, and other nodes have not asked for it.
  bool may_log(uint64_t inode) {
    const std::lock_guard lock(mutex_);
    const auto at = open_.find(inode);
    return at != open_.end() && at->second;
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, bool> open_;
};

// So many nodes; the first one's leader is the coordinator. `ranks` of each node ask.
class Nodes {
 public:
  explicit Nodes(uint32_t nodes, uint32_t ranks = 1) : ranks_(ranks), nodes_(nodes) {
    std::vector<PeerAddress> leaders;
    for (uint32_t node = 0; node < nodes; node++) {
      for (uint32_t rank = 0; rank < ranks; rank++) {
        Claims::Options options{"127.0.0.1", token(), node, nodes, ranks, rank == 0, nodes_[node].files()};
        auto claims = Claims::start(options);
        EXPECT_TRUE(claims.ok()) << claims.status().message();
        if (rank == 0) leaders.push_back((*claims)->address());
        claims_.push_back(std::move(claims).value());
      }
    }
    for (uint32_t i = 0; i < claims_.size(); i++) claims_[i]->connect(leaders[i / ranks], leaders[0]);
  }
  Node& node(uint32_t node) { return nodes_[node]; }
  Claims& rank(uint32_t node, uint32_t rank = 0) { return *claims_[node * ranks_ + rank]; }
  bool opens(uint32_t node, uint64_t inode) {
    nodes_[node].open(inode);
    const auto granted = rank(node).to_log(identity(inode), Node::path_of(inode));
    EXPECT_TRUE(granted.ok()) << granted.status().message();
    return granted.ok() && granted.value();
  }
  bool opens_undecided(uint32_t node, uint64_t inode) {
    const auto granted = rank(node).to_log_perhaps(identity(inode), Node::path_of(inode));
    EXPECT_TRUE(granted.ok()) << granted.status().message();
    return granted.ok() && granted.value();
  }
  void goes_without(uint32_t node, uint64_t inode) {
    EXPECT_TRUE(rank(node).to_go_without(identity(inode), Node::path_of(inode)).ok());
  }
  static FileIdentity identity(uint64_t inode) { return {1, inode, 5}; }
  void lose(uint32_t node) { claims_[node * ranks_].reset(); }

 private:
  const uint32_t ranks_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<Claims>> claims_;
};

TEST(Claims, AreGrantedToNodesInTurn) {
  Nodes nodes(3);
  for (const uint32_t node : {1, 2, 0, 0, 2}) {
    EXPECT_TRUE(nodes.opens(node, 7));
    nodes.node(node).close(7);
  }
}

TEST(Claims, OfAFileThatTwoNodesHaveOpenAreRefusedFromThenOn) {
  Nodes nodes(3);
  EXPECT_TRUE(nodes.opens(1, 7));
  EXPECT_FALSE(nodes.opens(2, 7));
  EXPECT_FALSE(nodes.node(1).may_log(7)) << "the first one has been asked";
  nodes.node(1).close(7);
  nodes.node(2).close(7);
  for (const uint32_t node : {0, 1, 2}) EXPECT_FALSE(nodes.opens(node, 7));
  EXPECT_TRUE(nodes.opens(2, 8));
}

TEST(Claims, AreRefusedWhereSomebodyGoesWithoutTheLog) {
  Nodes nodes(2);
  nodes.goes_without(1, 7);
  EXPECT_FALSE(nodes.opens(0, 7));
  EXPECT_TRUE(nodes.opens(0, 8));
  nodes.goes_without(0, 8);  // on the same node
  EXPECT_FALSE(nodes.node(0).may_log(8));
}

// The coordinator of a group on several nodes, as the registry asks it.
class Group {
 public:
  Group() {
    auto server = PeerServer::start(
        "127.0.0.1", token(),
        [this](uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
          EXPECT_EQ(kind, static_cast<uint32_t>(Request::contest));
          SharedIdentity file;
          EXPECT_TRUE(MessageReader(payload).get(&file));
          asked_for = file.inode;
          reply.send(MessageWriter().put(uint64_t{has_it_open ? 1u : 0u}).take());
        },
        8);
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server).value();
  }
  bool opens(Claims& claims, uint64_t inode, bool undecided = false) {
    const ClaimingGroup group{kAllRanks + 3, server_->address()};
    const auto granted = undecided
                             ? claims.to_log_perhaps(Nodes::identity(inode), Node::path_of(inode), group)
                             : claims.to_log(Nodes::identity(inode), Node::path_of(inode), group);
    EXPECT_TRUE(granted.ok()) << granted.status().message();
    return granted.ok() && granted.value();
  }
  std::atomic<bool> has_it_open{true};
  std::atomic<uint64_t> asked_for{0};

 private:
  std::unique_ptr<PeerServer> server_;
};

TEST(Claims, OfAGroupAreGivenUpByItsCoordinator) {
  Nodes nodes(3);
  Group group;
  EXPECT_TRUE(group.opens(nodes.rank(1), 7));
  EXPECT_TRUE(group.opens(nodes.rank(1), 7)) << "once more";
  EXPECT_EQ(group.asked_for, 0U);
  EXPECT_FALSE(nodes.opens(2, 7));
  EXPECT_EQ(group.asked_for, 7U);
  EXPECT_TRUE(group.opens(nodes.rank(1), 8));
  group.has_it_open = false;
  EXPECT_TRUE(nodes.opens(1, 8)) << "the node from which the group has asked";
  EXPECT_EQ(group.asked_for, 8U);
  EXPECT_FALSE(group.opens(nodes.rank(0), 8)) << "the node has it open";
  EXPECT_FALSE(nodes.node(1).may_log(8));
  EXPECT_TRUE(group.opens(nodes.rank(1), 9, true));
  EXPECT_TRUE(group.opens(nodes.rank(1), 9));
  EXPECT_FALSE(nodes.opens(2, 9)) << "it may have it open without the log";
}

// It is open without the log, and nobody tells of its close.
TEST(Claims, OfFilesThatMayBeLoggedLaterAreContestedByOthers) {
  Nodes nodes(2);
  EXPECT_TRUE(nodes.opens_undecided(1, 7));
  EXPECT_TRUE(nodes.opens(1, 7)) << "it is logged now";
  nodes.node(1).close(7);
  EXPECT_FALSE(nodes.opens(0, 7)) << "some handle may still be open";
  EXPECT_TRUE(nodes.opens_undecided(1, 8));
  EXPECT_FALSE(nodes.opens_undecided(0, 8));
  EXPECT_FALSE(nodes.opens(1, 8));
}

TEST(Claims, OfFilesThatMayBeLoggedLaterAreForgottenBehindManyOthers) {
  constexpr uint64_t kFirst = 100, kMany = 30'000;
  Nodes nodes(2);
  for (uint64_t file = kFirst; file < kFirst + kMany; file++) ASSERT_TRUE(nodes.opens_undecided(1, file));
  EXPECT_TRUE(nodes.opens(0, kFirst));
  EXPECT_FALSE(nodes.opens(0, kFirst + kMany - 4000));
}

TEST(Claims, OfManyFilesAreForgottenWhenTheyAreClosed) {
  Nodes nodes(2);
  for (uint64_t file = 0; file < 1000; file++) {
    EXPECT_TRUE(nodes.opens(1, file));
    if (file > 10) nodes.node(1).close(file);
  }
  for (uint64_t file = 0; file < 1000; file++) EXPECT_EQ(nodes.opens(0, file), file > 10) << file;
}

TEST(Claims, FailForGoodWhereTheCoordinatorIsGone) {
  Nodes nodes(2);
  nodes.lose(0);
  for (int again = 0; again < 3; again++)
    EXPECT_FALSE(nodes.rank(1).to_log(Nodes::identity(7), Node::path_of(7)).ok());
}

// It may go on to log what it has.
TEST(Claims, OfAFileWhoseOwnerIsGoneAreRefused) {
  Nodes nodes(3);
  EXPECT_TRUE(nodes.opens(1, 7));
  nodes.lose(1);
  EXPECT_FALSE(nodes.opens(2, 7));
}

// Whoever comes when: of a file that several nodes have open, none logs.
TEST(Claims, NeverLetTwoNodesLogAFileAtOnce) {
  constexpr uint32_t kNodes = 3, kRanks = 2, kFiles = 40, kSteps = 60;
  Nodes nodes(kNodes, kRanks);
  std::mutex mutex;
  // By file and node: how many ranks have it open and have been told that they may log it.
  std::vector<std::array<int, kNodes>> granted(kFiles);
  std::vector<std::array<int, kNodes>> open(kFiles);
  std::vector<std::thread> threads;
  for (uint32_t at = 0; at < kNodes * kRanks; at++) {
    threads.emplace_back([&, at] {
      const uint32_t node = at / kRanks;
      std::mt19937 random(at);
      for (uint32_t step = 0; step < kSteps; step++) {
        const uint64_t file = random() % kFiles;
        {
          const std::lock_guard lock(mutex);
          if (open[file][node]++ == 0) nodes.node(node).open(file);
        }
        const auto may = nodes.rank(node, at % kRanks).to_log(Nodes::identity(file), Node::path_of(file));
        ASSERT_TRUE(may.ok()) << may.status().message();
        const std::lock_guard lock(mutex);
        if (may.value()) granted[file][node]++;
        int logging = 0;
        for (uint32_t other = 0; other < kNodes; other++)
          logging += granted[file][other] > 0 && nodes.node(other).may_log(file) ? 1 : 0;
        EXPECT_LE(logging, 1) << "file " << file;
        if (may.value()) granted[file][node]--;
        if (--open[file][node] == 0) nodes.node(node).close(file);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace pmio::peer_test
