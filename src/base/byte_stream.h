// Writes values as bytes, one after the other as they lie in memory, and reads them back. Threads: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace pmio {

class ByteWriter {
 public:
  template <class T>
  ByteWriter& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  ByteWriter& put_bytes(std::span<const std::byte> more) {
    const size_t at = bytes_.size();
    bytes_.resize(at + more.size());
    if (!more.empty()) std::memcpy(bytes_.data() + at, more.data(), more.size());
    return *this;
  }
  // Allocates memory for so many more bytes, if there will be many.
  void reserve(size_t more) { bytes_.reserve(bytes_.size() + more); }
  // Puts the list's length before it.
  template <class T>
  ByteWriter& put_list(std::span<const T> list) {
    return put(uint64_t{list.size()}).put_bytes(std::as_bytes(list));
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  std::vector<std::byte> take() { return std::exchange(bytes_, {}); }

 private:
  std::vector<std::byte> bytes_;
};

// Trusts nothing. Every read says whether there were enough bytes. After one that returned false, all do.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  bool get(T* value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = get_bytes(sizeof(T));
    if (ok_) std::memcpy(value, bytes.data(), sizeof(T));
    return ok_;
  }
  // Reads so many items into a vector or a string.
  template <class List>
  bool get_items(uint64_t count, List* list) {
    using T = typename List::value_type;
    static_assert(std::is_trivially_copyable_v<T>);
    if (!ok_ || count > left_.size() / sizeof(T)) return ok_ = false;
    list->resize(count);
    const auto bytes = get_bytes(count * sizeof(T));
    if (count > 0) std::memcpy(list->data(), bytes.data(), bytes.size());
    return true;
  }
  // Reads a list as put_list wrote it.
  template <class T>
  bool get_list(std::vector<T>* list) {
    uint64_t count = 0;
    return get(&count) && get_items(count, list);
  }
  // Empty: there are not so many bytes.
  std::span<const std::byte> get_bytes(size_t count) {
    ok_ = ok_ && count <= left_.size();
    if (!ok_) return {};
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_.empty(); }
  size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> left_;
  bool ok_ = true;
};

}  // namespace pmio
