// Frames come out of a stream whole, wherever it is cut, and nothing else does.
#include "peer/frame.h"

#include <gtest/gtest.h>

#include <cstring>

namespace pmio {
namespace {

std::vector<std::byte> frame(const FrameHeader& header, size_t payload) {
  std::vector<std::byte> bytes(sizeof header + payload, std::byte{7});
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

TEST(FrameReader, PutsAFrameTogetherWhereverItIsCut) {
  auto stream = frame(make_header(FrameType::request, 5, 40), 40);
  const auto second = frame(make_header(FrameType::request, 6, 0), 0);
  const size_t first = stream.size();
  stream.insert(stream.end(), second.begin(), second.end());
  for (size_t cut = 0; cut <= first; cut++) {
    FrameReader reader(FrameType::request, 40);
    EXPECT_EQ(reader.feed(std::span(stream).first(cut)), cut);
    EXPECT_EQ(reader.begun(), cut > 0);
    EXPECT_EQ(reader.feed(std::span(stream).subspan(cut)), first - cut);
    ASSERT_EQ(reader.state(), FrameReader::State::complete);
    EXPECT_EQ(reader.header().word, 5u);
    EXPECT_EQ(reader.payload(), std::vector<std::byte>(40, std::byte{7}));
    reader.next(FrameType::request, 40);
    EXPECT_EQ(reader.feed(std::span(stream).subspan(first)), sizeof(FrameHeader));
    EXPECT_EQ(reader.state(), FrameReader::State::complete);
    EXPECT_TRUE(reader.payload().empty());
  }
}

TEST(FrameReader, TakesTheRestOfAPayloadWhereItBelongs) {
  auto stream = frame(make_header(FrameType::request, 5, 40), 40);
  for (size_t i = 0; i < 40; i++) stream[sizeof(FrameHeader) + i] = static_cast<std::byte>(i);
  for (size_t cut = sizeof(FrameHeader); cut < stream.size(); cut++) {
    FrameReader reader(FrameType::request, 40);
    EXPECT_EQ(reader.feed(std::span(stream).first(cut)), cut);
    ASSERT_TRUE(reader.reserve());
    for (size_t at = cut; at < stream.size(); at++) {
      ASSERT_EQ(reader.state(), FrameReader::State::payload);
      ASSERT_EQ(reader.room().size(), stream.size() - at);
      reader.room()[0] = stream[at];
      reader.filled(1);
    }
    ASSERT_EQ(reader.state(), FrameReader::State::complete);
    EXPECT_TRUE(std::equal(reader.payload().begin(), reader.payload().end(),
                           stream.begin() + sizeof(FrameHeader), stream.end()));
  }
}

TEST(FrameReader, RefusesWhatIsNotDue) {
  FrameHeader bad_magic = make_header(FrameType::request, 1, 4);
  bad_magic.magic++;
  for (const FrameHeader& header :
       {bad_magic, make_header(FrameType::response, 1, 4), make_header(FrameType::request, 1, 101),
        make_header(FrameType::request, 1, ~0u)}) {
    FrameReader reader(FrameType::request, 100);
    EXPECT_EQ(reader.feed(frame(header, 4)), sizeof header);
    EXPECT_EQ(reader.state(), FrameReader::State::nonsense);
    EXPECT_EQ(reader.feed(frame(header, 4)), 0u);
  }
}

TEST(FrameReader, AllocatesNothingForAPromise) {
  FrameReader reader(FrameType::request, kMaxPayload);
  reader.feed(frame(make_header(FrameType::request, 1, kMaxPayload), 1));
  EXPECT_EQ(reader.state(), FrameReader::State::payload);
  EXPECT_LT(reader.payload().capacity(), 100u);
}

TEST(Token, HalvesAreComparedWhole) {
  const PeerToken token = random_token();
  EXPECT_NE(token, random_token());
  HalfToken half = client_half(token);
  EXPECT_NE(half, server_half(token));
  EXPECT_TRUE(equal(half, client_half(token)));
  for (std::byte& each : half) {
    each ^= std::byte{0x80};
    EXPECT_FALSE(equal(half, client_half(token)));
    each ^= std::byte{0x80};
  }
}

}  // namespace
}  // namespace pmio
