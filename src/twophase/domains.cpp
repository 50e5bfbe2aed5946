#include "twophase/domains.h"

#include <algorithm>

namespace pmio {
namespace {

uint64_t total(const std::vector<Interval>& list) {
  uint64_t bytes = 0;
  for (const Interval& interval : list) bytes += interval.bytes();
  return bytes;
}

}  // namespace

Domains::Domains(const TwoPhaseOptions& options, uint64_t window_bytes, std::vector<Interval> accessed)
    : options_(&options),
      window_bytes_(window_bytes),
      aggregators_(static_cast<uint32_t>(options.aggregators.size())),
      accessed_(std::move(accessed)) {
  if (accessed_.empty() || persistent()) return;
  for (uint32_t a = 0; a < aggregators_; ++a) shares_.push_back(share(a));
  shares_.push_back(accessed_.back().end);
}

// Where the domain begins: after its share of the accessed bytes, at a boundary if domains are aligned.
uint64_t Domains::share(uint32_t aggregator) const {
  if (aggregator == 0) return accessed_.front().begin;
  auto left =
      static_cast<uint64_t>(static_cast<unsigned __int128>(total(accessed_)) * aggregator / aggregators_);
  for (const Interval& part : accessed_) {
    if (left >= part.bytes()) {
      left -= part.bytes();
      continue;
    }
    const uint64_t begin = part.begin + left;
    if (options_->alignment == Alignment::even || begin == 0) return begin;
    return std::min(next_boundary(begin - 1), accessed_.back().end);
  }
  return accessed_.back().end;
}

uint32_t Domains::owner_of(uint64_t offset) const {
  const Layout& layout = options_->layout;
  if (!layout.components.empty()) return layout.server_of(offset) % aggregators_;
  return static_cast<uint32_t>(offset / layout.stripe_bytes % aggregators_);
}

// Only domains that are split evenly share stripes, at their ends.
uint64_t Domains::shared_stripes(uint32_t aggregator) const {
  if (options_->alignment != Alignment::even || accessed_.empty()) return 0;
  const Interval domain{shares_[aggregator], shares_[aggregator + 1]};
  uint64_t before = UINT64_MAX, first = UINT64_MAX, last = 0, after = UINT64_MAX;
  for (const Interval& part : accessed_) {
    if (part.begin < domain.begin) before = std::min(part.end, domain.begin) - 1;
    const Interval own{std::max(part.begin, domain.begin), std::min(part.end, domain.end)};
    if (own.begin < own.end) {
      first = std::min(first, own.begin);
      last = own.end - 1;
    }
    if (part.end > domain.end) after = std::min(after, std::max(part.begin, domain.end));
  }
  if (first == UINT64_MAX) return 0;
  const bool at_begin = before != UINT64_MAX && next_boundary(before) > first;
  const bool at_end = after != UINT64_MAX && next_boundary(last) > after;
  return at_begin && at_end && next_boundary(first) > last ? 1 : uint64_t{at_begin} + uint64_t{at_end};
}

Interval whole_stripes_of(const Layout& layout, const Interval& range) {
  const uint64_t begin = range.begin == 0 ? 0 : layout.next_boundary(range.begin - 1);
  if (begin >= range.end) return {0, 0};
  if (layout.components.empty() && layout.stripe_bytes != 0)
    return {begin, range.end / layout.stripe_bytes * layout.stripe_bytes};
  uint64_t end = begin;
  for (uint64_t next = begin; next <= range.end; next = layout.next_boundary(next)) end = next;
  return {begin, end};
}

uint64_t Domains::whole_stripes(const Interval& range) const {
  return whole_stripes_of(options_->layout, range).bytes();
}

// The end of a window that begins there, in a part that ends at `end`.
uint64_t Domains::window_end(uint32_t aggregator, uint64_t begin, uint64_t end) const {
  uint64_t most = end - begin > window_bytes_ ? begin + window_bytes_ : end;
  if (options_->alignment == Alignment::even) return most;
  if (most < end && window_bytes_ >= kBufferUnit) most -= most % kBufferUnit;
  uint64_t boundary = next_boundary(begin);
  if (boundary >= most) return most;
  while (!persistent() || owner_of(boundary) == aggregator) {
    const uint64_t next = next_boundary(boundary);
    if (next > most) return most == end ? end : boundary;
    if (next == most) return most;
    boundary = next;
  }
  return boundary;
}

Domains::Walk::Walk(const Domains& domains, uint32_t aggregator)
    : domains_(&domains), aggregator_(aggregator), at_(0), end_(0) {
  if (domains.accessed_.empty()) return;
  at_ = domains.persistent() ? domains.accessed_.front().begin : domains.shares_[aggregator];
  end_ = domains.persistent() ? domains.accessed_.back().end : domains.shares_[aggregator + 1];
}

// To the next stripe of this aggregator, of persistent domains.
void Domains::Walk::skip_to_own() {
  const Layout& layout = domains_->options_->layout;
  if (layout.components.empty()) {
    const uint64_t aggregators = domains_->aggregators();
    const uint64_t stripe = at_ / layout.stripe_bytes;
    const uint64_t ahead = (aggregator_ + aggregators - stripe % aggregators) % aggregators;
    if (ahead == 0) return;
    uint64_t next = 0;
    at_ = __builtin_mul_overflow(stripe + ahead, layout.stripe_bytes, &next) ? UINT64_MAX : next;
    return;
  }
  while (at_ < end_ && domains_->owner_of(at_) != aggregator_) at_ = domains_->next_boundary(at_);
}

std::optional<Interval> Domains::Walk::next() {
  while (at_ < end_) {
    if (domains_->persistent()) skip_to_own();
    while (part_ < domains_->accessed_.size() && domains_->accessed_[part_].end <= at_) ++part_;
    if (at_ >= end_ || part_ == domains_->accessed_.size()) break;
    const Interval& part = domains_->accessed_[part_];
    if (at_ < part.begin) {
      at_ = part.begin;
      continue;
    }
    const Interval window{at_, domains_->window_end(aggregator_, at_, std::min(part.end, end_))};
    at_ = window.end;
    return window;
  }
  return std::nullopt;
}

}  // namespace pmio
