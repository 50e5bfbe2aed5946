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
  FileBuffer() = default;  // no memory
  // Throws std::bad_alloc.
  explicit FileBuffer(size_t bytes) : memory_(std::make_unique_for_overwrite<std::byte[]>(bytes + kPage)) {}
  bool has_memory() const { return memory_ != nullptr; }
  // As many bytes as it was made for, from byte `offset` of the file on.
  std::byte* at(uint64_t offset) const {
    return memory_.get() + (offset - reinterpret_cast<uintptr_t>(memory_.get())) % kPage;
  }

 private:
  static constexpr size_t kPage = 4096;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace pmio
