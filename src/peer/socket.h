// TCP sockets as both sides of a connection between nodes use them: they do not block, close at exec, and
// never raise a signal.
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

std::optional<PeerAddress> from_socket_address(const sockaddr* address);  // none: another family, or null

Result<FileDescriptor> listen_at(PeerAddress* address);  // sets the port, which the kernel chooses

// Small frames go out at once. A host that does not answer the kernel's probes for dead_after is dead:
// ETIMEDOUT. Unsent data for which the peer has no room count as unanswered, too.
void set_options(int socket, std::chrono::milliseconds dead_after);

// These two wait for nothing and return an errno. After EAGAIN and EINPROGRESS, poll and call again.
int connect_to(int socket, const PeerAddress& address);
// Sends the frame from its byte *sent on, as much as the socket takes at once, and advances *sent.
int send_frame(int socket, const FrameHeader& header, std::span<const std::byte> payload, size_t* sent);

// Whether the other side has closed it, or nothing more can come. It takes nothing from the socket but an
// error.
bool has_died(int socket);
// Returns how many bytes were received, 0 at the end of the stream, or -errno.
ssize_t receive(int socket, std::span<std::byte> into);

}  // namespace pmio
