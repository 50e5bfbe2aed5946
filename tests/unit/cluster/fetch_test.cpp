// What other nodes have of a window, from leaders that are interrupted, gone, or talk nonsense.
#include "cluster/fetch.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "support/peer_fixture.h"

namespace pmio::peer_test {
namespace {

constexpr uint64_t kFile = 7, kWindow = 3;

std::vector<std::byte> answer_of(NextPart next, const std::vector<PieceBody>& bodies, size_t data_bytes) {
  return MessageWriter()
      .put(next)
      .put_list(std::span<const PieceBody>(bodies))
      .put_bytes(bytes(data_bytes))
      .take();
}
PieceBody body_at(uint64_t offset, uint64_t length) {
  return {{static_cast<int64_t>(kWindow * kWindowBytes + offset), length, 0, 1}, 17, 5};
}

// Of two leaders; the second one is the asking node's own.
Result<Fetched> fetch_from(const PeerAddress& leader) {
  const std::vector<PeerAddress> all{leader, leader};
  Leaders leaders(all, token(), 1);
  return fetch_pieces(leaders, kFile, 1, kWindow, std::vector<uint32_t>{0});
}

// Its first answers are cut off in the middle, as those to a leader that was stopped for so long that it is
// disconnected.
class Interrupted {
 public:
  Interrupted(int times, std::vector<std::byte> answer)
      : times_(times), answer_(std::move(answer)), server_([this](int socket) { talk(socket); }) {}
  const PeerAddress& address() const { return server_.address(); }
  int asked() const { return asked_; }

 private:
  void talk(int socket) {
    RawServer::welcome(socket);
    FrameHeader request;
    if (recv(socket, &request, sizeof request, MSG_WAITALL) != sizeof request) return;
    Bytes payload(request.length);
    if (!payload.empty()) recv(socket, payload.data(), payload.size(), MSG_WAITALL);
    const bool cut = asked_++ < times_;
    size_t sent = 0;
    send_frame(socket, make_header(FrameType::response, 0, answer_.size()),
               std::span(answer_).first(cut ? answer_.size() / 2 : answer_.size()), &sent);
  }
  const int times_;
  const std::vector<std::byte> answer_;
  std::atomic<int> asked_{0};
  const RawServer server_;
};

TEST(Fetch, AQuestionWhoseAnswerIsInterruptedIsAskedAgain) {
  const Interrupted leader(3, answer_of(0, {body_at(10, 1000)}, 1000));
  const auto fetched = fetch_from(leader.address());
  ASSERT_TRUE(fetched.ok()) << fetched.status().message();
  ASSERT_EQ(fetched.value().pieces.size(), 1u);
  const Piece& piece = fetched.value().pieces[0];
  EXPECT_EQ(piece.stamp, 17u);
  EXPECT_EQ(piece.rank, 5u);
  EXPECT_TRUE(std::equal(piece.data, piece.data + 1000, bytes(1000).begin()));
  EXPECT_EQ(leader.asked(), 4);
}

// For longer than the other one has patience with who does not take its answer.
TEST(Fetch, ALeaderThatWasStoppedWhileItReceivesGoesOn) {
  constexpr size_t kMuch = 3 << 20;  // of each piece; more than the kernel keeps of all of them
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  (void)token();  // the same in both
  const pid_t stopped = fork();
  if (stopped == 0) {
    PeerAddress address;
    if (read(ends[0], &address, sizeof address) != sizeof address) _exit(2);
    const auto fetched = fetch_from(address);
    _exit(fetched.ok() && fetched.value().pieces.size() == 10 ? 0 : 1);
  }
  const auto answer = answer_of(0, std::vector<PieceBody>(10, body_at(0, kMuch)), 10 * kMuch);
  std::atomic<int> asked{0};
  const auto server = start([&](uint32_t, std::span<const std::byte>, PeerReply reply) {
    if (asked++ == 0) {
      kill(stopped, SIGSTOP);
      waitpid(stopped, nullptr, WUNTRACED);
    }
    reply.send(0, answer);
  });
  const PeerAddress address = server->address();
  ASSERT_EQ(write(ends[1], &address, sizeof address), static_cast<ssize_t>(sizeof address));
  std::this_thread::sleep_for(std::chrono::seconds(kFrameSeconds + 3));
  kill(stopped, SIGCONT);
  int status = 0;
  EXPECT_EQ(waitpid(stopped, &status, 0), stopped);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(asked, 2);
  for (const int end : ends) close(end);
}

TEST(Fetch, NobodyIsAskedAgainForEver) {
  const Interrupted leader(INT_MAX, answer_of(0, {body_at(10, 1000)}, 1000));
  EXPECT_EQ(fetch_from(leader.address()).status().system_errno(), ECONNRESET);
}

TEST(Fetch, ALeaderThatIsGoneIsAnError) {
  auto server = start(echo);
  const PeerAddress address = server->address();
  server.reset();
  EXPECT_EQ(fetch_from(address).status().system_errno(), ECONNREFUSED);
}

TEST(Fetch, BelievesNoNonsense) {
  const std::vector<std::vector<std::byte>> wrong{
      {},
      bytes(8),
      answer_of(0, {body_at(0, 100)}, 99),                   // too few bytes
      answer_of(0, {body_at(kWindowBytes - 10, 100)}, 100),  // of another window too
      answer_of(0, {body_at(0, 0)}, 0),                      // of nothing
      MessageWriter().put(NextPart{0}).put(uint64_t{UINT64_MAX}).take(),
  };
  for (const auto& answer : wrong) {
    const auto server =
        start([&](uint32_t, std::span<const std::byte>, PeerReply reply) { reply.send(0, answer); });
    EXPECT_EQ(fetch_from(server->address()).status().system_errno(), EPROTO);
  }
  // The second part is what is to come after the first.
  const auto server = start([](uint32_t, std::span<const std::byte>, PeerReply reply) {
    reply.send(0, answer_of(1, {body_at(0, 10)}, 10));
  });
  EXPECT_EQ(fetch_from(server->address()).status().system_errno(), EPROTO);
}

}  // namespace
}  // namespace pmio::peer_test
