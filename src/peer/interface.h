// The address of this host that a node's service is bound to. It is never every address at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "peer/address.h"

namespace pmio {

struct LocalAddress {
  std::string interface;
  PeerAddress address;  // port 0
  bool loopback;
};

// The addresses of the interfaces that are up, in the kernel's order. Link-local IPv6 addresses are left out:
// another node could not name the interface that they need.
Result<std::vector<LocalAddress>> local_addresses();

// wanted: an interface ("eth0"), an address, or a network ("10.77.0.0/24"); IPv4 comes before IPv6. If wanted
// is
// "", it is the first address of of_name, what the host's name stands for, that is local and not loopback. If
// there is none, it is the first that is not loopback, else loopback. Errors: invalid: nothing fits.
Result<PeerAddress> choose_address(const std::string& wanted, std::span<const LocalAddress> local,
                                   std::span<const PeerAddress> of_name);

// The same for this host. "" asks the resolver, which may take seconds if DNS is broken.
Result<PeerAddress> service_address(const std::string& wanted);

}  // namespace pmio
