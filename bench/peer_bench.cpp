// A request to another node and its answer, on loopback, beside the same bytes to and fro on a plain blocking
// socket.
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <thread>
#include <vector>

#include "peer/connection.h"
#include "peer/server.h"
#include "peer/socket.h"

namespace {

constexpr size_t kHeader = sizeof(pmio::FrameHeader);

bool transfer_all(int socket, std::vector<char>& bytes, bool out) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = out ? send(socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL)
                          : recv(socket, bytes.data() + done, bytes.size() - done, MSG_WAITALL);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

void plain_socket(benchmark::State& state) {
  const size_t size = kHeader + static_cast<size_t>(state.range(0));
  pmio::PeerAddress address;
  address.family = AF_INET;
  address.address = {127, 0, 0, 1};
  auto listener = pmio::listen_at(&address);
  const pmio::FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.ok() || pmio::connect_to(client.get(), address) != 0)
    return state.SkipWithError("no sockets");
  pmio::set_options(client.get(), pmio::kDeadAfter);
  std::thread server([&] {
    const pmio::FileDescriptor accepted(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
    pmio::set_options(accepted.get(), pmio::kDeadAfter);
    std::vector<char> bytes(size);
    while (transfer_all(accepted.get(), bytes, false) && transfer_all(accepted.get(), bytes, true)) {
    }
  });
  std::vector<char> bytes(size);
  for (auto _ : state) {
    if (!transfer_all(client.get(), bytes, true) || !transfer_all(client.get(), bytes, false)) break;
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * size));
  shutdown(client.get(), SHUT_RDWR);
  server.join();
}

void peer_call(benchmark::State& state) {
  const pmio::PeerToken token = pmio::random_token();
  const auto server = pmio::PeerServer::start(
      "127.0.0.1", token,
      [](uint32_t, std::span<const std::byte> payload, pmio::PeerReply reply) { reply.send(0, payload); });
  if (!server.ok()) return state.SkipWithError(server.status().message().c_str());
  pmio::PeerConnection peer(server.value()->address(), token, 0);
  const std::vector<std::byte> payload(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    if (!peer.call(1, payload).ok()) return state.SkipWithError("a call failed");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * (kHeader + payload.size())));
}

}  // namespace

BENCHMARK(plain_socket)->Arg(32)->Arg(4 << 10)->Arg(1 << 20)->Arg(64 << 20)->UseRealTime();
BENCHMARK(peer_call)->Arg(32)->Arg(4 << 10)->Arg(1 << 20)->Arg(64 << 20)->UseRealTime();
BENCHMARK_MAIN();
