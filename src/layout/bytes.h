// Reads numbers from bytes that somebody else wrote: little-endian, at any place, and never beyond the end.
#pragma once

#include <bit>
#include <cstring>
#include <string_view>

namespace pmio {

static_assert(std::endian::native == std::endian::little);

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  size_t size() const { return bytes_.size(); }
  // 0: not all of the number is there.
  template <class Number>
  Number get(size_t at) const {
    Number number{};
    if (at <= bytes_.size() && bytes_.size() - at >= sizeof number)
      std::memcpy(&number, bytes_.data() + at, sizeof number);
    return number;
  }
  // It is shorter if not all of it is there.
  Bytes part(size_t at, size_t size) const {
    return Bytes(at < bytes_.size() ? bytes_.substr(at, size) : std::string_view());
  }
  std::string_view text() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace pmio
