// A network that goes down: every call ends, and those after it has come back are answered.
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

#include "support/peer_fixture.h"

namespace pmio::peer_test {
namespace {

constexpr int kNotPermitted = 77;

// A network of this process's own, with one interface.
class OwnNetwork {
 public:
  OwnNetwork() : entered_(unshare(CLONE_NEWNET) == 0) {}
  // Down: nothing is answered any more, not even refused.
  bool set_up(bool up) const {
    if (!entered_) return false;
    const FileDescriptor control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = static_cast<short>(up ? IFF_UP : 0);
    return ioctl(control.get(), SIOCSIFFLAGS, &loopback) == 0;
  }

 private:
  const bool entered_;
};

// What the function returns in a process of its own.
int in_process(const std::function<int()>& run) {
  const pid_t process = fork();
  if (process == 0) _exit(run());
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

int errno_of_call_when_the_network_dies(size_t payload) {
  const OwnNetwork network;
  if (!network.set_up(true)) return kNotPermitted;
  std::promise<void> came;
  std::vector<PeerReply> held;
  const auto server = start([&](uint32_t kind, std::span<const std::byte> got, PeerReply reply) {
    if (kind == 2) return echo(kind, got, std::move(reply));
    held.push_back(std::move(reply));
    came.set_value();
  });
  PeerConnection peer(server->address(), token(), 0, 2s);
  if (!peer.call(2, {}).ok()) return 1;
  std::thread taking_down([&] {
    if (payload == 0) came.get_future().wait();
    if (!network.set_up(false)) _exit(kNotPermitted);
  });
  if (payload > 0) taking_down.join();
  const int error = peer.call(1, bytes(payload)).status().system_errno();
  if (payload == 0) taking_down.join();
  return error;
}

TEST(PeerNetwork, ADeadHostIsNoticed) {
  for (const size_t payload : {size_t{0}, size_t{8} << 20}) {
    const int error = in_process([&] { return errno_of_call_when_the_network_dies(payload); });
    if (error == kNotPermitted) GTEST_SKIP() << "needs the right to make a network namespace";
    EXPECT_EQ(error, ETIMEDOUT) << payload;
  }
}

// While nobody asks anything, for longer than a connection lives.
TEST(PeerNetwork, ACallAfterTheNetworkWasDownForAWhileIsAnswered) {
  const int failed = in_process([] {
    const OwnNetwork network;
    if (!network.set_up(true)) return kNotPermitted;
    const auto server = start(echo);
    const Peer peer(server->address());
    PeerConnection one(peer, token(), 0, 2s), other(peer, token(), 0, 2s);
    if (!one.call(2, {}).ok() || !other.call(2, {}).ok()) return 1;
    if (!network.set_up(false)) return kNotPermitted;
    std::this_thread::sleep_for(6s);
    if (!network.set_up(true)) return kNotPermitted;
    for (PeerConnection* each : {&one, &other, &one})
      if (!each->call(2, {}).ok()) return 2;
    return 0;
  });
  if (failed == kNotPermitted) GTEST_SKIP() << "needs the right to make a network namespace";
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace pmio::peer_test
