// Peers that have no token, talk nonsense, or stall: they are turned away, and hold up nobody.
#include <future>
#include <mutex>
#include <random>

#include "peer/reply_channel.h"
#include "support/peer_fixture.h"

namespace pmio::peer_test {
namespace {

constexpr size_t kWelcomeBytes = sizeof(FrameHeader) + sizeof(HalfToken);

FrameHeader header_of(const Bytes& frame) {
  FrameHeader header{};
  std::memcpy(&header, frame.data(), std::min(frame.size(), sizeof header));
  return header;
}

TEST(PeerHostile, WrongTokens) {
  std::atomic<int> served{0};
  const auto server = start([&](auto, auto, PeerReply) { served++; });
  PeerToken wrong = token();
  wrong[0] ^= std::byte{1};  // the client's half
  PeerConnection refused(server->address(), wrong, 0);
  for (int i = 0; i < 2; i++) {
    const Status status = refused.call(1, {}).status();
    EXPECT_EQ(status.system_errno(), EACCES);
    EXPECT_NE(status.message().find("token"), std::string::npos) << status.message();
  }
  wrong = token();
  wrong[31] ^= std::byte{1};  // the server's: the client asks nothing
  EXPECT_EQ(PeerConnection(server->address(), wrong, 0).call(1, {}).status().system_errno(), EACCES);
  EXPECT_EQ(served, 0);
}

TEST(PeerHostile, WhoOnlyClaimsToBeGreeted) {
  std::atomic<int> served{0};
  const auto server = start([&](auto, auto, PeerReply) { served++; });
  RawClient early(server->address());
  early.send(make_header(FrameType::request, 1, 0));
  EXPECT_TRUE(early.closed_within(3s));
  RawClient refused(server->address());
  EXPECT_FALSE(refused.greet(random_token()));
  refused.send(make_header(FrameType::request, 1, 0));
  EXPECT_TRUE(refused.closed_within(3s));
  RawClient empty(server->address());
  empty.send(make_header(FrameType::hello, kPeerVersion, 0));
  EXPECT_TRUE(empty.closed_within(3s));
  RawClient newer(server->address());
  newer.send(make_header(FrameType::hello, kPeerVersion + 1, 0));
  EXPECT_EQ(header_of(newer.receive(kWelcomeBytes)).word, uint32_t{EPROTONOSUPPORT});
  EXPECT_EQ(served, 0);
}

TEST(PeerHostile, AuthenticatedNonsense) {
  std::vector<PeerReply> held;
  const auto server = start([&](auto, auto, PeerReply reply) { held.push_back(std::move(reply)); });
  for (const FrameHeader& header :
       {make_header(FrameType::request, 1, kMaxPayload + 1), make_header(FrameType::request, 1, ~0u),
        make_header(FrameType::response, 1, 0), make_header(FrameType::hello, kPeerVersion, sizeof(Hello)),
        FrameHeader{}}) {
    RawClient client(server->address());
    ASSERT_TRUE(client.greet());
    client.send(header);
    EXPECT_TRUE(client.closed_within(3s));
  }
  RawClient hasty(server->address());
  ASSERT_TRUE(hasty.greet());
  hasty.send(make_header(FrameType::request, 1, 0));
  hasty.send(make_header(FrameType::request, 1, 0));  // before the first has its answer
  EXPECT_TRUE(hasty.closed_within(3s));
}

TEST(PeerHostile, RandomBytes) {
  const auto server = start(echo);
  std::mt19937 random(20);
  PeerConnection good(server->address(), token(), 0);
  const Hello hello{client_half(token()), 1, 0};
  const FrameHeader headers[] = {make_header(FrameType::hello, kPeerVersion, sizeof hello),
                                 make_header(FrameType::request, 1, 20),
                                 make_header(FrameType::request, 2, 70'000)};
  for (int round = 0; round < 400; round++) {
    Bytes stream;
    const auto add = [&](std::span<const std::byte> part) {
      stream.insert(stream.end(), part.begin(), part.end());
    };
    if (round % 4 != 0) {
      add(std::as_bytes(std::span(headers, 1)));
      add(std::as_bytes(std::span(&hello, 1)));
      add(std::as_bytes(std::span(headers).subspan(1 + random() % 2, 1)));
    }
    add(bytes(random() % 300, random()));
    for (unsigned change = random() % 4; change > 0 && !stream.empty(); change--)
      stream[random() % stream.size()] = static_cast<std::byte>(random());
    RawClient client(server->address());
    client.send(stream);
    EXPECT_TRUE(round % 20 != 0 || good.call(1, bytes(100)).ok());
  }
  EXPECT_TRUE(good.call(1, bytes(100)).ok());
}

TEST(PeerHostile, AServerThatTalksNonsense) {
  std::mt19937 random(21);
  int round = 0;
  const RawServer server([&](int socket) {
    const bool welcomes = round++ % 2 == 0;
    if (welcomes) {
      RawServer::welcome(socket);
      FrameHeader request;
      recv(socket, &request, sizeof request, MSG_WAITALL);
    }
    Bytes answer = bytes(500, random());
    const FrameHeader frames[] = {
        make_header(FrameType::response, 0, kMaxPayload + 1),
        make_header(FrameType::response, kMaxErrno + 1, 0), make_header(FrameType::response, 0, 100),
        make_header(FrameType::welcome, 0, 0), make_header(FrameType::welcome, 1, 0)};
    if (round % 6 < 5) std::memcpy(answer.data(), &frames[round % 5], sizeof(FrameHeader));
    EXPECT_GT(send(socket, answer.data(), answer.size(), MSG_NOSIGNAL), 0);
    recv(socket, answer.data(), answer.size(), MSG_WAITALL);  // until the client goes
  });
  for (int i = 0; i < 60; i++) {
    const Status status = PeerConnection(server.address(), token(), 0, 5s).call(1, {}).status();
    EXPECT_EQ(status.system_errno(), EPROTO) << status.message();
  }
}

// One that never greets, one that stops within a request, one that trickles a large one, one that does not
// take its answer: while they are there others are served, and after a while they are not there any more.
TEST(PeerHostile, SlowPeersAreDisconnectedAndHoldUpNobody) {
  const auto server = start([](uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
    if (kind == 1) return echo(kind, payload, std::move(reply));
    reply.send(0, bytes(8 << 20));
  });
  RawClient silent(server->address());
  RawClient half(server->address());
  RawClient trickling(server->address());
  RawClient deaf(server->address(), 4096);
  for (RawClient* each : {&half, &trickling, &deaf}) ASSERT_TRUE(each->greet());
  half.send(std::as_bytes(std::span("PMO", 3)));
  trickling.send(make_header(FrameType::request, 1, 1 << 20));
  deaf.send(make_header(FrameType::request, 2, 0));
  const auto started = std::chrono::steady_clock::now();
  PeerConnection good(server->address(), token(), 0);
  auto slowest = 0ns;
  while (std::chrono::steady_clock::now() - started < 14s) {
    const auto asked = std::chrono::steady_clock::now();
    ASSERT_TRUE(good.call(1, bytes(100)).ok());
    slowest = std::max<std::chrono::nanoseconds>(slowest, std::chrono::steady_clock::now() - asked);
    trickling.send(bytes(1));
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_LT(slowest, std::chrono::seconds(kHelloSeconds));  // nobody waited for a slow one to be disconnected
  for (RawClient* each : {&silent, &half, &trickling}) EXPECT_TRUE(each->closed_within(30s));
  EXPECT_LT(deaf.receive(16 + (8 << 20)).size(), size_t{8 << 20});
}

TEST(PeerHostile, LargeRequestsTakeRoomUntilTheyAreAnswered) {
  constexpr size_t kFit = kMaxBuffered / kMaxPayload;
  std::mutex mutex;
  std::vector<PeerReply> held;
  const auto server = start([&](uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
    if (kind == 2) return echo(kind, payload, std::move(reply));
    const std::lock_guard lock(mutex);
    held.push_back(std::move(reply));
  });
  const auto come = [&] {
    const std::lock_guard lock(mutex);
    return held.size();
  };
  const Bytes large = bytes(kMaxPayload);
  std::vector<std::future<bool>> calls;
  const auto ask = [&] {
    calls.push_back(std::async(std::launch::async, [&] {
      return PeerConnection(server->address(), token(), 0).call(1, large).ok();
    }));
  };
  while (calls.size() < kFit) ask();
  while (come() < kFit) std::this_thread::sleep_for(10ms);
  ask();
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(come(), kFit);
  EXPECT_TRUE(PeerConnection(server->address(), token(), 0).call(2, bytes(100)).ok());
  held[0].send(0, {});
  while (come() <= kFit) std::this_thread::sleep_for(10ms);
  for (size_t i = 1; i <= kFit; i++) held[i].send(0, {});
  for (auto& call : calls) EXPECT_TRUE(call.get());
}

TEST(PeerHostile, LargeRequestsWaitUntilThereIsRoom) {
  constexpr size_t kFit = kMaxBuffered / kMaxPayload;
  const auto server = start([](auto, std::span<const std::byte> payload, PeerReply reply) {
    const uint64_t size = payload.size();
    reply.send(0, std::as_bytes(std::span(&size, 1)));
  });
  std::vector<std::unique_ptr<RawClient>> slow;
  for (size_t i = 0; i < kFit; i++) {
    slow.push_back(std::make_unique<RawClient>(server->address()));
    ASSERT_TRUE(slow.back()->greet());
    slow.back()->send(make_header(FrameType::request, 1, kMaxPayload), bytes(100'000));
  }
  std::this_thread::sleep_for(200ms);
  PeerConnection large(server->address(), token(), 0);
  auto waiting = std::async(std::launch::async, [&] { return large.call(1, bytes(1 << 20)); });
  EXPECT_EQ(waiting.wait_for(500ms), std::future_status::timeout);
  EXPECT_TRUE(PeerConnection(server->address(), token(), 0).call(1, bytes(kSmallPayload)).ok());
  slow.pop_back();
  EXPECT_TRUE(waiting.get().ok());
}

TEST(ReplyBudget, OthersWaitForRoomAndTheServersThreadDoesNot) {
  ReplyBudget budget;
  budget.set_server_thread(std::this_thread::get_id());
  EXPECT_TRUE(budget.take(kMaxBuffered - 10));
  EXPECT_FALSE(budget.take(11));
  const auto take = [&](size_t amount) {
    return std::async(std::launch::async, [&, amount] { return budget.take(amount); });
  };
  EXPECT_TRUE(take(10).get());
  auto waiting = take(20);
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  budget.give(10);
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  budget.give(10);
  EXPECT_TRUE(waiting.get());
  auto never = take(1);
  budget.stop();
  EXPECT_FALSE(never.get());
}

TEST(PeerHostile, AnswersThatNobodyTakesAreBounded) {
  constexpr size_t kFit = kMaxBuffered / kMaxPayload;
  std::mutex mutex;
  std::vector<PeerReply> held;
  const Bytes answer(kMaxPayload);
  const auto server = start([&](uint32_t kind, auto, PeerReply reply) {
    if (kind == 1) return reply.send(0, answer);
    std::lock_guard lock(mutex);
    held.push_back(std::move(reply));
  });
  std::vector<std::unique_ptr<RawClient>> deaf;
  const auto started = std::chrono::steady_clock::now();
  for (size_t i = 0; i < kFit; i++) {
    deaf.push_back(std::make_unique<RawClient>(server->address(), 4096));
    ASSERT_TRUE(deaf.back()->greet());
    deaf.back()->send(make_header(FrameType::request, 1, 0));
    EXPECT_EQ(deaf.back()->receive(sizeof(FrameHeader)).size(), sizeof(FrameHeader));
  }
  if (std::chrono::steady_clock::now() - started > 12s)
    GTEST_SKIP() << "too slow: the first of the deaf may be disconnected before the last has come";
  // In the handler there is no waiting; elsewhere there is, until somebody has taken theirs.
  PeerConnection other(server->address(), token(), 0);
  EXPECT_EQ(other.call(1, {}).status().system_errno(), ENOBUFS);
  auto waiting = std::async(std::launch::async, [&] { return other.call(2, {}); });
  auto answering = std::async(std::launch::async, [&] {
    for (;;) {
      std::unique_lock lock(mutex);
      if (held.empty()) continue;
      PeerReply reply = std::move(held.back());
      held.clear();
      lock.unlock();
      return reply.send(0, answer);
    }
  });
  EXPECT_EQ(answering.wait_for(500ms), std::future_status::timeout);
  deaf.pop_back();
  EXPECT_EQ(waiting.get().value().size(), kMaxPayload);
}

// More connections than a server takes: those of the job get through once the strangers' time is over.
TEST(PeerHostile, AFloodOfStrangers) {
  allow_many_descriptors();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2 * kMaxConnections + 500)
    GTEST_SKIP() << "needs more descriptors than ulimit -n allows";
  const auto server = start(echo);
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (size_t i = 0; i < kMaxConnections + 100; i++)
    strangers.push_back(std::make_unique<RawClient>(server->address()));
  const auto answer = PeerConnection(server->address(), token(), 0).call(1, bytes(100));
  EXPECT_TRUE(answer.ok()) << answer.status().message();
}

}  // namespace
}  // namespace pmio::peer_test
