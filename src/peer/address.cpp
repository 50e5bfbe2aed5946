#include "peer/address.h"

#include <arpa/inet.h>
#include <sys/random.h>

#include <cerrno>

#include "base/status.h"

namespace pmio {

std::string to_string(const PeerAddress& address) {
  char text[INET6_ADDRSTRLEN] = "no address";
  if (address.family != 0) inet_ntop(address.family, address.address.data(), text, sizeof text);
  if (address.port == 0) return text;
  std::string full = address.family == AF_INET6 ? "[" : "";
  full += text;
  full += address.family == AF_INET6 ? "]:" : ":";
  return full += std::to_string(address.port);
}

PeerToken random_token() {
  PeerToken token;
  // Up to 256 bytes come as a whole when the kernel's generator is ready.
  while (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    PMIO_ASSERT(errno == EINTR);
  }
  return token;
}

}  // namespace pmio
