// Several nodes in one process, each with jobs, a log directory and a leader of its own.
#pragma once

#include <atomic>

#include "cluster/cluster.h"
#include "log/call_stamp.h"
#include "span/node_round.h"
#include "span/spanning.h"
#include "support/client_caches.h"
#include "support/node_fixture.h"

namespace pmio::test {

constexpr uint32_t kNodes = 3, kRanksOfNode = 2, kRanks = kNodes * kRanksOfNode;
constexpr uint64_t kJob = 0x5eed0000;
constexpr uint64_t kNumber = 1;
constexpr uint64_t kLogBytes = 8 << 20;

struct Member {
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Job> job;
  std::shared_ptr<File> file;
};

class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = files_.files_ + "/target";
    std::ofstream(path_).flush();
    ClientCaches::instance().mount(files_.files_);
    for (uint32_t rank = 0; rank < kRanks; rank++) start(rank, token_);
    std::vector<NodeMembers> nodes;
    for (uint32_t node = 0; node < kNodes; node++) {
      leaders_.push_back(members_[node * kRanksOfNode].cluster->address());
      nodes.push_back({"host" + std::to_string(node), ranks_of(node)});
    }
    for (Member& member : members_) ASSERT_TRUE(member.cluster->connect(leaders_, nodes).ok());
    for (Member& member : members_) open(member);
  }
  void TearDown() override {
    for (Member& member : members_) member.file.reset();
    for (Member& member : members_) member.cluster.reset();
    members_.clear();
  }

  static std::vector<uint32_t> ranks_of(uint32_t node) {
    std::vector<uint32_t> ranks;
    for (uint32_t i = 0; i < kRanksOfNode; i++) ranks.push_back(node * kRanksOfNode + i);
    return ranks;
  }
  void start(uint32_t rank, const PeerToken& token) {
    const uint32_t node = rank / kRanksOfNode;
    Member member;
    JobOptions options;
    options.directory = logs_[node].log_;
    options.id = kJob | node;
    options.rank = rank;
    options.ranks = kRanks;
    options.ranks_here = kRanksOfNode;
    options.of_node = ranks_of(node);
    options.capacity_bytes = log_bytes_;
    options.background = background_;
    options.threads_at_once = threads_at_once_;
    options.open_log = open_log_;
    auto job = Job::join(options);
    ASSERT_TRUE(job.ok()) << job.status().message();
    member.job = std::move(job).value();
    Cluster::Options place;
    place.place = {node, kNodes, ranks_of(node), {}, span_};
    place.ranks = kRanks;
    place.leader = rank % kRanksOfNode == 0;
    place.token = token;
    place.interface = "127.0.0.1";
    auto cluster = Cluster::start(*member.job, place);
    ASSERT_TRUE(cluster.ok()) << cluster.status().message();
    member.cluster = std::move(cluster).value();
    members_.push_back(std::move(member));
  }
  std::shared_ptr<File> opened(Member& member, const std::string& path, uint64_t number) {
    Job::OpenOptions options;
    options.path = path;
    options.reach = Spanning::over(*member.cluster);
    options.layout = layout_;
    ClientCaches::opening = static_cast<int>(&member - members_.data()) / static_cast<int>(kRanksOfNode);
    auto file = member.job->open(options);
    ClientCaches::opening = ClientCaches::kNone;
    EXPECT_TRUE(file.ok() &&
                Spanning::of(**file).join_nodes({number, 0, 0, 0, std::filesystem::file_size(path)}).ok());
    return *file;
  }
  void open(Member& member) { member.file = opened(member, path_, kNumber); }
  // After a close that failed, as src/mpi/start_logging.cpp does it.
  void open_all_again() {
    Spanning::Agreed all{UINT64_MAX, 0, 0, 0, 0};
    for (Member& member : members_) {
      Job::OpenOptions options;
      options.path = path_;
      options.reach = Spanning::over(*member.cluster);
      auto file = member.job->open(options);
      ASSERT_TRUE(file.ok()) << file.status().message();
      member.file = std::move(file).value();
      if (member.file->reach().number() != 0)
        all.number = std::min(all.number, member.file->reach().number());
      all.last_call = std::max(all.last_call, Spanning::of(*member.file).last_call());
      all.horizon = std::max(all.horizon, Spanning::of(*member.file).horizon());
      all.finished_horizon = std::max(all.finished_horizon, Spanning::of(*member.file).finished_horizon());
      all.size = std::max(all.size, *member.file->size_bytes_here());
    }
    if (all.number == UINT64_MAX) all.number = kNumber + 1;
    for (Member& member : members_) ASSERT_TRUE(Spanning::of(*member.file).join_nodes(all).ok());
  }

  // A collective write call of one rank, at a random place.
  void write(uint32_t rank, uint64_t call, uint64_t file_bytes) {
    const auto data = random_bytes(random_, 1 + random_() % largest_);
    const uint64_t offset = random_() % file_bytes;
    File& file = *members_[rank].file;
    Spanning::of(file).begin_call();
    const Status status =
        file.append(offset, data.data(), data.size(), CallNumber(0, static_cast<uint32_t>(call), false));
    Spanning::of(file).end_call();
    ASSERT_TRUE(status.ok()) << status.message();
    oracle_.write(offset, data.data(), data.size());
  }
  // Of one call the higher rank's bytes win.
  void write_all(uint64_t call, uint64_t file_bytes) {
    for (uint32_t rank = 0; rank < kRanks; rank++) write(rank, call, file_bytes);
  }
  Status write_independent(uint32_t rank, uint64_t offset, const std::vector<std::byte>& data) {
    const Pattern whole = Pattern::bytes(data.size());
    PatternCursor to(whole, static_cast<int64_t>(offset), 0), from(whole, 0, 0);
    return Spanning::of(*members_[rank].file)
        .write_independent(to, from, data.data(), data.size(), CallNumber(0, 0, true));
  }
  // At a random place, of one piece or several.
  void write_alone(uint32_t rank, uint64_t file_bytes) {
    const uint64_t pieces = random_() % 4 == 0 ? 2 + random_() % 50 : 1;
    const uint64_t bytes = 1 + random_() % (largest_ * 3 / 5);
    const uint64_t stride = bytes + random_() % 1000;
    Pattern memory = Pattern::bytes(pieces * bytes), file;
    file.add({0, bytes, static_cast<int64_t>(stride), pieces});
    file.finish(static_cast<int64_t>(stride * pieces));
    const auto data = random_bytes(random_, pieces * bytes);
    const uint64_t offset = random_() % file_bytes;
    PatternCursor to(file, static_cast<int64_t>(offset), 0), from(memory, 0, 0);
    const Status status = Spanning::of(*members_[rank].file)
                              .write_independent(to, from, data.data(), data.size(), CallNumber(0, 0, true));
    ASSERT_TRUE(status.ok()) << status.message();
    for (uint64_t i = 0; i < pieces; i++) oracle_.write(offset + i * stride, data.data() + i * bytes, bytes);
  }
  void expect_read(uint32_t rank) {
    std::vector<std::byte> found(oracle_.bytes.size());
    uint64_t got = 0;
    const Status status = members_[rank].file->read(0, found.data(), found.size(), &got);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(got == found.size() && same(found, oracle_.bytes)) << "read by rank " << rank;
  }
  // As a handle of one rank alone does it, which is handed on.
  void cut(uint32_t rank, uint64_t bytes) {
    std::filesystem::resize_file(path_, bytes);
    members_[rank].file->changes().truncated();
    members_[rank].file->changes().forget_cache();
  }
  void expect_size(uint64_t bytes) {
    for (const auto& member : members_) EXPECT_EQ(*member.file->size_bytes(), bytes);
  }
  void expect_file() const { EXPECT_TRUE(same(contents(path_), oracle_.bytes)); }
  Status drain(uint32_t rank) { return members_[rank].file->drain(); }
  void drain_all() {
    for (uint32_t rank = 0; rank < kRanks; rank++) ASSERT_TRUE(drain(rank).ok());
  }

  const StandIn clients_{kClientCalls};  // the first, that it be there when the last file is closed
  uint64_t log_bytes_ = kLogBytes;
  bool background_ = false;
  bool threads_at_once_ = false;
  LayoutHints layout_;
  Span span_ = kAllRanks;
  MediumOpener open_log_ = open_medium;
  Scratch files_;
  Scratch logs_[kNodes];
  std::string path_;
  const PeerToken token_ = random_token();
  std::vector<PeerAddress> leaders_;
  std::vector<Member> members_;
  Oracle oracle_;
  std::mt19937_64 random_{1};
  uint64_t largest_ = 5000;  // write, about; bytes
};

}  // namespace pmio::test
