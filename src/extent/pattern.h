// Regular and irregular byte patterns: what a flattened MPI datatype or file view is without MPI. The same
// class describes memory and file.
//
// Invariant: parts are in data-stream order, the order in which the type's bytes are laid out. Adjacent parts
// are merged if that keeps them regular, and no part is empty. Threads: a Pattern is immutable when it is
// built; a cursor belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pmio {

// count blocks of block_length bytes, the i-th at offset + i * stride. count == 1: an extent (stride is then
// 0).
struct Vector {
  int64_t offset = 0;         // bytes
  uint64_t block_length = 0;  // bytes, > 0
  int64_t stride = 0;         // bytes; may be negative or < block_length only for memory patterns
  uint64_t count = 1;

  uint64_t bytes() const { return block_length * count; }
  // One past the last byte, for stride >= 0.
  int64_t end() const {
    return offset + static_cast<int64_t>(count - 1) * stride + static_cast<int64_t>(block_length);
  }
  bool operator==(const Vector&) const = default;
};

// Whether a vector from outside may be believed to be bytes of a file. It has bytes, its blocks are in order
// and do not overlap, and all of them are in [0, 2^63).
bool well_formed(const Vector& range);

struct Pattern {
  std::vector<Vector> parts;
  std::vector<uint64_t> starts;  // starts[i]: data-stream byte at which parts[i] begins; same length as parts
  uint64_t size = 0;             // data bytes in one tile
  int64_t extent = 0;            // bytes from one tile to the next (MPI extent)
  bool dense = false;  // tiles follow each other without a hole: byte i of the stream is at base + lb + i
  int64_t lower = 0;   // if dense: offset of the first data byte

  // Appends a part, whose offset is absolute within the tile. It is merged with the last part if the two are
  // adjoining extents, equal blocks at an even distance, or vectors that continue each other.
  void add(const Vector& part);
  // Computes starts, size, dense, lower. Call once after the last add.
  void finish(int64_t extent_bytes);
  static Pattern bytes(uint64_t n);  // n contiguous bytes, extent n
};

// Of a pattern whose bytes ascend: whether they ascend from tile to tile, too.
bool tiles_are_apart(const Pattern& pattern);
// The data bytes of such a pattern's tiling that lie before `offset`, which counts from the tiling's start.
// If the tiles are not apart, only the first one counts.
uint64_t bytes_before(const Pattern& pattern, int64_t offset);

// Walks the data stream of base + tiles of a pattern (endless tiling).
class PatternCursor {
 public:
  // Starts at stream byte `skip`. The pattern must outlive the cursor. base is added to every offset: the
  // view's displacement, or 0 for a memory buffer.
  PatternCursor(const Pattern& pattern, int64_t base, uint64_t skip);

  // The next piece of the stream, and advances past it. The piece is one regular vector of at most max_bytes
  // data bytes (max_bytes > 0), as long as possible. It merges across tiles if the result is regular, and in
  // a pattern of few parts also across parts. For a filetype of one 8-byte block of extent 16, max_bytes = 8
  // * n gives ONE vector of n blocks. A partial block is an extent of its own. The pattern must not be empty.
  // The piece is shorter than possible only if the next byte's offset would leave int64_t. An offset that is
  // itself outside is a programmer's error; FileView checks that before.
  Vector next(uint64_t max_bytes) {
    // Here for the compiler to keep it out of memory: irregular patterns have millions of parts of one block.
    if (!block_by_block_ || in_block_ != 0) return next_group(max_bytes);
    const Vector& part = pattern_->parts[part_];
    int64_t start = 0;
    if (part.count != 1 || part.block_length > max_bytes || part_ + 1 == pattern_->parts.size() ||
        __builtin_add_overflow(part.offset, shift_, &start)) {
      return next_group(max_bytes);
    }
    position_ += part.block_length;
    ++part_;
    return {start, part.block_length};
  }

  // The next contiguous piece only, of at most max_bytes: a block, what is left of one, or adjoining blocks.
  struct Piece {
    int64_t offset;
    uint64_t length;
  };
  Piece next_piece(uint64_t max_bytes);

  // Steps back over n bytes that a caller could not use.
  void rewind(uint64_t n);
  uint64_t position() const { return position_; }          // stream bytes since the tiling's start
  uint64_t bytes_into_block() const { return in_block_; }  // walked of the current block; dense: 0
  // Absolute offset of the byte at the current position.
  int64_t offset() const;

 private:
  void seek(uint64_t position);
  void enter_tile(uint64_t tile);
  Vector next_group(uint64_t max_bytes);
  bool try_offset(int64_t* out) const;
  void advance_blocks(uint64_t blocks);
  Vector next_dense(uint64_t max_bytes);
  Vector next_blocks(uint64_t max_bytes);
  Vector next_endless(uint64_t blocks, int64_t stride);
  void extend(Vector& vector, uint64_t budget);
  uint64_t take_from_block(uint64_t max_bytes);

  const Pattern* pattern_;
  int64_t base_;
  uint64_t position_;
  // Derived from position_, and kept so that sequential walking neither searches nor divides. Unused if
  // dense.
  uint64_t tile_ = 0;
  size_t part_ = 0;
  uint64_t block_ = 0;     // block of parts[part_]
  uint64_t in_block_ = 0;  // bytes of it already walked
  // Of a pattern of many parts, which next() merges only from one tile to the next.
  bool block_by_block_ = false;
  int64_t shift_ = 0;  // then: from a part's offset in its tile to the absolute one
};

}  // namespace pmio
