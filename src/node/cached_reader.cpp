#include "node/cached_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pmio {

namespace {

constexpr uint64_t kBufferBytes = 256 << 10;
constexpr uint64_t kLeastAhead = 16 << 10;
constexpr size_t kMostRanges = 1 << 16;

uint64_t page_down(uint64_t at) { return at / TargetFile::page_bytes() * TargetFile::page_bytes(); }
uint64_t page_up(uint64_t at) { return page_down(at + TargetFile::page_bytes() - 1); }

}  // namespace

CachedReader::CachedReader(std::unique_ptr<TargetFile> target, bool current)
    : target_(std::move(target)), current_(current) {
  target_->read_nothing_ahead();
  if (!current_) target_->forget_cached(0, 0);
}

// From the offset on: up to where all has been brought, or nothing.
CachedReader::Stretch CachedReader::stretch_at(uint64_t offset) const {
  const auto after = brought_.upper_bound(offset);
  if (after != brought_.begin() && std::prev(after)->second > offset) return {std::prev(after)->second, true};
  return {after == brought_.end() ? UINT64_MAX : after->first, false};
}

void CachedReader::note_brought(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  if (brought_.size() >= kMostRanges) brought_.clear();
  auto at = brought_.upper_bound(begin);
  if (at != brought_.begin() && std::prev(at)->second >= begin) {
    --at;
    begin = at->first;
  }
  while (at != brought_.end() && at->first <= end) {
    end = std::max(end, at->second);
    at = brought_.erase(at);
  }
  brought_.emplace(begin, end);
}

// Small reads fetch whole pages, and `ahead` behind them; of large ones the pages at the edges are not
// counted.
Status CachedReader::fetch(uint64_t offset, void* data, uint64_t length, uint64_t ahead, uint64_t* got) {
  const uint64_t begin = page_down(offset);
  const uint64_t end = page_up(offset + std::max(length, ahead));
  if (!current_) target_->forget_cached(begin, end - begin);
  if (end - begin > kBufferBytes) {
    PMIO_TRY(target_->read(offset, data, length, got));
    note_brought(page_up(offset), page_down(offset + *got));
    return {};
  }
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
  uint64_t fetched = 0;
  PMIO_TRY(target_->read(begin, buffer_.get(), end - begin, &fetched));
  const uint64_t skipped = offset - begin;
  *got = std::min(length, fetched - std::min(fetched, skipped));
  std::memcpy(data, buffer_.get() + skipped, *got);
  // What is beyond the end that this node knows of is not in the file's last page.
  note_brought(begin, page_down(begin + fetched));
  return {};
}

Status CachedReader::read(uint64_t offset, void* data, uint64_t length, uint64_t* got) {
  const bool follows = offset == next_;
  next_ = offset + length;
  auto* to = static_cast<std::byte*>(data);
  for (*got = 0; *got < length;) {
    const uint64_t at = offset + *got;
    const Stretch stretch = stretch_at(at);
    const uint64_t asked = std::min(next_, stretch.end) - at;
    uint64_t n = 0;
    if (stretch.brought) {
      PMIO_TRY(target_->read(at, to + *got, asked, &n));
    } else {
      ahead_ = follows ? std::clamp(2 * ahead_, kLeastAhead, kBufferBytes / 2) : 0;
      PMIO_TRY(fetch(at, to + *got, asked, ahead_, &n));
    }
    *got += n;
    if (n < asked) break;
  }
  if (*got == length) return {};
  (void)target_->size_bytes(true);
  target_->forget_cached(offset + *got, length - *got);  // the last page ends where the file did
  uint64_t more = 0;
  PMIO_TRY(target_->read(offset + *got, to + *got, length - *got, &more));
  *got += more;
  return {};
}

}  // namespace pmio
