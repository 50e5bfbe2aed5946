#include "peer/frame.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/status.h"

namespace pmio {

HalfToken client_half(const PeerToken& token) {
  HalfToken half;
  std::copy_n(token.begin(), half.size(), half.begin());
  return half;
}

HalfToken server_half(const PeerToken& token) {
  HalfToken half;
  std::copy_n(token.begin() + half.size(), half.size(), half.begin());
  return half;
}

bool equal(const HalfToken& half, std::span<const std::byte, sizeof(HalfToken)> shown) {
  volatile unsigned difference = 0;
  for (size_t i = 0; i < half.size(); i++)
    difference = difference | std::to_integer<unsigned>(half[i] ^ shown[i]);
  return difference == 0;
}

FrameHeader make_header(FrameType type, uint32_t word, size_t length) {
  return {kFrameMagic, type, word, static_cast<uint32_t>(length)};
}

void FrameReader::next(FrameType due, size_t max_payload) {
  due_ = due;
  max_payload_ = max_payload;
  state_ = State::header;
  header_bytes_ = 0;
  payload_ = {};  // gives its memory back
  filled_ = 0;
}

size_t FrameReader::feed(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  size_t taken = 0;
  if (state_ == State::header) {
    taken = std::min(bytes.size(), sizeof header_ - header_bytes_);
    std::memcpy(reinterpret_cast<std::byte*>(&header_) + header_bytes_, bytes.data(), taken);
    header_bytes_ += taken;
    if (header_bytes_ < sizeof header_) return taken;
    const bool working =
        due_ == FrameType::response && header_.type == FrameType::working && header_.length == 0;
    const bool valid =
        header_.magic == kFrameMagic && (header_.type == due_ || working) && header_.length <= max_payload_;
    state_ = !valid ? State::nonsense : header_.length == 0 ? State::complete : State::payload;
  }
  if (state_ == State::payload) {
    const auto rest = bytes.subspan(taken, std::min(bytes.size() - taken, header_.length - filled_));
    if (payload_.size() < filled_ + rest.size()) payload_.resize(filled_ + rest.size());
    std::copy(rest.begin(), rest.end(), payload_.begin() + static_cast<ptrdiff_t>(filled_));
    taken += rest.size();
    filled(rest.size());
  }
  return taken;
}

std::span<std::byte> FrameReader::room() {
  payload_.resize(header_.length);
  return std::span(payload_).subspan(filled_);
}

void FrameReader::filled(size_t bytes) {
  PMIO_ASSERT(bytes <= header_.length - filled_);
  filled_ += bytes;
  if (filled_ == header_.length) state_ = State::complete;
}

bool FrameReader::reserve() {
  try {
    payload_.reserve(header_.length);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

}  // namespace pmio
