// The program's buffer of one call, as bytes in data-stream order.
#pragma once

#include <cstddef>
#include <vector>

#include "extent/pattern.h"
#include "mpi/calls.h"
#include "view/datatype.h"

namespace pmio {

class Memory {
 public:
  // invalid: count * size does not fit 63 bits. unsupported: a type that can neither be flattened nor packed.
  static Result<Memory> of(const Transfer& transfer);

  uint64_t bytes() const { return bytes_; }
  // Whether the program has given bytes, but no buffer. Not where an MPI_BOTTOM has a type of addresses.
  bool missing() const;
  // The bytes in one piece, where they lie so; else nullptr.
  std::byte* contiguous() const { return contiguous_; }
  // Offsets count from base().
  PatternCursor cursor() const { return {*pattern_, 0, 0}; }
  std::byte* base() const { return base_; }

  // After a read of `got` bytes: into the program's buffer, where they are not there yet.
  Status deliver(const Transfer& transfer, uint64_t got);

 private:
  Status pack(const Transfer& transfer);

  uint64_t bytes_ = 0;
  std::byte* base_ = nullptr;
  std::byte* contiguous_ = nullptr;
  const Pattern* pattern_ = nullptr;
  std::vector<std::byte> packed_;  // only for types that cannot be flattened
};

}  // namespace pmio
