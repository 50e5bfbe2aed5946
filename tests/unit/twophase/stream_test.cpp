#include "twophase/stream.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

Pattern of_blocks(uint64_t length, uint64_t count) {
  Pattern pattern;
  for (uint64_t i = 0; i < count; ++i)
    pattern.add({static_cast<int64_t>(i * i + i * (length + 3)), length});  // at uneven distances
  pattern.finish(static_cast<int64_t>(count * count + count * (length + 3)));
  return pattern;
}

TwoPhaseRequest request_of(const Pattern& view, const Pattern& memory) {
  TwoPhaseRequest request;
  request.view = &view;
  request.memory = &memory;
  request.bytes = memory.size;
  return request;
}

TEST(Stream, PiecesAreSmallIfTheyShareCacheLines) {
  const Pattern memory = Pattern::bytes(1000);
  for (const uint64_t length : {1, 8, 127}) {
    const Pattern view = of_blocks(length, 20);
    EXPECT_TRUE(Stream(request_of(view, memory)).small_pieces()) << length;
  }
  for (const uint64_t length : {128, 1312}) {
    const Pattern view = of_blocks(length, 20);
    EXPECT_FALSE(Stream(request_of(view, memory)).small_pieces()) << length;
  }
  for (const uint64_t length : {1, 1000}) {
    const Pattern dense = Pattern::bytes(length);
    EXPECT_FALSE(Stream(request_of(dense, memory)).small_pieces()) << length;
  }
  EXPECT_FALSE(Stream(TwoPhaseRequest{}).small_pieces()) << "no bytes, no view";
}

TEST(Stream, FindsThePieceOfAByte) {
  const Pattern view = of_blocks(10, 20), memory = Pattern::bytes(300);
  TwoPhaseRequest request = request_of(view, memory);
  const Stream whole(request);
  for (uint64_t byte = 0; byte < 300; ++byte) EXPECT_EQ(whole.piece_begin(byte), byte / 10 * 10);
  request.position = 7;  // within a piece
  const Stream from_within(request);
  for (uint64_t byte = 0; byte < 293; ++byte)
    EXPECT_EQ(from_within.piece_begin(byte), byte < 3 ? 0 : (byte - 3) / 10 * 10 + 3) << byte;
}

}  // namespace
}  // namespace pmio
