// The connections of a process to the nodes' leaders: how many there may be, and what is sent again.
#include "cluster/leaders.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>

#include "cluster/cluster.h"
#include "cluster/task_thread.h"
#include "cluster/window_order.h"
#include "support/peer_fixture.h"

namespace pmio::peer_test {
namespace {

// As 192 ranks on two nodes come to the first one's leader: each of the others' with its questions, its own
// with their drains too, and the leaders with their rounds.
TEST(Leaders, HaveRoomForAllRanksOfTheJob) {
  constexpr uint64_t kRanks = 192, kHere = 96, kNodes = 2;
  constexpr uint64_t kThatCome =
      kRanks + kHere * ConnectionPool::kMostIdle + kNodes * (1 + kMostStreams + ConnectionPool::kMostIdle);
  allow_many_descriptors();
  const auto most = Cluster::connections(kRanks, kHere, kNodes, true);
  auto server = PeerServer::start("127.0.0.1", token(), echo, most.from_others);
  ASSERT_TRUE(server.ok()) << server.status().message();
  std::vector<std::unique_ptr<PeerConnection>> all;
  for (uint64_t i = 0; i < kThatCome; i++) {
    all.push_back(std::make_unique<PeerConnection>((*server)->address(), token(), 0, 2s));
    const auto answer = all.back()->call(1, {});
    ASSERT_TRUE(answer.ok()) << i << " of " << kThatCome << ": " << answer.status().message();
  }
}

// Loses so many answers, after it has had the whole question.
class Forgetful {
 public:
  explicit Forgetful(int times)
      : times_(times), server_([this](int socket) {
          RawServer::welcome(socket);
          FrameHeader request;
          if (recv(socket, &request, sizeof request, MSG_WAITALL) != sizeof request) return;
          Bytes payload(request.length);
          if (!payload.empty()) recv(socket, payload.data(), payload.size(), MSG_WAITALL);
          size_t sent = 0;
          if (asked_++ >= times_) send_frame(socket, make_header(FrameType::response, 0, 0), {}, &sent);
        }) {}
  Leaders leaders() const {
    return Leaders(std::vector<PeerAddress>{server_.address(), server_.address()}, token(), 1);
  }
  int asked() const { return asked_; }

 private:
  const int times_;
  std::atomic<int> asked_{0};
  const RawServer server_;
};

TEST(Leaders, AreAskedAgainWhereThatDoesNoHarm) {
  const MessageWriter question = MessageWriter().put(uint64_t{7});
  for (const Request kind : {Request::ask, Request::drain, Request::poll, Request::stop_serving}) {
    const Forgetful leader(3);
    const auto answer = leader.leaders().ask(0, kind, question);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_EQ(leader.asked(), 4);
    const Forgetful other(1);
    Leaders leaders = other.leaders();
    const auto answers = leaders.ask_all(leaders.others(), kind, {&question, 1});
    EXPECT_TRUE(answers[0].ok()) << answers[0].status().message();
    EXPECT_EQ(other.asked(), 2);
  }
  for (const Request kind :
       {Request::fetch_add, Request::plan, Request::write, Request::finish, Request::end}) {
    const Forgetful leader(1);
    EXPECT_EQ(leader.leaders().ask(0, kind, question).status().system_errno(), ECONNRESET);
    EXPECT_EQ(leader.asked(), 1);
  }
}

// No memory, say. Who waits for the answer is told.
TEST(TaskThread, ATaskThatThrowsEndsAlone) {
  TaskThread tasks;
  const auto server = start([&](uint32_t kind, std::span<const std::byte>, PeerReply reply) {
    if (kind == 1) throw std::length_error("on the transport's thread");
    tasks.post([kind, shared = std::make_shared<PeerReply>(std::move(reply))] {
      if (kind == 2) throw std::bad_alloc();
      shared->send(0, {});
    });
  });
  PeerConnection peer(server->address(), token(), 0);
  for (const uint32_t kind : {1u, 2u}) {
    EXPECT_EQ(peer.call(kind, {}).status().system_errno(), EIO);
    EXPECT_TRUE(peer.call(3, {}).ok());
  }
}

}  // namespace
}  // namespace pmio::peer_test
