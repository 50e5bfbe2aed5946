#include "shadow.h"

#include <algorithm>
#include <cstring>

namespace pmio::fault {

Shadow::Shadow(std::span<const std::byte> live)
    : live_(live), persistent_(live.begin(), live.end()), seen_(live.begin(), live.end()) {}

size_t Shadow::line_bytes(size_t line) const { return std::min(kLine, live_.size() - line * kLine); }

void Shadow::observe_line(size_t line) {
  const size_t at = line * kLine;
  const size_t bytes = line_bytes(line);
  if (std::memcmp(&seen_[at], &live_[at], bytes) == 0) return;
  std::memcpy(&seen_[at], &live_[at], bytes);
  std::memcpy(at_risk_[line].contents.emplace_back().data(), &seen_[at], bytes);
}

void Shadow::observe(size_t offset, size_t length) {
  constexpr size_t kBlock = 64 * kLine;
  const size_t end = std::min(offset + length, live_.size());
  for (size_t block = offset / kBlock * kBlock; block < end; block += kBlock) {
    const size_t bytes = std::min(kBlock, live_.size() - block);
    if (std::memcmp(&seen_[block], &live_[block], bytes) == 0) continue;
    for (size_t at = block; at < block + bytes; at += kLine) observe_line(at / kLine);
  }
}

void Shadow::flush(size_t offset, size_t length) {
  if (length == 0) return;
  observe(offset, length);
  const auto end = at_risk_.upper_bound((offset + length - 1) / kLine);
  for (auto at = at_risk_.lower_bound(offset / kLine); at != end; ++at)
    at->second.flushed = at->second.contents.size();
}

void Shadow::fence() {
  for (auto at = at_risk_.begin(); at != at_risk_.end();) {
    Line& line = at->second;
    if (line.flushed > 0) {
      std::memcpy(&persistent_[at->first * kLine], line.contents[line.flushed - 1].data(),
                  line_bytes(at->first));
      line.contents.erase(line.contents.begin(),
                          line.contents.begin() + static_cast<ptrdiff_t>(line.flushed));
      line.flushed = 0;
    }
    at = line.contents.empty() ? at_risk_.erase(at) : std::next(at);
  }
}

void Shadow::failed_fence() {
  for (auto& [number, line] : at_risk_) line.flushed = 0;
}

// Any words may be missing, but often it is just one.
void Shadow::tear(const std::byte* before, const std::byte* after, size_t bytes, std::mt19937_64& random,
                  std::byte* out) {
  const bool one = random() % 2 == 0;
  const size_t missing = random() % (kLine / kWord) * kWord;
  for (size_t at = 0; at < bytes; at += kWord) {
    const std::byte* from = (one ? at == missing : random() % 2 == 0) ? before : after;
    std::memcpy(out + at, from + at, std::min(kWord, bytes - at));
  }
}

std::vector<std::byte> Shadow::after_power_failure(Fate fate, std::mt19937_64& random) const {
  std::vector<std::byte> found = persistent_;
  if (fate == Fate::vanish) return found;
  for (const auto& [number, line] : at_risk_) {
    std::byte* out = &found[number * kLine];
    const size_t bytes = line_bytes(number);
    const size_t count = line.contents.size();
    if (fate == Fate::persist) {
      std::memcpy(out, line.contents.back().data(), bytes);
    } else if (fate == Fate::lines) {
      if (const size_t chosen = random() % (count + 1); chosen > 0)
        std::memcpy(out, line.contents[chosen - 1].data(), bytes);
    } else if (fate == Fate::but_one) {
      const size_t missing = random() % (kLine / kWord) * kWord;
      for (size_t at = 0; at < bytes; at++)
        if (at / kWord != missing / kWord) out[at] = line.contents.back()[at];
    } else if (const uint64_t whole = random() % 3; whole == 1) {
      std::memcpy(out, line.contents.back().data(), bytes);
    } else if (whole == 2) {
      const size_t chosen = random() % count;
      // Stores past the caches come in any order: a word may be older than the one before.
      const size_t older = random() % (chosen + 1);
      const std::byte* before = older == 0 ? &persistent_[number * kLine] : line.contents[older - 1].data();
      tear(before, line.contents[chosen].data(), bytes, random, out);
    }
  }
  return found;
}

}  // namespace pmio::fault
