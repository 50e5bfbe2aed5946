#include "twophase/node_memory.h"

#include <gtest/gtest.h>

#include <new>

namespace pmio {
namespace {

constexpr std::align_val_t kPage{4096};

std::shared_ptr<std::byte> pages(uint64_t bytes) {
  return {static_cast<std::byte*>(operator new(bytes, kPage)),
          [](std::byte* p) { operator delete(p, kPage); }};
}

uint64_t in_page(const std::byte* at) { return reinterpret_cast<uintptr_t>(at) % 4096; }

TEST(NodeMemory, AnImageLiesInItsPagesAsTheWindowInTheFiles) {
  const NodeMemory::Shape shape{1, 2, 3, uint64_t{1} << 16};
  const auto memory = pages(shape.bytes());
  NodeMemory node(memory, shape);
  for (const uint64_t begin : {uint64_t{0}, uint64_t{40}, uint64_t{4095}, (uint64_t{7} << 20) + 63}) {
    const std::byte* before = memory.get() + shape.zeroed_bytes();
    for (uint32_t slot = 0; slot < shape.slots; ++slot) {
      const std::byte* const image = node.image(slot, begin);
      EXPECT_EQ(in_page(image), begin % 4096);
      EXPECT_GE(image, before) << "slots overlap";
      before = image + shape.window_bytes;
    }
    EXPECT_LE(before, memory.get() + shape.bytes());
  }
}

}  // namespace
}  // namespace pmio
