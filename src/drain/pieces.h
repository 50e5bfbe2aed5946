// The parts of log entries that lie in one window, each with its bytes: what is painted together if it comes
// from several places. Threads: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drain/interval.h"
#include "drain/paint.h"

namespace pmio {

struct Piece {
  Vector range;
  uint64_t stamp = 0;
  uint32_t rank = 0;                // of equal stamps the higher rank wins, then the later one in the list
  const std::byte* data = nullptr;  // range.bytes() bytes
};

inline Interval window_bytes(uint64_t window) { return {window * kWindowBytes, (window + 1) * kWindowBytes}; }

// Appends the parts of an entry that lie in the window. Each part is whole blocks, or a part of one block.
void add_pieces(const EntrySource::Located& located, uint64_t stamp, uint32_t rank, const Interval& window,
                std::vector<Piece>* found);

// For Painter::paint, with entries_of(pieces).
class PieceSource : public EntrySource {
 public:
  explicit PieceSource(std::span<const Piece> pieces) : pieces_(pieces) {}
  bool locate(const Entry& entry, Located* located) override;

 private:
  std::span<const Piece> pieces_;
};
std::vector<Entry> entries_of(std::span<const Piece> pieces);

}  // namespace pmio
