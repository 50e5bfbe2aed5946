// Memory for some bytes of a file, which lie as far into a page as they do in the file. The kernel copies
// between such a buffer and its pages by `rep movs`. Some processors take 5 times as long for that, or more,
// if the destination lies less than 64 bytes behind the source, but for whole pages. Memory from malloc does
// behind that of a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace pmio {

class FileBuffer {
 public:
  // The most bytes at once. It takes no memory yet.
  explicit FileBuffer(size_t bytes) : bytes_(bytes) {}
  // So many, from byte `offset` of the file on; of the last call alone. Throws std::bad_alloc if there is no
  // memory for them.
  std::byte* at(uint64_t offset) {
    if (memory_ == nullptr) memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes_ + kPage);
    return memory_.get() + (offset - reinterpret_cast<uintptr_t>(memory_.get())) % kPage;
  }
  bool has_memory() const { return memory_ != nullptr; }
  // Gives it back, until the next use.
  void release() { memory_.reset(); }

 private:
  static constexpr size_t kPage = 4096;
  size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace pmio
