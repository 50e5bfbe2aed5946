#include "peer/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pmio {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const PeerAddress& from) {
  SocketAddress to;
  if (from.family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(from.port);
    std::memcpy(&in.sin_addr, from.address.data(), sizeof in.sin_addr);
    std::memcpy(&to.storage, &in, to.length = sizeof in);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = from.family;  // if it is of neither family, the kernel refuses it
    in.sin6_port = htons(from.port);
    std::memcpy(&in.sin6_addr, from.address.data(), sizeof in.sin6_addr);
    std::memcpy(&to.storage, &in, to.length = sizeof in);
  }
  return to;
}

void set_option(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);  // without it things are slower, or noticed later
}

}  // namespace

std::optional<PeerAddress> from_socket_address(const sockaddr* from) {
  PeerAddress to;
  if (from == nullptr) return {};
  to.family = from->sa_family;
  if (from->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, from, sizeof in);
    to.port = ntohs(in.sin_port);
    std::memcpy(to.address.data(), &in.sin_addr, sizeof in.sin_addr);
  } else if (from->sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, from, sizeof in);
    to.port = ntohs(in.sin6_port);
    std::memcpy(to.address.data(), &in.sin6_addr, sizeof in.sin6_addr);
  } else {
    return {};
  }
  return to;
}

Result<FileDescriptor> listen_at(PeerAddress* address) {
  const std::string what = "cannot listen at " + to_string(*address);
  FileDescriptor listener =
      out_of_the_way(FileDescriptor(socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  const SocketAddress at = to_socket_address(*address);
  if (!listener.ok() || bind(listener.get(), at.get(), at.length) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0)
    return Status::from_errno(errno, what);
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length) != 0)
    return Status::from_errno(errno, what);
  address->port = from_socket_address(bound.get())->port;
  return listener;
}

void set_options(int socket, std::chrono::milliseconds dead_after) {
  const int ms = static_cast<int>(dead_after.count());
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, ms / 3000));
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, ms / 6000));
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
}

int connect_to(int socket, const PeerAddress& address) {
  const SocketAddress to = to_socket_address(address);
  // A second call tells what became of the first.
  if (connect(socket, to.get(), to.length) == 0 || errno == EISCONN) return 0;
  return errno == EALREADY || errno == EINTR ? EINPROGRESS : errno;
}

int send_frame(int socket, const FrameHeader& header, std::span<const std::byte> payload, size_t* sent) {
  const auto head = std::as_bytes(std::span(&header, 1));
  const auto rest_of_head = head.subspan(std::min(*sent, head.size()));
  const auto rest = payload.subspan(std::max(*sent, head.size()) - head.size());
  iovec parts[] = {{const_cast<std::byte*>(rest_of_head.data()), rest_of_head.size()},
                   {const_cast<std::byte*>(rest.data()), rest.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  ssize_t n;
  do {
    n = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno == EPIPE ? ECONNRESET : errno;
  *sent += static_cast<size_t>(n);
  return *sent == head.size() + payload.size() ? 0 : EAGAIN;
}

bool has_died(int socket) {
  std::byte one;
  const ssize_t n = recv(socket, &one, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

ssize_t receive(int socket, std::span<std::byte> into) {
  for (;;) {
    const ssize_t n = recv(socket, into.data(), into.size(), MSG_DONTWAIT);
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace pmio
