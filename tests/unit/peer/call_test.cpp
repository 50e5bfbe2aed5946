// Requests and answers between peers that behave.
#include <mutex>

#include "support/peer_fixture.h"

namespace pmio::peer_test {
namespace {

// select() knows no more than 1,024 of them.
TEST(PeerCall, TheLowDescriptorsAreLeftToTheProgram) {
  allow_many_descriptors();
  if (rlimit limit{}; getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 2000)
    GTEST_SKIP() << "has no others";
  const auto lowest = [] { return FileDescriptor(dup(0)).get(); };
  const int before = lowest();
  const auto server = start(echo);
  PeerConnection peer(server->address(), token(), 0);
  ASSERT_TRUE(peer.call(1, {}).ok());
  EXPECT_EQ(lowest(), before);
}

TEST(PeerCall, RoundTrips) {
  const auto server = start([](uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
    if (kind == 9) return reply.send(ENODATA, payload);
    echo(kind, payload, std::move(reply));
  });
  PeerConnection peer(server->address(), token(), 3);
  for (const size_t size : {0u, 1u, 15u, 16u, 4096u, 16384u, 16385u, 65536u, 300000u, 1u << 20}) {
    const Bytes sent = bytes(size);
    const auto answer = peer.call(1, sent);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_TRUE(answer.value() == sent) << size;
  }
  const auto refused = peer.call(9, bytes(10));
  EXPECT_EQ(refused.status().system_errno(), ENODATA);
  EXPECT_NE(refused.status().message().find(to_string(server->address())), std::string::npos);
  const std::string reason = "because\n";
  const auto explained = peer.call(9, std::as_bytes(std::span(reason)));
  EXPECT_EQ(explained.status().system_errno(), ENODATA);
  EXPECT_NE(explained.status().message().find(": because?"), std::string::npos);
  EXPECT_TRUE(peer.call(1, {}).ok());
}

TEST(PeerCall, TheLargestPayload) {
  const auto server = start(echo);
  PeerConnection peer(server->address(), token(), 3);
  Bytes most = bytes(kMaxPayload);
  const auto answer = peer.call(1, most);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_TRUE(answer.value() == most);
  most.push_back({});
  EXPECT_EQ(peer.call(1, most).status().system_errno(), EMSGSIZE);
  EXPECT_TRUE(peer.call(1, {}).ok());
}

TEST(PeerCall, ATooLargeAnswerBecomesAnError) {
  const auto server = start([](auto, auto, PeerReply reply) { reply.send(0, Bytes(kMaxPayload + 1)); });
  EXPECT_EQ(PeerConnection(server->address(), token(), 3).call(1, {}).status().system_errno(), EMSGSIZE);
}

TEST(PeerCall, AForgottenReplyBecomesAnError) {
  const auto server = start([](auto, auto, PeerReply) {});
  PeerConnection peer(server->address(), token(), 3);
  EXPECT_EQ(peer.call(1, {}).status().system_errno(), EIO);
  EXPECT_EQ(peer.call(1, {}).status().system_errno(), EIO);
}

TEST(PeerCall, OneConnectionServesManyThreads) {
  const auto server = start(echo);
  PeerConnection peer(server->address(), token(), 3);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; t++) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 100; i++) {
        const Bytes sent = bytes(i * 37, t);
        const auto answer = peer.call(t, sent);
        EXPECT_TRUE(answer.ok() && answer.value() == sent);
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

// Every reply is held until all requests have come; then they are answered the other way round.
TEST(PeerCall, AThousandAtOnceAnsweredOutOfOrder) {
  constexpr size_t kPeers = 1000;
  allow_many_descriptors();
  std::mutex mutex;
  std::vector<std::pair<Bytes, PeerReply>> held;
  std::thread answering;
  const auto server = start([&](uint32_t, std::span<const std::byte> payload, PeerReply reply) {
    std::lock_guard lock(mutex);
    held.emplace_back(Bytes(payload.begin(), payload.end()), std::move(reply));
    if (held.size() < kPeers) return;
    answering = std::thread([&] {
      std::lock_guard all(mutex);
      for (auto each = held.rbegin(); each != held.rend(); ++each) each->second.send(0, each->first);
    });
  });
  std::vector<std::unique_ptr<PeerConnection>> peers;
  std::vector<PeerConnection*> pointers;
  std::vector<Bytes> payloads;
  for (unsigned i = 0; i < kPeers; i++) {
    peers.push_back(std::make_unique<PeerConnection>(server->address(), token(), i));
    pointers.push_back(peers.back().get());
    payloads.push_back(bytes(100 + i, i));
  }
  const std::vector<std::span<const std::byte>> views(payloads.begin(), payloads.end());
  const auto answers = call_all(pointers, 1, views);
  answering.join();
  ASSERT_EQ(answers.size(), kPeers);
  for (size_t i = 0; i < kPeers; i++) {
    ASSERT_TRUE(answers[i].ok()) << answers[i].status().message();
    EXPECT_TRUE(answers[i].value() == payloads[i]);
  }
}

TEST(PeerCall, AllOfSeveralServersWithOnePayloadAndOneOfThemGone) {
  std::vector<std::unique_ptr<PeerServer>> servers;
  std::vector<std::unique_ptr<PeerConnection>> peers;
  std::vector<PeerConnection*> pointers;
  for (unsigned i = 0; i < 5; i++) {
    servers.push_back(start(echo));
    peers.push_back(std::make_unique<PeerConnection>(servers.back()->address(), token(), 0));
    pointers.push_back(peers.back().get());
  }
  servers[2].reset();
  const Bytes sent = bytes(200'000);
  const std::span<const std::byte> one(sent);
  for (int round = 0; round < 2; round++) {
    const auto answers = call_all(pointers, 1, {&one, 1});
    for (size_t i = 0; i < answers.size(); i++) {
      ASSERT_EQ(answers[i].ok(), i != 2);
      EXPECT_EQ(answers[i].status().system_errno(), i == 2 ? ECONNREFUSED : 0);
      EXPECT_TRUE(i == 2 || answers[i].value() == sent);
    }
  }
  EXPECT_TRUE(call_all({}, 1, {&one, 1}).empty());
}

TEST(PeerCall, TwoCallsOfAllThatSharePeersDoNotWaitForEachOther) {
  const auto server = start(echo);
  PeerConnection a(server->address(), token(), 0);
  PeerConnection b(server->address(), token(), 0);
  const Bytes sent = bytes(1000);
  const std::span<const std::byte> one(sent);
  std::thread other([&] {
    PeerConnection* const order[] = {&b, &a};
    for (int i = 0; i < 200; i++) EXPECT_TRUE(call_all(order, 1, {&one, 1})[0].ok());
  });
  PeerConnection* const order[] = {&a, &b};
  for (int i = 0; i < 200; i++) EXPECT_TRUE(call_all(order, 1, {&one, 1})[1].ok());
  other.join();
}

// More large requests and answers at once than are buffered: they wait, and all get through.
TEST(PeerCall, LargeRequestsWaitForRoom) {
  constexpr size_t kPeers = 8;
  std::mutex mutex;
  std::vector<std::thread> workers;  // under the mutex
  const auto server = start([&](uint32_t, std::span<const std::byte> payload, PeerReply reply) {
    const std::lock_guard lock(mutex);
    workers.emplace_back([answer = std::make_shared<PeerReply>(std::move(reply)),
                          copy = Bytes(payload.begin(), payload.end())] { answer->send(0, copy); });
  });
  std::vector<std::unique_ptr<PeerConnection>> peers;
  std::vector<PeerConnection*> pointers;
  for (unsigned i = 0; i < kPeers; i++) {
    // A request that waits looks like a dead host for as long as nothing more of it is taken.
    peers.push_back(
        std::make_unique<PeerConnection>(server->address(), token(), i, std::chrono::minutes(10)));
    pointers.push_back(peers.back().get());
  }
  const Bytes sent = bytes(kMaxPayload - 5);
  const std::span<const std::byte> one(sent);
  const auto answers = call_all(pointers, 1, {&one, 1});
  for (const auto& answer : answers)
    EXPECT_TRUE(answer.ok() && answer.value() == sent) << answer.status().message();
  const std::lock_guard lock(mutex);  // an answer may come before its thread is noted
  for (std::thread& each : workers) each.join();
}

}  // namespace
}  // namespace pmio::peer_test
