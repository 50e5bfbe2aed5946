#include "drain/paint.h"

#include <algorithm>

#include "base/copy.h"
#include "base/prefetch.h"
#include "base/status.h"
#include "drain/blocks.h"
#include "drain/sort.h"
#include "drain/tiling.h"

namespace pmio {
namespace {

// Overlapping vectors are painted in steps of this size, so that the bytes that they share stay in the cache.
constexpr uint64_t kStepBytes = 128 << 10;
// Beyond so many, the look at each piece once per step costs more than the cache saves.
constexpr size_t kMostSteppedPieces = 256;
constexpr size_t kPrefetchPieces = 2;  // how far ahead of the copying

bool locate(EntrySource& source, const Entry& entry, EntrySource::Located* located) {
  if (!source.locate(entry, located)) return false;
  const Vector& range = located->range;
  return static_cast<uint64_t>(range.offset) == entry.offset &&
         static_cast<uint64_t>(range.end()) == entry.end && range.block_length > 0 &&
         (range.count == 1 || range.stride >= static_cast<int64_t>(range.block_length));
}

Interval clip(uint64_t begin, uint64_t end, const Interval& window) {
  return {std::max(begin, window.begin), std::min(end, window.end)};
}

void append_blocks(const Vector& v, const Interval& window, std::vector<Interval>* covered) {
  for_block_runs(v, window, [&](uint64_t begin, uint64_t end, uint64_t, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t shift = i * static_cast<uint64_t>(v.stride);
      append_interval(covered, begin + shift, end + shift);
    }
  });
}

void mark(Bitmap& bitmap, std::span<const EntrySource::Located> pieces, const Interval& range, uint64_t a) {
  for (const auto& piece : pieces)
    for_block_runs(piece.range, range, [&](uint64_t begin, uint64_t end, uint64_t, uint64_t count) {
      if (count == 1)
        bitmap.set(begin - a, end - a);
      else
        bitmap.set_blocks(begin - a, end - begin, static_cast<uint64_t>(piece.range.stride), count);
    });
}

// The longest part of range that is surely covered: by an extent, or by columns.
Interval solid_part(std::span<const EntrySource::Located> pieces, const Interval& range) {
  Interval best{range.begin, range.begin};
  std::vector<Vector> vectors;
  const auto consider = [&](const Interval& interval) {
    const Interval inside = clip(interval.begin, interval.end, range);
    if (inside.begin < inside.end && inside.bytes() > best.bytes()) best = inside;
  };
  for (const auto& piece : pieces) {
    if (piece.range.count > 1)
      vectors.push_back(piece.range);
    else
      consider({static_cast<uint64_t>(piece.range.offset), static_cast<uint64_t>(piece.range.end())});
  }
  // Extents that overlap in a chain cover all from the first to the last.
  if (vectors.empty()) return range;
  consider(tiled_range(vectors));
  return best;
}

// How many of the first entries are extents that overlap nothing.
size_t lone_extents(std::span<const Entry> sorted) {
  size_t n = 0;
  while (n < sorted.size() && sorted[n].vector == 0 &&
         (n + 1 == sorted.size() || sorted[n + 1].offset >= sorted[n].end))
    ++n;
  return n;
}

// How many of the first entries overlap in a chain; at least 1.
size_t overlapping(std::span<const Entry> sorted) {
  size_t n = 1;
  for (uint64_t end = sorted[0].end; n < sorted.size() && sorted[n].offset < end; ++n)
    end = std::max(end, sorted[n].end);
  return n;
}

}  // namespace

bool Painter::paint_extents(std::span<const Entry> extents, EntrySource& source, const Interval& window,
                            std::byte* out, std::vector<Interval>* covered) {
  pieces_.resize(extents.size());
  for (size_t i = 0; i < extents.size(); ++i)
    if (!locate(source, extents[i], &pieces_[i]) || pieces_[i].range.count != 1) return false;
  for (size_t i = 0; i < extents.size(); ++i) {
    // Neighbours in the file come from different logs, which no hardware prefetcher foresees.
    if (i + kPrefetchPieces < extents.size()) {
      const EntrySource::Located& coming = pieces_[i + kPrefetchPieces];
      prefetch_to_read(coming.data, coming.range.bytes());
    }
    const Interval part = clip(extents[i].offset, extents[i].end, window);
    copy_bytes(out + (part.begin - window.begin), pieces_[i].data + (part.begin - extents[i].offset),
               part.bytes());
    append_interval(covered, part.begin, part.end);
  }
  return true;
}

void Painter::cover_cluster(const Interval& range, uint64_t a, std::vector<Interval>* covered) {
  const Interval solid = solid_part(pieces_, range);
  const auto look = [&](const Interval& part) {
    if (part.begin >= part.end) return;
    bitmap_.clear(part.begin - a, part.end - a);
    mark(bitmap_, pieces_, part, a);
    bitmap_.extract(part.begin - a, part.end - a, a, covered);
  };
  look({range.begin, solid.begin});
  append_interval(covered, solid.begin, solid.end);
  look({solid.end, range.end});
}

// Paints entries whose spans overlap in a chain, and no others.
bool Painter::paint_cluster(std::span<Entry> cluster, EntrySource& source, const Interval& window,
                            std::byte* out, std::vector<Interval>* covered) {
  PMIO_ASSERT(!cluster.empty());
  if (cluster.size() > 1) std::sort(cluster.begin(), cluster.end(), older);
  pieces_.resize(cluster.size());
  uint64_t begin = UINT64_MAX, end = 0;
  for (size_t i = 0; i < cluster.size(); ++i) {
    if (!locate(source, cluster[i], &pieces_[i])) return false;
    begin = std::min(begin, cluster[i].offset);
    end = std::max(end, cluster[i].end);
  }
  const Interval range = clip(begin, end, window);
  const uint64_t step = pieces_.size() <= kMostSteppedPieces ? kStepBytes : kWindowBytes;
  for (uint64_t at = range.begin; at < range.end; at += step)
    for (const auto& piece : pieces_)
      copy_blocks(piece.range, piece.data, {at, std::min(range.end, at + step)}, window.begin, out);
  if (cluster.size() == 1)
    append_blocks(pieces_.front().range, window, covered);
  else
    cover_cluster(range, window.begin, covered);
  return true;
}

bool Painter::paint(std::span<const Entry> entries, EntrySource& source, uint64_t a, uint64_t b,
                    std::byte* out, std::vector<Interval>* covered) {
  PMIO_ASSERT(a <= b && b - a <= kWindowBytes);
  covered->clear();
  order_.clear();
  if (a == b) return true;
  for (const Entry& entry : entries)
    if (entry.offset < b && entry.end > a) order_.push_back(entry);
  scratch_.resize(order_.size());
  if (sort_by_offset(order_.data(), order_.size(), scratch_.data()) != order_.data()) order_.swap(scratch_);

  const Interval window{a, b};
  for (size_t i = 0; i < order_.size();) {
    PMIO_ASSERT(i == 0 || order_[i - 1].offset <= order_[i].offset);
    const std::span<Entry> rest(order_.data() + i, order_.size() - i);
    size_t n = lone_extents(rest);
    if (n > 0) {
      if (!paint_extents(rest.first(n), source, window, out, covered)) return false;
    } else {
      n = overlapping(rest);
      if (!paint_cluster(rest.first(n), source, window, out, covered)) return false;
    }
    i += n;
  }
  return true;
}

}  // namespace pmio
