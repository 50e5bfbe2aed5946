// The bytes between nodes. A connection carries frames: a header of 16 bytes and a payload.
//
//   client                          server
//   hello(version; Hello)      ->
//                              <-   welcome(errno; second half of the token)
//   request(kind; payload)     ->
//                              <-   working()      every kWorkingSeconds until there is an answer
//                              <-   response(errno; payload)          and so on, one request at a time
//
// Each side shows one half of the job's token. Nothing is encrypted: whoever can read the job's network can
// read the token. All integers are little-endian. A header is valid iff magic matches and type is the one
// that is due. Its length must be at most what the reader allows at that point.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "peer/address.h"

namespace pmio {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kFrameMagic = 0x504f4d50;  // "PMOP"
constexpr uint32_t kPeerVersion = 1;
constexpr size_t kMaxPayload = size_t{64} << 20;
constexpr uint32_t kMaxErrno = 4095;  // of Linux

constexpr unsigned kWorkingSeconds = 2;
constexpr size_t kMaxErrorText = 1024;

enum class FrameType : uint32_t { hello = 1, welcome, request, response, working };

struct FrameHeader {
  uint32_t magic;
  FrameType type;
  uint32_t word;    // hello: kPeerVersion; welcome, response: errno, 0: ok; request: its kind; working: 0
  uint32_t length;  // of the payload, in bytes
};
static_assert(sizeof(FrameHeader) == 16);

using HalfToken = std::array<std::byte, sizeof(PeerToken) / 2>;
HalfToken client_half(const PeerToken& token);
HalfToken server_half(const PeerToken& token);
// Takes a time that does not depend on what the two hold.
bool equal(const HalfToken& half, std::span<const std::byte, sizeof(HalfToken)> shown);

struct Hello {
  HalfToken token;
  uint32_t node;  // of the client, for people who look at the traffic
  uint32_t reserved;
};
static_assert(sizeof(Hello) == 24);

FrameHeader make_header(FrameType type, uint32_t word, size_t length);

// Puts one frame after another together from a stream that may be divided anywhere. It allocates nothing for
// a length that is only promised. Threads: one.
class FrameReader {
 public:
  enum class State { header, payload, complete, nonsense };

  FrameReader(FrameType due, size_t max_payload) { next(due, max_payload); }
  // Forgets the frame and begins the next one. Before a response, frames may come that say `working`.
  void next(FrameType due, size_t max_payload);
  // Takes bytes up to the end of the frame and returns how many.
  size_t feed(std::span<const std::byte> bytes);
  State state() const { return state_; }
  bool begun() const { return header_bytes_ > 0; }
  const FrameHeader& header() const { return header_; }  // valid in states payload and complete
  // In state payload: allocates memory for all of it. False: there is none.
  bool reserve();
  // After that, instead of feed: the place of the rest of it, and how many bytes have come there.
  std::span<std::byte> room();
  void filled(size_t bytes);
  const std::vector<std::byte>& payload() const { return payload_; }
  std::vector<std::byte> take_payload() { return std::move(payload_); }

 private:
  FrameType due_;
  size_t max_payload_;
  State state_;
  size_t header_bytes_;
  FrameHeader header_;
  std::vector<std::byte> payload_;
  size_t filled_;  // so many bytes of payload_ have come
};

}  // namespace pmio
