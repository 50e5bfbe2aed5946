#include "peer/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <optional>

#include "peer/socket.h"

namespace pmio {
namespace {

struct Network {
  PeerAddress address;
  unsigned prefix_bits;
};

// An address counts as a network of itself alone.
std::optional<Network> parse_network(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  Network network{};
  for (const uint16_t family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, address.c_str(), network.address.address.data()) == 1)
      network.address.family = family;
  }
  if (network.address.family == 0) return {};
  const unsigned all = network.address.family == AF_INET ? 32 : 128;
  network.prefix_bits = all;
  if (slash == std::string::npos) return network;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + slash + 1, end, network.prefix_bits);
  if (parsed.ec != std::errc() || parsed.ptr != end || network.prefix_bits > all) return {};
  return network;
}

bool contains(const Network& network, const PeerAddress& address) {
  if (network.address.family != address.family) return false;
  for (unsigned bit = 0; bit < network.prefix_bits; bit++) {
    const unsigned mask = 0x80u >> (bit % 8);
    if (((network.address.address[bit / 8] ^ address.address[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

Status nothing_fits(const std::string& wanted, std::span<const LocalAddress> local) {
  std::string message =
      "no address of this host fits \"" + wanted + "\"; give an interface, an address or a network of:";
  for (const LocalAddress& each : local) message += " " + each.interface + " " + to_string(each.address);
  return Status(Code::invalid, message, EADDRNOTAVAIL);
}

template <class Predicate>
std::optional<PeerAddress> first_of(std::span<const LocalAddress> local, Predicate fits) {
  for (const uint16_t family : {AF_INET, AF_INET6}) {
    const auto found = std::find_if(local.begin(), local.end(), [&](const LocalAddress& each) {
      return each.address.family == family && fits(each);
    });
    if (found != local.end()) return found->address;
  }
  return {};
}

std::vector<PeerAddress> addresses_of_host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  if (gethostname(name, sizeof name - 1) != 0) return {};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(name, nullptr, &hints, &list) != 0) return {};
  std::vector<PeerAddress> all;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (const auto address = from_socket_address(each->ai_addr)) all.push_back(*address);
  }
  freeaddrinfo(list);
  return all;
}

}  // namespace

Result<std::vector<LocalAddress>> local_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return Status::from_errno(errno, "cannot list the network interfaces");
  std::vector<LocalAddress> all;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const auto address = from_socket_address(each->ifa_addr);
    const bool link_local = address && address->family == AF_INET6 && address->address[0] == 0xfe &&
                            (address->address[1] & 0xc0) == 0x80;
    if (!address || link_local || (each->ifa_flags & IFF_UP) == 0) continue;
    all.push_back({each->ifa_name, *address, (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(list);
  return all;
}

Result<PeerAddress> choose_address(const std::string& wanted, std::span<const LocalAddress> local,
                                   std::span<const PeerAddress> of_name) {
  std::optional<PeerAddress> found;
  if (!wanted.empty()) {
    const auto network = parse_network(wanted);
    found = first_of(local, [&](const LocalAddress& each) {
      return network ? contains(*network, each.address) : each.interface == wanted;
    });
    return found ? Result(*found) : nothing_fits(wanted, local);
  }
  for (const PeerAddress& named : of_name) {
    found =
        first_of(local, [&](const LocalAddress& each) { return !each.loopback && each.address == named; });
    if (found) return *found;
  }
  found = first_of(local, [](const LocalAddress& each) { return !each.loopback; });
  if (!found) found = first_of(local, [](const LocalAddress&) { return true; });
  return found ? Result(*found) : nothing_fits(wanted, local);
}

Result<PeerAddress> service_address(const std::string& wanted) {
  auto local = local_addresses();
  if (!local.ok()) return local.status();
  return choose_address(wanted, local.value(),
                        wanted.empty() ? addresses_of_host_name() : std::vector<PeerAddress>());
}

}  // namespace pmio
