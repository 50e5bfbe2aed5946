// Peers that die, go away or stop: every call ends.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <mutex>

#include "support/peer_fixture.h"

namespace pmio::peer_test {
namespace {

// A process of its own with a server that answers requests of kind 2 only.
class SilentProcess {
 public:
  SilentProcess() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    (void)token();  // the same in both
    process_ = fork();
    if (process_ == 0) {
      std::mutex mutex;
      std::vector<PeerReply> held;
      const auto server = start([&](uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
        if (kind == 2) return echo(kind, payload, std::move(reply));
        std::lock_guard lock(mutex);
        held.push_back(std::move(reply));
        if (write(ends[1], "r", 1) != 1) _exit(1);
      });
      const PeerAddress address = server->address();
      if (write(ends[1], &address, sizeof address) != sizeof address) _exit(1);
      for (;;) pause();
    }
    from_ = FileDescriptor(ends[0]);
    close(ends[1]);
    char address[sizeof address_];
    EXPECT_EQ(read(from_.get(), address, sizeof address), static_cast<ssize_t>(sizeof address));
    std::memcpy(&address_, address, sizeof address);
  }
  ~SilentProcess() { kill(); }
  // Its connections break before its port is closed: a call between the two would be reset, not refused.
  // All of it is over on return.
  void kill() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    EXPECT_EQ(waitpid(process_, nullptr, 0), process_);
    process_ = 0;
  }
  void wait_for_request() {
    char one;
    EXPECT_EQ(read(from_.get(), &one, 1), 1);
  }
  // It does nothing any more on return.
  void stop() const {
    ::kill(process_, SIGSTOP);
    EXPECT_EQ(waitpid(process_, nullptr, WUNTRACED), process_);
  }
  void go_on() const { ::kill(process_, SIGCONT); }
  const PeerAddress& address() const { return address_; }

 private:
  pid_t process_ = 0;
  FileDescriptor from_;
  PeerAddress address_;
};

TEST(PeerFailure, TheServersProcessIsKilledInTheMiddle) {
  SilentProcess process;
  PeerConnection peer(process.address(), token(), 0);
  auto call = std::async(std::launch::async, [&] { return peer.call(1, bytes(100)); });
  process.wait_for_request();
  process.kill();
  EXPECT_EQ(call.get().status().system_errno(), ECONNRESET);
  EXPECT_EQ(peer.call(1, {}).status().system_errno(), ECONNREFUSED);
}

TEST(PeerFailure, AStoppedServersAnswerIsWaitedForButNotItsGreetingNorRoomForMore) {
  SilentProcess process;
  PeerConnection asking(process.address(), token(), 0, 1s);
  auto waiting = std::async(std::launch::async, [&] { return asking.call(1, {}); });
  process.wait_for_request();
  PeerConnection sending(process.address(), token(), 0, 1s);
  EXPECT_TRUE(sending.call(2, {}).ok());
  process.stop();
  // Its kernel takes the connection, and some of the request.
  EXPECT_EQ(PeerConnection(process.address(), token(), 0, 300ms).call(1, {}).status().system_errno(),
            ETIMEDOUT);
  EXPECT_EQ(sending.call(2, bytes(kMaxPayload)).status().system_errno(), ETIMEDOUT);
  EXPECT_EQ(waiting.wait_for(2s), std::future_status::timeout);
  process.kill();
  EXPECT_EQ(waiting.get().status().system_errno(), ECONNRESET);
}

TEST(PeerFailure, AnotherQuestionDoesNotWaitAnewForWhoWasGivenUpButALaterOneDoes) {
  SilentProcess process;
  const Peer peer(process.address());
  const auto connect = [&] { return PeerConnection(peer, token(), 0, 1s); };
  process.stop();
  const auto first = connect().call(2, {}).status();
  EXPECT_NE(first.message().find("does not greet"), std::string::npos) << first.message();
  const auto second = connect().call(2, {}).status();
  EXPECT_EQ(second.system_errno(), ETIMEDOUT);
  EXPECT_NE(second.message().find("given up"), std::string::npos) << second.message();
  // Another one's knowledge is not this one's.
  EXPECT_NE(PeerConnection(process.address(), token(), 0, 1s).call(2, {}).status().message().find("greet"),
            std::string::npos);
  process.go_on();
  while (!connect().call(2, {}).ok()) std::this_thread::sleep_for(100ms);
}

TEST(PeerFailure, AStoppedProcessIsNotWaitedForBeyondTheLimitButOneThatWorksIs) {
  SilentProcess process;
  PeerConnection peer(process.address(), token(), 0, 1s, 4s);
  auto waiting = std::async(std::launch::async, [&] { return peer.call(1, {}); });
  process.wait_for_request();
  EXPECT_EQ(waiting.wait_for(9s), std::future_status::timeout);
  process.stop();
  const auto answer = waiting.get();
  EXPECT_EQ(answer.status().system_errno(), ETIMEDOUT);
  EXPECT_NE(answer.status().message().find(to_string(process.address())), std::string::npos);
}

// It takes longer for it than a silent one is waited for.
TEST(PeerFailure, WhoTakesALongRequestSlowlyIsNotSilent) {
  const RawServer server([](int socket) {
    RawServer::welcome(socket);
    FrameHeader request;
    recv(socket, &request, sizeof request, MSG_WAITALL);
    Bytes some(4 << 20);
    for (size_t left = request.length; left > 0; left -= some.size()) {
      std::this_thread::sleep_for(700ms);
      recv(socket, some.data(), some.size(), MSG_WAITALL);
    }
    size_t sent = 0;
    send_frame(socket, make_header(FrameType::response, 0, 0), {}, &sent);
  });
  PeerConnection peer(server.address(), token(), 0, 20s, 8s);
  const auto answer = peer.call(1, bytes(kMaxPayload));
  EXPECT_TRUE(answer.ok()) << answer.status().message();
}

TEST(PeerFailure, TheClientGoesInTheMiddleOfARequestAndOfAnAnswer) {
  std::mutex mutex;
  std::vector<PeerReply> held;
  std::promise<void> came;
  const auto server = start([&](uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
    if (kind == 1) return echo(kind, payload, std::move(reply));
    std::lock_guard lock(mutex);
    held.push_back(std::move(reply));
    came.set_value();
  });
  {
    RawClient half(server->address());
    ASSERT_TRUE(half.greet());
    half.send(make_header(FrameType::request, 1, 1 << 20), bytes(1000));
  }
  {
    RawClient gone(server->address());
    ASSERT_TRUE(gone.greet());
    gone.send(make_header(FrameType::request, 2, 0));
    came.get_future().wait();
  }
  std::this_thread::sleep_for(50ms);
  {
    std::lock_guard lock(mutex);
    held[0].send(0, bytes(1 << 20));  // to nobody
  }
  EXPECT_TRUE(PeerConnection(server->address(), token(), 0).call(1, {}).ok());
}

TEST(PeerFailure, AServerGoesWithPendingReplies) {
  std::vector<PeerReply> held;
  std::promise<void> came;
  auto server = start([&](auto, auto, PeerReply reply) {
    held.push_back(std::move(reply));
    if (held.size() == 2) came.set_value();
  });
  PeerConnection a(server->address(), token(), 0);
  PeerConnection b(server->address(), token(), 0);
  auto first = std::async(std::launch::async, [&] { return a.call(1, {}); });
  auto second = std::async(std::launch::async, [&] { return b.call(1, {}); });
  came.get_future().wait();
  server.reset();
  EXPECT_EQ(first.get().status().system_errno(), ECONNRESET);
  EXPECT_EQ(second.get().status().system_errno(), ECONNRESET);
  held[0].send(0, bytes(100));
  held.clear();
}

TEST(PeerFailure, AServerGoesWhileOthersAnswer) {
  for (int round = 0; round < 20; round++) {
    std::mutex mutex;
    std::vector<PeerReply> held;
    std::atomic<bool> stop{false};
    auto server = start([&](auto, auto, PeerReply reply) {
      std::lock_guard lock(mutex);
      held.push_back(std::move(reply));
    });
    std::thread answering([&] {
      while (!stop) {
        std::vector<PeerReply> now;
        {
          std::lock_guard lock(mutex);
          now.swap(held);
        }
        for (PeerReply& each : now) each.send(0, bytes(100'000));
      }
    });
    std::vector<std::thread> asking;
    for (int i = 0; i < 4; i++) {
      asking.emplace_back([&, address = server->address()] {
        PeerConnection peer(address, token(), 0);
        while (peer.call(1, bytes(100)).ok()) {
        }
      });
    }
    std::this_thread::sleep_for(10ms);
    server.reset();
    for (std::thread& each : asking) each.join();
    stop = true;
    answering.join();
  }
}

TEST(PeerFailure, TheNextCallConnectsAgain) {
  int connections = 0;
  const RawServer server([&](int socket) {
    RawServer::welcome(socket);
    FrameHeader request;
    if (recv(socket, &request, sizeof request, MSG_WAITALL) != sizeof request || connections++ == 0) return;
    size_t sent = 0;
    send_frame(socket, make_header(FrameType::response, 0, 0), {}, &sent);
  });
  PeerConnection peer(server.address(), token(), 0);
  EXPECT_EQ(peer.call(1, {}).status().system_errno(), ECONNRESET);
  const auto answer = peer.call(1, {});
  EXPECT_TRUE(answer.ok()) << answer.status().message();
}

// A connection that answers one request and goes, as if while nobody asked.
TEST(PeerFailure, AConnectionThatHasDiedMeanwhileIsMadeAnew) {
  std::atomic<int> connections{0};
  std::promise<void> gone[3];
  const RawServer server([&](int socket) {
    RawServer::welcome(socket);
    FrameHeader request;
    recv(socket, &request, sizeof request, MSG_WAITALL);
    size_t sent = 0;
    send_frame(socket, make_header(FrameType::response, 0, 0), {}, &sent);
    shutdown(socket, SHUT_RDWR);
    gone[connections++].set_value();
  });
  PeerConnection peer(server.address(), token(), 0);
  for (auto& each : gone) {
    const auto answer = peer.call(1, {});
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    each.get_future().wait();
  }
  EXPECT_EQ(connections, 3);
}

// The second request is lost: half of it, and by then the peer cannot have carried it out; or all of it.
TEST(PeerFailure, ARequestIsSentAgainOnlyWhereThePeerCannotHaveIt) {
  for (const bool whole : {false, true}) {
    std::atomic<int> requests{0};
    const RawServer server([&](int socket) {
      RawServer::welcome(socket);
      FrameHeader request;
      while (recv(socket, &request, sizeof request, MSG_WAITALL) == sizeof request) {
        const bool lose = ++requests == 2;
        if (lose && !whole) return;  // what was sent is not taken: a reset
        Bytes payload(request.length);
        if (!payload.empty()) recv(socket, payload.data(), payload.size(), MSG_WAITALL);
        if (lose) return;
        size_t sent = 0;
        send_frame(socket, make_header(FrameType::response, 0, 0), {}, &sent);
      }
    });
    PeerConnection peer(server.address(), token(), 0);
    EXPECT_TRUE(peer.call(1, {}).ok());
    const auto answer = peer.call(1, bytes(32 << 20));
    EXPECT_EQ(answer.status().system_errno(), whole ? ECONNRESET : 0) << answer.status().message();
    EXPECT_EQ(requests, whole ? 2 : 3);
  }
}

TEST(PeerFailure, AnAnswerThatEndsInTheMiddle) {
  const RawServer server([&](int socket) {
    RawServer::welcome(socket);
    FrameHeader request;
    recv(socket, &request, sizeof request, MSG_WAITALL);
    size_t sent = 0;
    send_frame(socket, make_header(FrameType::response, 0, kMaxPayload), bytes(100), &sent);
  });
  EXPECT_EQ(PeerConnection(server.address(), token(), 0).call(1, {}).status().system_errno(), ECONNRESET);
}

TEST(PeerFailure, AListenerThatDoesNotGreet) {
  std::promise<void> over;
  const RawServer server([&](int) { over.get_future().wait(); });
  PeerConnection peer(server.address(), token(), 0, 100ms);
  EXPECT_EQ(peer.call(1, {}).status().system_errno(), ETIMEDOUT);
  over.set_value();
}

TEST(PeerFailure, AnAddressThatIsNone) {
  EXPECT_EQ(PeerConnection(PeerAddress(), token(), 0).call(1, {}).status().system_errno(), EAFNOSUPPORT);
}

// Signals of the program interrupt a call again and again.
TEST(PeerFailure, InterruptedCalls) {
  struct sigaction nothing {};
  struct sigaction before {};
  nothing.sa_handler = [](int) {};
  sigaction(SIGUSR1, &nothing, &before);
  const auto server = start(echo);
  std::atomic<bool> stop{false};
  std::thread calling([&] {
    PeerConnection peer(server->address(), token(), 0);
    const Bytes sent = bytes(1 << 20);
    for (int i = 0; i < 20; i++) {
      const auto answer = peer.call(1, sent);
      EXPECT_TRUE(answer.ok() && answer.value() == sent) << answer.status().message();
    }
    stop = true;
    while (stop) std::this_thread::yield();
  });
  while (!stop) {
    pthread_kill(calling.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(100us);
  }
  stop = false;
  calling.join();
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace pmio::peer_test
