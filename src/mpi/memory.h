// The program's buffer of one call, as bytes in data-stream order.
#pragma once

#include <cstddef>
#include <vector>

#include "base/device_memory.h"
#include "extent/pattern.h"
#include "mpi/call.h"
#include "view/datatype.h"

namespace pmio {

// As the datatype says; 0 if it is wrong.
uint64_t bytes_of(const Transfer& transfer);

class Memory {
 public:
  // invalid: count * size does not fit 63 bits. unsupported: a type that can neither be flattened nor packed.
  static Result<Memory> of(const Transfer& transfer);

  uint64_t bytes() const { return bytes_; }
  // Whether the program has given bytes, but no buffer. MPI_BOTTOM with a type of addresses is a buffer.
  bool missing() const;
  // The bytes, if they lie in one piece; else nullptr.
  std::byte* contiguous() const { return contiguous_; }
  // Offsets count from base().
  PatternCursor cursor() const { return {*pattern_, 0, 0}; }
  std::byte* base() const { return base_; }
  const Pattern& pattern() const { return *pattern_; }

  // Whether the bytes are in a GPU's memory. Then neither contiguous nor base may be used, but fetch and
  // store, which advance the cursor.
  bool on_device() const { return device_.is_device(); }
  Status fetch(PatternCursor& from, std::byte* to, uint64_t bytes) const;
  // Writes nothing between the buffer's pieces: a GPU may be writing there.
  Status store(PatternCursor& to, const std::byte* from, uint64_t bytes) const;

  // After a read of `got` bytes: brings them into the program's buffer, if they are not there yet.
  Status deliver(const Transfer& transfer, uint64_t got);

 private:
  Status fetch_blocks(const Vector& blocks, std::byte* to) const;
  Status pack(const Transfer& transfer);

  uint64_t bytes_ = 0;
  std::byte* base_ = nullptr;
  std::byte* contiguous_ = nullptr;
  const Pattern* pattern_ = nullptr;
  DeviceMemory device_{nullptr};
  std::vector<std::byte> packed_;  // only for types that cannot be flattened
};

}  // namespace pmio
