#include "twophase/read_call.h"

#include <algorithm>

#include "twophase/pieces.h"
#include "twophase/schedule.h"

namespace pmio {
namespace {

constexpr size_t kMostAnswers = 2;  // that are being sent

}  // namespace

ReadCall::ReadCall(TwoPhaseParts& parts, const CallPlan& plan, const Stream& stream)
    : parts_(parts),
      plan_(plan),
      stream_(stream),
      domains_(parts.options, parts.window_bytes, plan.accessed),
      done_(parts.line().done.load(std::memory_order_relaxed)),
      receiver_(parts, plan, most_trailer_bytes(parts.window_bytes)) {}

Status ReadCall::run(uint64_t* got) {
  parts_.counters.shared_stripes += parts_.shared_stripes(domains_);
  Schedule schedule(parts_.places, parts_.options.aggregators, domains_, plan_.nodes[parts_.places.node]);
  while (const auto next = schedule.next()) {
    begin(parts_.slots.next(next->aggregator, next->window));
    while (!takings_.empty() && is_ready(takings_.front())) take_first();
    while (serve()) {
    }
  }
  while (!takings_.empty()) take_first();
  parts_.wait([&] { return idle(); }, [&] { return serve(); });
  const CallResult result = finish_call(parts_, result_);
  const uint64_t bytes = stream_.request().bytes;
  *got = result.file_end == UINT64_MAX ? bytes : stream_.bytes_before(result.file_end);
  return status_for(parts_, stream_, result, own_error_);
}

// The step begins on this rank: the slot's list of pieces is free when the rank has taken its bytes of the
// step before in this slot.
void ReadCall::begin(const Step& step) {
  while (done_ < step.previous) take_first();
  const Interval mine = stream_.within(step.window);
  if (!step.local() && mine.begin < mine.end) ask_for(step, mine);
  parts_.line().asked.store(step.number + 1, std::memory_order_release);
  if (!step.local() && step.keeper != parts_.places.rank) parts_.ring_rank(step.keeper);
  if (step.keeper == parts_.places.rank) {
    if (step.local() && windows_.empty()) receiver_.expect(step.window);
    (step.local() ? windows_ : fetches_).push_back(step);
  }
  takings_.push_back({step, mine});
}

void ReadCall::ask_for(const Step& step, const Interval& mine) {
  // Its keeper may still look at the lists for the slot's step before, though this rank has no bytes in that.
  parts_.wait([&] { return parts_.is_free(step); }, [&] { return serve(); });
  PieceList& list = parts_.memory->pieces(step.slot, parts_.places.index);
  list.begin(step.number);
  BitSetter bits(parts_.memory->bits(step.slot));
  PatternCursor from = stream_.file_cursor(mine.begin);
  for (uint64_t left = mine.bytes(); left > 0;) {
    const Vector group = from.next(left);
    list.add(group, step.window, bits);
    left -= group.bytes();
  }
}

bool ReadCall::is_ready(const Taking& taking) {
  return taking.mine.begin >= taking.mine.end ||
         parts_.memory->slot(taking.step.slot).ready.load(std::memory_order_acquire) > taking.step.number;
}

void ReadCall::take_first() {
  parts_.wait([&] { return is_ready(takings_.front()); }, [&] { return serve(); });
  const auto [step, mine] = takings_.front();
  takings_.pop_front();
  if (mine.begin < mine.end) {
    const uint64_t start = monotonic_ns();
    const uint64_t end = std::min(mine.end, stream_.bytes_before(parts_.memory->slot(step.slot).end));
    if (mine.begin < end) take_pieces(stream_, {mine.begin, end}, step.window.begin, parts_.image(step));
    const uint64_t took = monotonic_ns() - start;
    parts_.counters.exchange_ns += took;
    parts_.counters.copy_ns += took;
  }
  done_ = step.number + 1;
  parts_.line().done.store(done_, std::memory_order_release);
  if (step.local() && step.keeper != parts_.places.rank) parts_.ring_rank(step.keeper);
}

bool ReadCall::serve() {
  const bool read = read_window();
  const bool answered = answer();
  const bool fetched = fetch_window();
  const bool sent = finish_answers();
  return finish_fetches() || read || answered || fetched || sent;
}

void ReadCall::end_step(const Step& step, uint64_t end) {
  SlotLine& slot = parts_.memory->slot(step.slot);
  slot.end = end;
  slot.ready.store(step.number + 1, std::memory_order_release);
  parts_.ring_all();
}

void ReadCall::fail(const Step& step, const Status& status) {
  result_.fail(step.window, status);
  own_error_ = status;
}

bool ReadCall::read_window() {
  // An aggregator has two slots: the third window needs that of the first.
  if (windows_read_ == windows_.size() || windows_read_ == 2) return false;
  const Step& step = windows_[windows_read_];
  if (!parts_.all_reached(&RankLine::done, step.previous)) return false;
  const uint64_t start = monotonic_ns();
  uint64_t got = 0;
  const Status status = parts_.store.read(step.window.begin, parts_.image(step), step.window.bytes(), &got);
  parts_.counters.file_ns += monotonic_ns() - start;
  ++parts_.counters.windows;
  parts_.counters.accessed_bytes += got;
  parts_.counters.whole_stripes += domains_.whole_stripes({step.window.begin, step.window.begin + got});
  const uint64_t end = step.window.begin + got;
  if (!status.ok())
    fail(step, status);
  else if (end < step.window.end)
    result_.file_end = std::min(result_.file_end, end);
  end_step(step, end);
  ++windows_read_;
  return true;
}

// Answers other nodes' questions for the first window; when there are none left, goes on to the next one.
bool ReadCall::answer() {
  if (windows_read_ == 0 || answering_.size() >= kMostAnswers) return false;
  const Step step = windows_.front();
  bool took = false;
  const auto take = [&](uint32_t from, std::span<const std::byte> question) {
    answer_one(step, from, question);
  };
  if (!receiver_.advance(take, &took)) return took;
  windows_.pop_front();
  --windows_read_;
  if (!windows_.empty()) receiver_.expect(windows_.front().window);
  return true;
}

void ReadCall::answer_one(const Step& step, uint32_t to, std::span<const std::byte> question) {
  const uint64_t start = monotonic_ns();
  Package asked;
  if (const Status status = unpack(step.window, question, &asked); !status.ok()) {
    fail(step, status);
    asked.covered.clear();
  }
  uint64_t room = most_trailer_bytes(step.window.bytes());
  for (const Interval& interval : asked.covered) room += interval.bytes();
  Answering answering{0, std::vector<std::byte>(room)};
  const auto message = pack_copy(step.window, asked.covered, parts_.memory->slot(step.slot).end,
                                 parts_.image(step), answering.answer.data());
  parts_.counters.message_bytes += message.size();
  ++parts_.counters.messages;
  answering.message = parts_.collective.send(to, 1, message);
  answering_.push_back(std::move(answering));
  parts_.counters.exchange_ns += monotonic_ns() - start;
}

bool ReadCall::finish_answers() {
  bool any = false;
  for (uint64_t bytes = 0; !answering_.empty(); any = true) {
    const Collective::State state = parts_.collective.test(answering_.front().message, &bytes);
    if (state == Collective::State::pending) break;
    answering_.pop_front();
  }
  return any;
}

// Asks for what the node's ranks want of a window of another node's aggregator.
bool ReadCall::fetch_window() {
  if (fetches_.empty()) return false;
  const Step step = fetches_.front();
  if (!parts_.is_free(step) || !parts_.all_reached(&RankLine::asked, step.number + 1)) return false;
  fetches_.pop_front();
  pieces_.clear();
  bool with_bits = false;
  for (uint32_t i = 0; i < parts_.places.here().size(); ++i) {
    const PieceList& list = parts_.memory->pieces(step.slot, i);
    if (list.window != step.number + 1) continue;
    pieces_.insert(pieces_.end(), list.pieces, list.pieces + list.count);
    with_bits = with_bits || list.in_bits != 0;
  }
  coverage_.unite(pieces_, with_bits, parts_.memory->bits(step.slot), step.window, &covered_);
  Fetching fetching{step, {}, 0, 0, 0, false};
  fetching.question.resize(most_trailer_bytes(step.window.bytes()));
  const auto question = ask(step.window, covered_, fetching.question.data());
  fetching.question.resize(question.size());
  for (const Interval& interval : covered_) fetching.asked_bytes += interval.bytes();
  parts_.counters.metadata_bytes += question.size();
  ++parts_.counters.messages;
  // All ranks have taken what was in the image before: else they would not have asked.
  fetching.answer = parts_.collective.receive(step.aggregator, 1,
                                              {parts_.image(step), most_message_bytes(parts_.window_bytes)});
  fetching_.push_back(std::move(fetching));
  fetching_.back().sending = parts_.collective.send(step.aggregator, 0, fetching_.back().question);
  return true;
}

bool ReadCall::finish_fetches() {
  bool any = false;
  for (size_t i = 0; i < fetching_.size();) {
    Fetching& fetching = fetching_[i];
    uint64_t bytes = 0;
    if (!fetching.sent)
      fetching.sent = parts_.collective.test(fetching.sending, &bytes) != Collective::State::pending;
    const Collective::State state =
        fetching.sent ? parts_.collective.test(fetching.answer, &bytes) : Collective::State::pending;
    if (state == Collective::State::pending) {
      ++i;
      continue;
    }
    took(fetching, state, bytes);
    fetching_.erase(fetching_.begin() + static_cast<ptrdiff_t>(i));
    any = true;
  }
  return any;
}

void ReadCall::took(const Fetching& fetching, Collective::State state, uint64_t bytes) {
  const Step& step = fetching.step;
  std::byte* const image = parts_.image(step);
  Package package;
  const Status status = state == Collective::State::lost ? Status(Code::io, "a rank of the job has died")
                                                         : unpack(step.window, {image, bytes}, &package);
  if (!status.ok()) {
    fail(step, status);
    end_step(step, step.window.begin);
    return;
  }
  spread(step.window, package, image, image);
  const bool whole = package.data_bytes == fetching.asked_bytes;
  end_step(step, whole                     ? step.window.end
                 : package.covered.empty() ? step.window.begin
                                           : package.covered.back().end);
}

}  // namespace pmio
