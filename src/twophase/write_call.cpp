#include "twophase/write_call.h"

#include <algorithm>
#include <array>

#include "twophase/pieces.h"
#include "twophase/schedule.h"

namespace pmio {
namespace {

// Of what another node has sent: beyond so many, bits are faster.
constexpr size_t kMostReceivedPieces = 64;

}  // namespace

WriteCall::WriteCall(TwoPhaseParts& parts, const CallPlan& plan, const Stream& stream)
    : parts_(parts),
      plan_(plan),
      stream_(stream),
      domains_(parts.options, parts.window_bytes, plan.accessed),
      receiver_(parts, plan, most_message_bytes(parts.window_bytes)) {}

Status WriteCall::run() {
  parts_.counters.shared_stripes += parts_.shared_stripes(domains_);
  Schedule schedule(parts_.places, parts_.options.aggregators, domains_, plan_.nodes[parts_.places.node]);
  RankLine& line = parts_.line();
  while (const auto next = schedule.next()) {
    const Step step = parts_.slots.next(next->aggregator, next->window);
    if (step.keeper == parts_.places.rank) {
      if (step.local() && windows_.empty()) receiver_.expect(step.window);
      (step.local() ? windows_ : shipments_).push_back(step);
    }
    const Interval mine = stream_.within(step.window);
    if (mine.begin < mine.end) fill(step, mine);
    line.done.store(step.number + 1, std::memory_order_release);
    if (step.keeper != parts_.places.rank) parts_.ring_rank(step.keeper);
    while (serve()) {
    }
  }
  parts_.wait([&] { return idle(); }, [&] { return serve(); });
  return status_for(parts_, stream_, finish_call(parts_, result_), own_error_);
}

// The parts of a window's bytes, in the order in which this rank puts them. Ranks whose small pieces lie
// between each other's would write the same cache lines at the same time, and take two to three times as
// long, if all went through the window alike. So they begin at different parts, and neighbours go in opposite
// directions: whoever is ahead, two of them are in the same part only when they meet.
template <class Put>
void WriteCall::put_parts(const Interval& mine, Put put) const {
  if (!stream_.small_pieces()) return put(mine);
  std::array<uint64_t, kParts + 1> edges{mine.begin};
  for (uint64_t part = 1; part < kParts; ++part)
    edges[part] = std::max(mine.begin, stream_.piece_begin(mine.begin + mine.bytes() * part / kParts));
  edges[kParts] = mine.end;
  const Places& places = parts_.places;
  const uint64_t first = kParts * places.index / places.here().size();
  for (uint64_t i = 0; i < kParts; ++i) {
    const uint64_t part = (places.index % 2 == 0 ? first + i : first + kParts - i) % kParts;
    if (edges[part] < edges[part + 1]) put(Interval{edges[part], edges[part + 1]});
  }
}

void WriteCall::fill(const Step& step, const Interval& mine) {
  parts_.wait([&] { return parts_.is_free(step); }, [&] { return serve(); });
  const uint64_t start = monotonic_ns();
  PieceList& list = parts_.memory->pieces(step.slot, parts_.places.index);
  list.begin(step.number);
  {
    BitSetter bits(parts_.memory->bits(step.slot));
    put_parts(mine, [&](const Interval& part) {
      put_pieces(stream_, part, step.window.begin, parts_.image(step),
                 [&](const Vector& group) { list.add(group, step.window, bits); });
    });
  }
  const uint64_t took = monotonic_ns() - start;
  parts_.counters.exchange_ns += took;
  parts_.counters.copy_ns += took;
}

bool WriteCall::serve() {
  const bool wrote = write_window();
  const bool sent = send_window();
  return finish_sends() || wrote || sent;
}

// What the node's ranks, and others, have pieces in.
const std::vector<Interval>& WriteCall::covered(const Step& step, std::span<const Vector> more,
                                                bool with_bits) {
  pieces_.assign(more.begin(), more.end());
  for (uint32_t i = 0; i < parts_.places.here().size(); ++i) {
    const PieceList& list = parts_.memory->pieces(step.slot, i);
    if (list.window != step.number + 1) continue;
    pieces_.insert(pieces_.end(), list.pieces, list.pieces + list.count);
    with_bits = with_bits || list.in_bits != 0;
  }
  coverage_.unite(pieces_, with_bits, parts_.memory->bits(step.slot), step.window, &covered_);
  return covered_;
}

void WriteCall::end_step(const Step& step) {
  parts_.memory->slot(step.slot).ready.store(step.number + 1, std::memory_order_release);
  parts_.ring_all();
}

// Whether all that other nodes send for the first window is in its image.
bool WriteCall::receive_for(const Step& step) {
  const auto take = [&](uint32_t, std::span<const std::byte> message) {
    const uint64_t start = monotonic_ns();
    Package package;
    if (const Status status = unpack(step.window, message, &package); !status.ok()) {
      result_.fail(step.window, status);
      own_error_ = status;
      return;
    }
    spread(step.window, package, message.data(), parts_.image(step));
    Pattern regular;
    for (const Interval& interval : package.covered)
      regular.add({static_cast<int64_t>(interval.begin), interval.bytes()});
    if (regular.parts.size() <= kMostReceivedPieces) {
      received_.insert(received_.end(), regular.parts.begin(), regular.parts.end());
    } else {
      received_bits_ = true;
      BitSetter bits(parts_.memory->bits(step.slot));
      for (const Interval& interval : package.covered)
        bits.set(interval.begin - step.window.begin, interval.end - step.window.begin);
    }
    parts_.counters.exchange_ns += monotonic_ns() - start;
  };
  bool took = true, all = false;
  while (!all && took) all = receiver_.advance(take, &took);
  return all;
}

bool WriteCall::write_window() {
  if (windows_.empty()) return false;
  const Step step = windows_.front();
  if (!receive_for(step) || !parts_.all_reached(&RankLine::done, step.number + 1)) return false;
  const std::vector<Interval>& bytes = covered(step, received_, received_bits_);
  const uint64_t start = monotonic_ns();
  const Status status = parts_.store.write_each(step.window.begin, parts_.image(step), bytes);
  parts_.counters.file_ns += monotonic_ns() - start;
  if (!status.ok()) {
    result_.fail(step.window, status);
    own_error_ = status;
  }
  ++parts_.counters.windows;
  for (const Interval& interval : bytes) {
    parts_.counters.accessed_bytes += interval.bytes();
    parts_.counters.whole_stripes += domains_.whole_stripes(interval);
  }
  end_step(step);
  windows_.pop_front();
  received_.clear();
  received_bits_ = false;
  if (!windows_.empty()) receiver_.expect(windows_.front().window);
  return true;
}

bool WriteCall::send_window() {
  if (shipments_.empty()) return false;
  const Step step = shipments_.front();
  if (!parts_.is_free(step) || !parts_.all_reached(&RankLine::done, step.number + 1)) return false;
  const uint64_t start = monotonic_ns();
  const std::vector<Interval>& bytes = covered(step, {}, false);
  const auto message = pack(step.window, bytes, parts_.image(step));
  for (const Interval& interval : bytes) parts_.counters.metadata_bytes -= interval.bytes();
  parts_.counters.metadata_bytes += message.size();
  parts_.counters.message_bytes += message.size();
  ++parts_.counters.messages;
  sending_.push_back({parts_.collective.send(step.aggregator, 0, message), step});
  shipments_.pop_front();
  parts_.counters.exchange_ns += monotonic_ns() - start;
  return true;
}

bool WriteCall::finish_sends() {
  bool any = false;
  for (size_t i = 0; i < sending_.size();) {
    uint64_t bytes = 0;
    const Collective::State state = parts_.collective.test(sending_[i].message, &bytes);
    if (state == Collective::State::pending) {
      ++i;
      continue;
    }
    if (state == Collective::State::lost) {
      own_error_ = {Code::io, "a rank of the job has died"};
      result_.fail(sending_[i].step.window, own_error_);
    }
    end_step(sending_[i].step);
    sending_.erase(sending_.begin() + static_cast<ptrdiff_t>(i));
    any = true;
  }
  return any;
}

}  // namespace pmio
