#include "node/log_store.h"

#include <utility>

#include "base/clock.h"
#include "twophase/domains.h"

namespace pmio {
namespace {

void add_piece(Pattern* pieces, uint64_t begin, const Interval& bytes) {
  if (bytes.begin < bytes.end) pieces->add({static_cast<int64_t>(bytes.begin - begin), bytes.bytes()});
}

}  // namespace

void LogStore::begin_call(CallNumber call) {
  call_ = call;
  call_.goes_on = true;
  began_ns_ = monotonic_ns();
  append_ns_ = 0;
}

void LogStore::end_call() {
  CallNumber call = call_;
  call.goes_on = false;
  file_.opens().note_exchanged_call(call, monotonic_ns() - began_ns_ - append_ns_);
}

Status LogStore::append(PatternCursor& to, PatternCursor& from, const std::byte* buffer, uint64_t bytes) {
  const uint64_t begin = monotonic_ns();
  Status appended = file_.append(to, from, buffer, bytes, call_);
  append_ns_ += monotonic_ns() - begin;
  return appended;
}

Status LogStore::append(uint64_t begin, const std::byte* window, Pattern pieces) {
  if (pieces.parts.empty()) return {};
  pieces.finish(pieces.parts.back().end());
  PatternCursor to(pieces, static_cast<int64_t>(begin), 0), from(pieces, 0, 0);
  return append(to, from, window, pieces.size);
}

// Whole stripes by themselves: with what lies around them they would be pieces that begin anywhere.
Status LogStore::write_each(uint64_t begin, const std::byte* window, std::span<const Interval> covered) {
  Pattern rest;
  for (const Interval& interval : covered) {
    const Interval whole = whole_stripes_of(layout_, interval);
    if (whole.begin == whole.end) {
      add_piece(&rest, begin, interval);
      continue;
    }
    add_piece(&rest, begin, {interval.begin, whole.begin});
    PMIO_TRY(append(begin, window, std::exchange(rest, Pattern())));
    Pattern stripes;
    add_piece(&stripes, begin, whole);
    PMIO_TRY(append(begin, window, std::move(stripes)));
    add_piece(&rest, begin, {whole.end, interval.end});
  }
  return append(begin, window, std::move(rest));
}

Status LogStore::read(uint64_t offset, void* data, uint64_t length, uint64_t* got) {
  return file_.read(offset, static_cast<std::byte*>(data), length, got, true);
}

Status LogStore::write_own(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                           uint64_t bytes) {
  return append(file, memory, buffer, bytes);
}

Status LogStore::read_own(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                          uint64_t* got) {
  return file_.read(file, memory, buffer, bytes, got, true);
}

}  // namespace pmio
