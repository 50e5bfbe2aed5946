// What the leaders of the nodes tell each other.
#pragma once

#include <functional>
#include <span>

#include "twophase/collective.h"
#include "twophase/places.h"

namespace pmio {

// Waits for a message of this rank. Returns the bytes that a receive has got.
Result<uint64_t> wait_for(Collective& collective, Collective::Message message);

// Collective over the nodes' leaders: each has put its block into blocks, at the number of its node, and gets
// those of all. A leader sends log2(nodes) messages, on channel 0; *sent_bytes grows by their bytes.
Status gather(Collective& collective, const Places& places, std::span<std::byte> blocks, size_t block_bytes,
              uint64_t* sent_bytes);

}  // namespace pmio
