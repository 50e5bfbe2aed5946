#include "span/fresh_reader.h"

#include <algorithm>
#include <utility>

#include "base/copy.h"

namespace pmio {

namespace {

constexpr uint64_t kBufferBytes = 256 << 10;
constexpr uint64_t kSmall = kBufferBytes / 2;  // larger reads go into the program's memory
constexpr uint64_t kLeastAhead = 16 << 10;

}  // namespace

FreshReader::FreshReader(std::unique_ptr<TargetFile> target)
    : target_(std::move(target)), buffer_(kBufferBytes) {
  if (past_cache()) return;
  target_->read_nothing_ahead();
  target_->forget_cached(0, 0);
}

Status FreshReader::fetch(uint64_t offset, void* data, uint64_t length, uint64_t* got) {
  if (!past_cache()) target_->forget_cached(offset, length);
  return target_->read(offset, data, length, got);
}

Status FreshReader::fetch_into_buffer(uint64_t offset, uint64_t length) {
  const uint64_t begin = offset / kFetchUnit * kFetchUnit;
  const uint64_t end = (offset + length + kFetchUnit - 1) / kFetchUnit * kFetchUnit;
  forget_ahead();
  uint64_t got = 0;
  PMIO_TRY(fetch(begin, buffer_.at(begin), std::min(end - begin, kBufferBytes), &got));
  begin_ = begin;
  end_ = begin + got;
  return {};
}

Status FreshReader::read(uint64_t offset, void* data, uint64_t length, uint64_t* got) {
  const bool follows = offset == next_;
  if (offset < next_) forget_ahead();  // who reads something again wants to know whether it has changed
  next_ = offset + length;
  auto* to = static_cast<std::byte*>(data);
  for (*got = 0; *got < length;) {
    const uint64_t at = offset + *got;
    const uint64_t left = length - *got;
    if (at >= begin_ && at < end_) {
      const uint64_t n = std::min(left, end_ - at);
      copy_bytes(to + *got, buffer_.at(begin_) + (at - begin_), n);
      *got += n;
    } else if (left >= kSmall) {
      uint64_t n = 0;
      PMIO_TRY(fetch(at, to + *got, left, &n));
      *got += n;
      if (n < left) break;
    } else {
      ahead_ = follows ? std::clamp(2 * ahead_, kLeastAhead, kSmall) : 0;
      PMIO_TRY(fetch_into_buffer(at, std::max(left, ahead_)));
      if (end_ <= at) break;
    }
  }
  if (*got == length) return {};
  (void)target_->size_bytes(true);
  forget_ahead();
  uint64_t more = 0;
  PMIO_TRY(fetch(offset + *got, to + *got, length - *got, &more));
  *got += more;
  return {};
}

}  // namespace pmio
