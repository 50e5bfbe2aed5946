#include "twophase/exchange.h"

#include <unistd.h>

#include <cstring>
#include <vector>

#include "twophase/patience.h"

namespace pmio {
namespace {

constexpr useconds_t kNapUs = 20;

}  // namespace

Result<uint64_t> wait_for(Collective& collective, Collective::Message message) {
  uint64_t bytes = 0;
  Collective::State state = Collective::State::pending;
  Patience patience;
  while ((state = collective.test(message, &bytes)) == Collective::State::pending)
    if (!patience.pause()) usleep(kNapUs);
  if (state == Collective::State::lost) return Status(Code::io, "a rank of the job has died");
  return bytes;
}

Status gather(Collective& collective, const Places& places, std::span<std::byte> blocks, size_t block_bytes,
              uint64_t* sent_bytes) {
  const uint32_t nodes = places.nodes();
  // By distance: first this node's, then that of the next node up, and so on around.
  std::vector<std::byte> around(nodes * block_bytes);
  std::memcpy(around.data(), blocks.data() + places.node * block_bytes, block_bytes);
  const std::span<std::byte> all(around);
  for (uint32_t known = 1; known < nodes; known *= 2) {
    const size_t bytes = std::min(known, nodes - known) * block_bytes;
    const uint32_t up = places.leaders[(places.node + known) % nodes];
    const uint32_t down = places.leaders[(places.node + nodes - known) % nodes];
    const auto receive = collective.receive(up, 0, all.subspan(known * block_bytes, bytes));
    const auto send = collective.send(down, 0, all.first(bytes));
    const Result<uint64_t> got = wait_for(collective, receive);
    const Result<uint64_t> sent = wait_for(collective, send);
    if (!sent.ok()) return sent.status();
    if (!got.ok()) return got.status();
    if (got.value() != bytes) return {Code::corrupt, "a message between nodes has a wrong length"};
    *sent_bytes += bytes;
  }
  for (uint32_t i = 1; i < nodes; ++i)
    std::memcpy(blocks.data() + (places.node + i) % nodes * block_bytes, around.data() + i * block_bytes,
                block_bytes);
  return {};
}

}  // namespace pmio
