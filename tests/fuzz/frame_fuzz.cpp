// Whatever comes from the network, wherever it is cut: frames come out whole, no longer than allowed, and the
// same as when all comes at once. The first byte: the longest payload, in units of 16 bytes; the second: the
// size of the pieces.
#include <algorithm>
#include <cstdlib>

#include "peer/frame.h"

namespace {

using pmio::FrameReader;

struct Read {
  std::vector<uint32_t> words;
  std::vector<std::byte> payloads;
  FrameReader::State last;
  bool operator==(const Read&) const = default;
};

Read read_all(std::span<const std::byte> stream, size_t max_payload, size_t piece) {
  Read read{};
  FrameReader reader(pmio::FrameType::request, max_payload);
  while (!stream.empty() && reader.state() != FrameReader::State::nonsense) {
    const auto part = stream.first(std::min(piece, stream.size()));
    const size_t taken = reader.feed(part);
    if (taken > part.size() || (taken == 0 && reader.state() != FrameReader::State::nonsense)) std::abort();
    stream = stream.subspan(taken);
    if (reader.payload().size() > max_payload) std::abort();
    if (reader.state() == FrameReader::State::payload && !reader.reserve()) std::abort();
    if (reader.state() != FrameReader::State::complete) continue;
    if (reader.payload().size() != reader.header().length) std::abort();
    read.words.push_back(reader.header().word);
    read.payloads.insert(read.payloads.end(), reader.payload().begin(), reader.payload().end());
    reader.next(pmio::FrameType::request, max_payload);
  }
  read.last = reader.state();
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  if (size < 2) return 0;
  const auto stream = std::as_bytes(std::span(input, size)).subspan(2);
  const size_t max_payload = size_t{input[0]} * 16;
  if (read_all(stream, max_payload, size_t{input[1]} + 1) != read_all(stream, max_payload, size))
    std::abort();
  return 0;
}
