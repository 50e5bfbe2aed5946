#include "mpi/memory.h"

#include <climits>

namespace pmio {
namespace {

// Offset of the data where it is one block per tile and tiles adjoin, or where there is one tile only; -1
// otherwise.
bool one_block(const Pattern& pattern, MPI_Count count, int64_t* offset) {
  if (pattern.dense) {
    *offset = pattern.lower;
    return true;
  }
  if (count != 1 || pattern.parts.size() != 1 || pattern.parts[0].count != 1) return false;
  *offset = pattern.parts[0].offset;
  return true;
}

Status cannot_pack() {
  return {Code::unsupported, "a buffer datatype that pmio cannot take apart, of this size"};
}

}  // namespace

Result<Memory> Memory::of(const Transfer& transfer) {
  Memory memory;
  const FlatType* flat = flatten(transfer.datatype);
  MPI_Count size = 0;
  if (flat != nullptr) {
    size = static_cast<MPI_Count>(flat->size);
  } else {
    mpi().Type_size_x(transfer.datatype, &size);
  }
  if (size == MPI_UNDEFINED || __builtin_mul_overflow(size, transfer.count, &memory.bytes_) ||
      memory.bytes_ > INT64_MAX) {
    return Status(Code::invalid, "a transfer of more than 2^63 bytes");
  }
  memory.base_ = static_cast<std::byte*>(transfer.buffer);
  if (flat == nullptr) {
    PMIO_TRY(memory.pack(transfer));
    return memory;
  }
  memory.pattern_ = &flat->pattern;
  int64_t offset = 0;
  if (one_block(flat->pattern, transfer.count, &offset)) memory.contiguous_ = memory.base_ + offset;
  return memory;
}

bool Memory::missing() const {
  constexpr int64_t kNobodysBytes = 4096;  // the page of the null pointer, which no system gives to anybody
  if (base_ != nullptr || bytes_ == 0) return false;
  const int64_t first = pattern_->parts.front().offset;
  return first >= 0 && first < kNobodysBytes;
}

Status Memory::pack(const Transfer& transfer) {
  int room = 0, position = 0;
  if (transfer.count > INT_MAX || bytes_ > INT_MAX) return cannot_pack();
  const int count = static_cast<int>(transfer.count);
  mpi().Pack_size(count, transfer.datatype, MPI_COMM_WORLD, &room);
  packed_.resize(static_cast<size_t>(room));
  // For a read too: what the file does not provide keeps its value when deliver unpacks all.
  mpi().Pack(transfer.buffer, count, transfer.datatype, packed_.data(), room, &position, MPI_COMM_WORLD);
  if (static_cast<uint64_t>(position) != bytes_) return cannot_pack();
  static const Pattern& stream = *new Pattern(Pattern::bytes(1));
  base_ = contiguous_ = packed_.data();
  pattern_ = &stream;
  return {};
}

Status Memory::deliver(const Transfer& transfer, uint64_t got) {
  if (packed_.empty() || got == 0) return {};
  int position = 0;
  const int code = mpi().Unpack(packed_.data(), static_cast<int>(bytes_), &position, transfer.buffer,
                                static_cast<int>(transfer.count), transfer.datatype, MPI_COMM_WORLD);
  return code == MPI_SUCCESS ? Status() : cannot_pack();
}

}  // namespace pmio
