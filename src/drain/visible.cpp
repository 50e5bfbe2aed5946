#include "drain/visible.h"

#include <algorithm>

#include "drain/bitmap.h"
#include "drain/blocks.h"

namespace pmio {
namespace {

// Up to so many pieces, arithmetic tells whether they are apart, as columns are. For more, a bit per byte
// tells it sooner.
constexpr size_t kMostCompared = 256;

bool apart(const Vector& a, const Vector& b) {
  return a.offset >= b.end() || b.offset >= a.end() || interleaved(a, b);
}

bool all_apart(std::span<const Piece> pieces) {
  if (pieces.size() > kMostCompared) return false;
  for (size_t i = 1; i < pieces.size(); i++)
    for (size_t j = 0; j < i; j++)
      if (!apart(pieces[i].range, pieces[j].range)) return false;
  return true;
}

// The bytes of the window that later pieces have.
class Taken {
 public:
  explicit Taken(const Interval& window) : window_(window) { bitmap_.clear(0, window.bytes()); }
  bool any_of(const Vector& v) const {
    return bitmap_.any_of_blocks(at(v.offset), v.block_length, static_cast<uint64_t>(v.stride), v.count);
  }
  void take(const Vector& v) {
    bitmap_.set_blocks(at(v.offset), v.block_length, static_cast<uint64_t>(v.stride), v.count);
  }
  // Calls left(begin, end), in file bytes, for the parts of a block that are not taken.
  template <class Left>
  void for_each_left(const Interval& block, Left left) {
    taken_.clear();
    bitmap_.extract(block.begin - window_.begin, block.end - window_.begin, window_.begin, &taken_);
    uint64_t begin = block.begin;
    for (const Interval& taken : taken_) {
      if (begin < taken.begin) left(begin, taken.begin);
      begin = taken.end;
    }
    if (begin < block.end) left(begin, block.end);
  }

 private:
  uint64_t at(int64_t offset) const { return static_cast<uint64_t>(offset) - window_.begin; }
  const Interval window_;
  Bitmap bitmap_;
  std::vector<Interval> taken_;
};

// Finds what is left of a piece. False: it is not worth telling.
bool rest_of(const Piece& piece, Taken& taken, std::vector<Piece>* rest) {
  const Vector& range = piece.range;
  const uint64_t most = range.bytes() + kPieceCost;
  uint64_t cost = 0;
  rest->clear();
  const auto add = [&](uint64_t begin, uint64_t end, uint64_t block) {
    Piece part = piece;
    part.range = {static_cast<int64_t>(begin), end - begin, 0, 1};
    part.data += block * range.block_length + (begin - block_begin(range, block));
    cost += end - begin + kPieceCost;
    rest->push_back(part);
  };
  uint64_t whole = 0;  // so many blocks up to this one are left as a whole
  const auto grow = [&](uint64_t block) {
    if (whole++ == 0) return add(block_begin(range, block), block_end(range, block), block);
    Vector& run = rest->back().range;
    run.count++;
    run.stride = range.stride;
    cost += range.block_length;
  };
  for (uint64_t i = 0; i < range.count && cost < most; i++) {
    const Interval block{block_begin(range, i), block_end(range, i)};
    if (!taken.any_of({static_cast<int64_t>(block.begin), block.bytes(), 0, 1})) {
      grow(i);
      continue;
    }
    whole = 0;
    taken.for_each_left(block, [&](uint64_t begin, uint64_t end) { add(begin, end, i); });
  }
  return cost < most;
}

}  // namespace

void drop_overwritten(const Interval& window, std::vector<Piece>* pieces) {
  if (all_apart(*pieces)) return;
  Taken taken(window);
  std::vector<Piece> rest, parts;
  // It goes from the last piece back; pieces that stay move to the end of the list.
  size_t kept = pieces->size();
  for (size_t i = pieces->size(); i-- > 0;) {
    const Piece piece = (*pieces)[i];
    const bool whole = !taken.any_of(piece.range) || !rest_of(piece, taken, &rest);
    taken.take(piece.range);
    if (whole)
      (*pieces)[--kept] = piece;
    else
      parts.insert(parts.end(), rest.begin(), rest.end());
  }
  pieces->erase(pieces->begin(), pieces->begin() + static_cast<ptrdiff_t>(kept));
  // The parts may come behind all others, because no later piece has any of their bytes.
  pieces->insert(pieces->end(), parts.begin(), parts.end());
}

}  // namespace pmio
