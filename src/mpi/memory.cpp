#include "mpi/memory.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <optional>

#include "extent/strided_copy.h"
#include "mpi/library.h"

namespace pmio {
namespace {

// Where the data begins, if it is one piece: one block per tile, and tiles adjoin or there is only one.
std::optional<int64_t> only_piece(const Pattern& pattern, MPI_Count count) {
  if (pattern.dense) return pattern.lower;
  if (count != 1 || pattern.parts.size() != 1 || pattern.parts[0].count != 1) return std::nullopt;
  return pattern.parts[0].offset;
}

Status cannot_pack() {
  return {Code::unsupported, "a buffer datatype that pmio cannot take apart, of this size"};
}

}  // namespace

uint64_t bytes_of(const Transfer& transfer) {
  MPI_Count size = 0;
  if (transfer.count <= 0 || transfer.datatype == MPI_DATATYPE_NULL ||
      mpi().Type_size_x(transfer.datatype, &size) != MPI_SUCCESS || size < 0)
    return 0;
  return static_cast<uint64_t>(size) * static_cast<uint64_t>(transfer.count);
}

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
  if (const auto offset = only_piece(flat->pattern, transfer.count))
    memory.contiguous_ = memory.base_ + *offset;
  if (memory.bytes_ > 0) memory.device_ = DeviceMemory(memory.base_ + flat->pattern.parts.front().offset);
  return memory;
}

Status Memory::fetch(PatternCursor& from, std::byte* to, uint64_t bytes) const {
  while (bytes > 0) {
    const Vector blocks = from.next(bytes);
    PMIO_TRY(fetch_blocks(blocks, to));
    to += blocks.bytes();
    bytes -= blocks.bytes();
  }
  return {};
}

// If there is little between the blocks, some blocks and what is between them are copied at once. That takes
// less time than one copy of each block.
Status Memory::fetch_blocks(const Vector& blocks, std::byte* to) const {
  constexpr uint64_t kTogether = 1 << 20, kGapsPerByte = 16;
  const auto stride = static_cast<uint64_t>(std::max<int64_t>(blocks.stride, 0));
  const bool close = blocks.count > 1 && stride >= blocks.block_length &&
                     stride / kGapsPerByte <= blocks.block_length && 2 * stride <= kTogether;
  const uint64_t most = close ? kTogether / stride : 1;
  std::unique_ptr<std::byte[]> around;
  for (uint64_t done = 0; done < blocks.count;) {
    const uint64_t count = std::min(most, blocks.count - done);
    const std::byte* from = base_ + blocks.offset + static_cast<int64_t>(done) * blocks.stride;
    const uint64_t reach = (count - 1) * stride + blocks.block_length;
    if (count > 1 && around == nullptr) around = std::make_unique_for_overwrite<std::byte[]>(kTogether);
    if (count == 1) {
      PMIO_TRY(device_.copy_to_host(to, from, blocks.block_length));
    } else {
      PMIO_TRY(device_.copy_to_host(around.get(), from, reach));
      gather_blocks(to, around.get(), blocks.block_length, blocks.stride, count);
    }
    to += count * blocks.block_length;
    done += count;
  }
  return {};
}

Status Memory::store(PatternCursor& to, const std::byte* from, uint64_t bytes) const {
  while (bytes > 0) {
    const PatternCursor::Piece piece = to.next_piece(bytes);
    PMIO_TRY(device_.copy_to_device(base_ + piece.offset, from, piece.length));
    from += piece.length;
    bytes -= piece.length;
  }
  return {};
}

bool Memory::missing() const {
  constexpr int64_t kNobodysBytes = 4096;  // the null pointer's page, which no system maps
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
  // For a read too: deliver unpacks all, and bytes that the file does not have keep their value.
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
