// TCP sockets as both sides of a connection between nodes use them: nonblocking, closed at exec, never a
// signal.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "peer/address.h"
#include "peer/frame.h"

namespace pmio {

constexpr std::chrono::milliseconds kDeadAfter{30'000};

std::optional<PeerAddress> from_socket_address(const sockaddr* address);  // none: of another family, or null

Result<FileDescriptor> listen_at(PeerAddress* address);  // sets the port, which the kernel chooses

// Small frames go out at once; a host that does not answer the kernel's probes for so long is dead:
// ETIMEDOUT. Unsent data that the peer has no room for counts as unanswered too.
void set_options(int socket, std::chrono::milliseconds dead_after);

// These two wait for nothing and return an errno; EAGAIN and EINPROGRESS: poll, then call again.
int connect_to(int socket, const PeerAddress& address);
// Sends, of what a frame has beyond its first *sent bytes, as much as the socket takes at once; advances
// *sent.
int send_frame(int socket, const FrameHeader& header, std::span<const std::byte> payload, size_t* sent);

// Whether the other side has closed it, or nothing more can come. Takes nothing, but for an error.
bool has_died(int socket);
// The bytes received, 0 at the end of the stream, or -errno.
ssize_t receive(int socket, std::span<std::byte> into);

}  // namespace pmio
