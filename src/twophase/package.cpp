#include "twophase/package.h"

#include <algorithm>
#include <cstring>

#include "drain/bitmap.h"

namespace pmio {
namespace {

enum class Form : uint32_t { runs = 1, bits = 2 };

// The trailer's end.
struct Footer {
  uint64_t data_bytes;
  uint32_t body_bytes;  // of the trailer before it
  Form form;
};

// Numbers of 7 bits a byte, the lowest first.
class Numbers {
 public:
  Numbers(std::byte* to, uint64_t most) : to_(to), most_(most) {}
  void put(uint64_t number) {
    for (; number >= 0x80; number >>= 7) put_byte(static_cast<unsigned>(number & 0x7f) | 0x80u);
    put_byte(static_cast<unsigned>(number));
  }
  bool fits() const { return bytes_ <= most_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void put_byte(unsigned byte) {
    if (bytes_ < most_) to_[bytes_] = static_cast<std::byte>(byte);
    ++bytes_;
  }
  std::byte* to_;
  uint64_t most_, bytes_ = 0;
};

bool take_number(std::span<const std::byte>* from, uint64_t* number) {
  *number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (from->empty()) return false;
    const auto byte = static_cast<uint64_t>(from->front());
    *from = from->subspan(1);
    *number |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

uint64_t bitmap_bytes(uint64_t window_bytes) { return (window_bytes + 63) / 64 * 8; }

// Equal intervals at equal gaps are one run: gap, length, and how often.
uint64_t put_runs(const Interval& window, std::span<const Interval> covered, std::byte* to, uint64_t most) {
  Numbers numbers(to, most);
  uint64_t end = window.begin;
  for (size_t i = 0; i < covered.size() && numbers.fits();) {
    const uint64_t gap = covered[i].begin - end, length = covered[i].bytes();
    uint64_t times = 0;
    for (; i < covered.size() && covered[i].begin - end == gap && covered[i].bytes() == length; ++i, ++times)
      end = covered[i].end;
    numbers.put(gap);
    numbers.put(length);
    numbers.put(times);
  }
  return numbers.bytes();
}

void put_bits(const Interval& window, std::span<const Interval> covered, std::byte* to) {
  std::memset(to, 0, bitmap_bytes(window.bytes()));
  for (const Interval& interval : covered) {
    for (uint64_t at = interval.begin - window.begin; at < interval.end - window.begin;) {
      if (at % 8 == 0 && at + 8 <= interval.end - window.begin) {
        to[at / 8] = std::byte{0xff};
        at += 8;
      } else {
        to[at / 8] |= static_cast<std::byte>(1u << at % 8);
        ++at;
      }
    }
  }
}

uint64_t put_trailer(const Interval& window, std::span<const Interval> covered, uint64_t data_bytes,
                     std::byte* to) {
  const uint64_t most = bitmap_bytes(window.bytes());
  Footer footer{data_bytes, 0, Form::runs};
  uint64_t body = put_runs(window, covered, to, most);
  if (body > most) {
    put_bits(window, covered, to);
    body = most;
    footer.form = Form::bits;
  }
  footer.body_bytes = static_cast<uint32_t>(body);
  std::memcpy(to + body, &footer, sizeof footer);
  return body + sizeof footer;
}

bool take_runs(const Interval& window, std::span<const std::byte> body, std::vector<Interval>* covered) {
  uint64_t at = window.begin;
  while (!body.empty()) {
    uint64_t gap = 0, length = 0, times = 0;
    if (!take_number(&body, &gap) || !take_number(&body, &length) || !take_number(&body, &times))
      return false;
    for (; times > 0; --times) {
      if (length == 0 || gap > window.end - at || length > window.end - at - gap) return false;
      append_interval(covered, at + gap, at + gap + length);
      at += gap + length;
    }
  }
  return true;
}

bool take_bits(const Interval& window, std::span<const std::byte> body, std::vector<Interval>* covered) {
  if (body.size() != bitmap_bytes(window.bytes())) return false;
  std::vector<uint64_t> words(body.size() / sizeof(uint64_t));
  std::memcpy(words.data(), body.data(), body.size());
  extract_bits(words.data(), 0, window.bytes(), window.begin, covered);
  return true;
}

}  // namespace

uint64_t most_trailer_bytes(uint64_t window_bytes) { return bitmap_bytes(window_bytes) + sizeof(Footer); }

std::span<std::byte> pack(const Interval& window, std::span<const Interval> covered, std::byte* image) {
  std::byte* const front = covered.empty() ? image : image + (covered.front().begin - window.begin);
  std::byte* to = front;
  for (const Interval& interval : covered) {
    const std::byte* from = image + (interval.begin - window.begin);
    if (to != from) std::memmove(to, from, interval.bytes());
    to += interval.bytes();
  }
  const auto data_bytes = static_cast<uint64_t>(to - front);
  return {front, data_bytes + put_trailer(window, covered, data_bytes, to)};
}

std::span<std::byte> pack_copy(const Interval& window, std::span<const Interval> covered, uint64_t end,
                               const std::byte* image, std::byte* to) {
  std::vector<Interval> there;
  uint64_t data_bytes = 0;
  for (const Interval& interval : covered) {
    if (interval.begin >= end) break;
    there.push_back({interval.begin, std::min(interval.end, end)});
    std::memcpy(to + data_bytes, image + (interval.begin - window.begin), there.back().bytes());
    data_bytes += there.back().bytes();
  }
  return {to, data_bytes + put_trailer(window, there, data_bytes, to + data_bytes)};
}

std::span<std::byte> ask(const Interval& window, std::span<const Interval> covered, std::byte* to) {
  return {to, put_trailer(window, covered, 0, to)};
}

Status unpack(const Interval& window, std::span<const std::byte> message, Package* package) {
  Status wrong(Code::corrupt, "a message between nodes is damaged");
  package->covered.clear();
  Footer footer{};
  if (message.size() < sizeof footer) return wrong;
  std::memcpy(&footer, message.data() + message.size() - sizeof footer, sizeof footer);
  message = message.first(message.size() - sizeof footer);
  if (footer.body_bytes > message.size()) return wrong;
  const auto body = message.last(footer.body_bytes);
  if (footer.data_bytes != message.size() - body.size()) return wrong;
  package->data_bytes = footer.data_bytes;
  const bool taken = footer.form == Form::runs   ? take_runs(window, body, &package->covered)
                     : footer.form == Form::bits ? take_bits(window, body, &package->covered)
                                                 : false;
  uint64_t covered = 0;
  for (const Interval& interval : package->covered) covered += interval.bytes();
  if (!taken || (covered != footer.data_bytes && footer.data_bytes != 0)) return wrong;
  return {};
}

void spread(const Interval& window, const Package& package, const std::byte* message, std::byte* image) {
  // From the last on: in the same memory each interval's place is at or behind its bytes in the message.
  uint64_t from = package.data_bytes;
  for (size_t i = package.covered.size(); i-- > 0;) {
    const Interval& interval = package.covered[i];
    from -= interval.bytes();
    std::memmove(image + (interval.begin - window.begin), message + from, interval.bytes());
  }
}

}  // namespace pmio
