#include "drain/pieces.h"

#include "base/status.h"
#include "drain/blocks.h"

namespace pmio {

void add_pieces(const EntrySource::Located& located, uint64_t stamp, uint32_t rank, const Interval& window,
                std::vector<Piece>* found) {
  const Vector& range = located.range;
  for_block_runs(range, window, [&](uint64_t begin, uint64_t end, uint64_t block, uint64_t count) {
    Piece piece;
    piece.range = {static_cast<int64_t>(begin), end - begin, count == 1 ? 0 : range.stride, count};
    piece.stamp = stamp;
    piece.rank = rank;
    piece.data = located.data + block * range.block_length + (begin - block_begin(range, block));
    found->push_back(piece);
  });
}

bool PieceSource::locate(const Entry& entry, Located* located) {
  PMIO_ASSERT(entry.where < pieces_.size());
  const Piece& piece = pieces_[entry.where];
  located->range = piece.range;
  located->data = piece.data;
  return true;
}

std::vector<Entry> entries_of(std::span<const Piece> pieces) {
  std::vector<Entry> entries;
  entries.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    Entry entry{};
    entry.offset = static_cast<uint64_t>(piece.range.offset);
    entry.end = static_cast<uint64_t>(piece.range.end());
    entry.stamp_ns = piece.stamp;
    entry.segment = piece.rank;
    entry.where = static_cast<uint32_t>(entries.size()) & 0x7fffffffu;
    entry.vector = piece.range.count > 1;
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace pmio
