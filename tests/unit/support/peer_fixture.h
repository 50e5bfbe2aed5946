// Servers, peers and sockets of the tests of src/peer.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "peer/connection.h"
#include "peer/frame.h"
#include "peer/server.h"
#include "peer/socket.h"

namespace pmio::peer_test {

using Bytes = std::vector<std::byte>;
using namespace std::chrono_literals;

inline Bytes bytes(size_t size, unsigned seed = 1) {
  Bytes all(size);
  for (size_t i = 0; i < size; i++) all[i] = static_cast<std::byte>((i * 31 + i / 251 + seed) & 0xff);
  return all;
}

inline const PeerToken& token() {
  static const PeerToken one = random_token();
  return one;
}

inline void echo(uint32_t, std::span<const std::byte> payload, PeerReply reply) { reply.send(0, payload); }

inline std::unique_ptr<PeerServer> start(PeerServer::Handler handler) {
  auto server = PeerServer::start("127.0.0.1", token(), std::move(handler));
  EXPECT_TRUE(server.ok()) << server.status().message();
  return std::move(server.value());
}

inline void allow_many_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// A peer that says what the test wants.
class RawClient {
 public:
  explicit RawClient(const PeerAddress& address, int receive_buffer = 0)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0)
      setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    EXPECT_EQ(connect_to(socket_.get(), address), 0);
  }
  int fd() const { return socket_.get(); }

  bool send(std::span<const std::byte> data) {
    while (!data.empty()) {
      const ssize_t n = ::send(fd(), data.data(), data.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      data = data.subspan(static_cast<size_t>(n));
    }
    return true;
  }
  bool send(const FrameHeader& header, std::span<const std::byte> payload = {}) {
    return send(std::as_bytes(std::span(&header, 1))) && send(payload);
  }
  bool greet(const PeerToken& with = token()) {
    const Hello hello{client_half(with), 7, 0};
    if (!send(make_header(FrameType::hello, kPeerVersion, sizeof hello), std::as_bytes(std::span(&hello, 1))))
      return false;
    return receive(sizeof(FrameHeader) + sizeof(HalfToken)).size() == sizeof(FrameHeader) + sizeof(HalfToken);
  }
  // Up to `size` bytes; fewer at the end of the stream, or when nothing comes for so long.
  Bytes receive(size_t size, std::chrono::milliseconds patience = 20s) {
    Bytes all(size);
    size_t got = 0;
    while (got < size) {
      pollfd one{fd(), POLLIN, 0};
      if (poll(&one, 1, static_cast<int>(patience.count())) <= 0) break;
      const ssize_t n = recv(fd(), all.data() + got, size - got, 0);
      if (n <= 0) break;
      got += static_cast<size_t>(n);
    }
    all.resize(got);
    return all;
  }
  bool closed_within(std::chrono::milliseconds patience) {
    std::byte one;
    pollfd input{fd(), POLLIN, 0};
    return poll(&input, 1, static_cast<int>(patience.count())) == 1 && recv(fd(), &one, 1, 0) <= 0;
  }

 private:
  FileDescriptor socket_;
};

// A listener that gives each connection, one after another, to a function.
class RawServer {
 public:
  explicit RawServer(std::function<void(int)> talk) : talk_(std::move(talk)) {
    address_.family = AF_INET;
    address_.address = {127, 0, 0, 1};
    listener_ = std::move(listen_at(&address_).value());
    thread_ = std::thread([this] {
      pollfd one{listener_.get(), POLLIN, 0};
      while (!stop_) {
        if (poll(&one, 1, 10) <= 0) continue;
        const FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (socket.ok()) talk_(socket.get());
      }
    });
  }
  ~RawServer() {
    stop_ = true;
    thread_.join();
  }
  const PeerAddress& address() const { return address_; }

  static void welcome(int socket) {
    Bytes hello(sizeof(FrameHeader) + sizeof(Hello));
    recv(socket, hello.data(), hello.size(), MSG_WAITALL);
    const HalfToken half = server_half(token());
    size_t sent = 0;
    send_frame(socket, make_header(FrameType::welcome, 0, half.size()), std::as_bytes(std::span(half)),
               &sent);
  }

 private:
  std::function<void(int)> talk_;
  PeerAddress address_;
  FileDescriptor listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace pmio::peer_test
