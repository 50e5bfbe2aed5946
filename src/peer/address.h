// Where a node's service is reached. The processes exchange it by MPI, as bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace pmio {

struct PeerAddress {
  uint16_t family = 0;                // AF_INET or AF_INET6 of Linux; 0: none
  uint16_t port = 0;                  // host byte order
  std::array<uint8_t, 16> address{};  // network byte order; IPv4: the first four bytes
  bool operator==(const PeerAddress&) const = default;
};
static_assert(sizeof(PeerAddress) <= 32 && std::is_trivially_copyable_v<PeerAddress>);

// "10.77.0.2:4321", "[fd00::2]:4321"; without the port if it is 0.
std::string to_string(const PeerAddress& address);

// The secret of a job's nodes: 32 random bytes that one rank makes and MPI spreads.
using PeerToken = std::array<std::byte, 32>;
PeerToken random_token();

}  // namespace pmio
