#include "cluster/round_part.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <future>
#include <string>
#include <thread>

#include "cluster/task_thread.h"
#include "cluster/window_order.h"
#include "drain/visible.h"

namespace pmio {

constexpr size_t kMostAnswerBytes = 16 << 20;
constexpr unsigned kMostUnheard = std::chrono::minutes(5) / TaskThread::kIdlePause;
constexpr size_t kMostTold = 4;           // windows, each for another node
constexpr size_t kMostPlanned = 1 << 20;  // intervals of a plan; further windows are told as one span each

static Status no_such_round() { return {Code::io, "no such round", EPROTO}; }

Result<NodeRound*> RoundPart::current(uint64_t file, uint64_t number) {
  const LockGuard lock(mutex_);
  if (round_ == nullptr || file_ != file || number_ != number) return no_such_round();
  return round_.get();
}

// Runs on the thread that began the round, which alone can let go of the round's lock.
void RoundPart::abandon() {
  std::shared_ptr<NodeRound> over;
  {
    const LockGuard lock(mutex_);
    over = std::move(round_);
  }
  unheard_ = 0;
  while (over.use_count() > 1) std::this_thread::yield();  // its pieces are being read
  const LockGuard lock(mutex_);
  told_.clear();
}

uint64_t RoundPart::number() {
  const LockGuard lock(mutex_);
  return number_;
}

void RoundPart::set_number(uint64_t number) {
  const LockGuard lock(mutex_);
  PMIO_ASSERT(number >= number_);  // an earlier round never comes back
  number_ = number;
}

void RoundPart::look_after() {
  MessageWriter question;
  {
    const LockGuard lock(mutex_);
    if (round_ == nullptr) return;
    question.put(file_).put(number_);
  }
  // A coordinator that has given this node up has ended the round, and could not say so here.
  const Status status = leaders_.ask(kCoordinator, Request::alive, question).status();
  unheard_ = status.ok() ? 0 : unheard_ + 1;
  switch (status.system_errno()) {
    case ESTALE:        // it leads the round no more
    case EPROTO:        // it leads no round
    case ECONNREFUSED:  // it is gone
    case ECONNRESET:
      return abandon();
    default:
      // The coordinator may only be busy, and its next request would find no round.
      if (unheard_ >= kMostUnheard) abandon();
  }
}

Status RoundPart::begin(uint64_t number, const PlanBody& plan) {
  if (plan.round <= this->number()) return no_such_round();
  abandon();
  set_number(plan.round);
  const std::shared_ptr<File> file = job_.find_number(number);
  if (file == nullptr) return {Code::io, "the file is not open on this node", EBADF};
  auto round = NodeRound::begin(file, plan.horizon);
  if (!round.ok()) return round.status();
  const LockGuard lock(mutex_);
  round_ = std::move(round.value());
  file_ = number;
  return {};
}

Status RoundPart::plan(uint64_t number, MessageReader body, MessageWriter* answer) {
  PlanBody plan{};
  if (!body.get(&plan)) return nonsense();
  if (plan.from == 0) PMIO_TRY(begin(number, plan));
  const auto round = current(number, plan.round);
  if (!round.ok()) return round.status();
  const auto& windows = round.value()->windows();
  if (plan.from > windows.size()) return nonsense();
  MessageWriter list;
  size_t intervals = 0, at = 0;
  for (; at < windows.size() && list.size() < kMostAnswerBytes; at++) {
    const NodeRound::Window& window = windows[at];
    intervals += window.pieces.size();
    if (at < plan.from) continue;
    const Interval span{window.pieces.front().begin, window.pieces.back().end};
    const bool told = intervals <= kMostPlanned;
    list.put(window.number);
    list.put_list(told ? std::span<const Interval>(window.pieces) : std::span(&span, 1));
  }
  answer->put(PlanAnswer{at < windows.size() ? at : 0, at - plan.from}).put_bytes(list.bytes());
  return {};
}

// The node's own windows, then those that it writes for others too. Every node begins at another place of the
// file, and so perhaps at another server even if nobody knows of servers.
Result<std::vector<WindowQueue::Window>> RoundPart::read_work(NodeRound& round, const WriteBody& wanted,
                                                              MessageReader body) const {
  std::vector<uint64_t> left;  // windows that others write, or that are written with what others have
  if (!body.get_list(&left)) return nonsense();
  std::vector<WindowQueue::Window> shared;
  while (!body.done()) {
    WindowQueue::Window window;
    if (!body.get(&window.number) || !body.get_list(&window.nodes)) return nonsense();
    if (std::any_of(window.nodes.begin(), window.nodes.end(),
                    [&](uint32_t node) { return node >= leaders_.count(); }))
      return nonsense();
    left.push_back(window.number);
    shared.push_back(std::move(window));
  }
  std::sort(left.begin(), left.end());
  std::vector<WindowQueue::Window> mine;
  std::vector<WindowPlace> places;
  const auto& windows = round.windows();
  const size_t first = windows.size() * node_ / leaders_.count();
  for (size_t i = 0; i < windows.size(); i++) {
    const NodeRound::Window& window = windows[(first + i) % windows.size()];
    if (window.number < wanted.begin || window.number >= wanted.end) continue;
    if (std::binary_search(left.begin(), left.end(), window.number)) continue;
    mine.push_back({window.number, {}});
    places.push_back({round.server_of(window.number), window.whole()});
  }
  for (WindowQueue::Window& window : shared) {
    places.push_back({round.server_of(window.number), false});
    mine.push_back(std::move(window));
  }
  PMIO_ASSERT(mine.size() == places.size());
  std::vector<WindowQueue::Window> ordered;
  for (const size_t position : window_order(places, round.servers(), node_, leaders_.count()))
    ordered.push_back(std::move(mine[position]));
  return ordered;
}

Status RoundPart::write_stream(NodeRound& round, WindowQueue& queue, std::vector<uint64_t>* mixed) {
  NodeRound::Stream stream;
  WindowQueue::Window window;
  Fetched others;
  for (;;) {
    const Result<bool> more = queue.take(&window, &others);
    if (!more.ok()) return more.status();
    if (!more.value()) return {};
    bool overlap = false;
    PMIO_TRY(round.write(stream, window.number, others.pieces, &overlap));
    if (overlap && !window.nodes.empty()) mixed->push_back(window.number);
  }
}

Leaders& RoundPart::leaders_of_stream(size_t stream) {
  return stream == 0 ? leaders_ : *more_leaders_[stream - 1];
}

Status RoundPart::write(uint64_t file, MessageReader body, MessageWriter* answer) {
  WriteBody wanted{};
  if (!body.get(&wanted)) return nonsense();
  const auto round = current(file, wanted.round);
  if (!round.ok()) return round.status();
  auto work = read_work(*round.value(), wanted, body);
  if (!work.ok()) return work.status();
  std::vector<WindowQueue::Window> windows = std::move(work).value();
  // No more streams than there is work for.
  const size_t streams =
      std::clamp<size_t>(windows.size(), 1, streams_of_node(round.value()->servers(), leaders_.count()));
  while (more_leaders_.size() + 1 < streams) more_leaders_.push_back(leaders_.more());
  WindowQueue queue(std::move(windows), streams, [&](const WindowQueue::Window& window, size_t turn) {
    return fetch_pieces(leaders_of_stream(turn % streams), file, wanted.round, window.number, window.nodes);
  });
  std::vector<std::vector<uint64_t>> mixed(streams);
  const auto run = [&](size_t stream) {
    Status status;
    try {
      status = write_stream(*round.value(), queue, &mixed[stream]);
    } catch (const std::exception& failure) {
      status = {Code::io, std::string("cannot write what is logged: ") + failure.what(), ENOMEM};
    }
    if (!status.ok()) queue.stop();
    return status;
  };
  std::vector<std::future<Status>> others;
  others.reserve(streams);
  // If there can be no more threads, the streams run one after the other, on what the earlier ones have left.
  for (size_t i = 1; i < streams; i++)
    others.push_back(std::async(std::launch::async | std::launch::deferred, run, i));
  Status status = run(0);
  for (auto& other : others)
    if (Status of_other = other.get(); status.ok()) status = std::move(of_other);
  PMIO_TRY(status);
  PMIO_TRY(round.value()->sync());
  for (size_t i = 1; i < streams; i++) mixed[0].insert(mixed[0].end(), mixed[i].begin(), mixed[i].end());
  answer->put_list(std::span<const uint64_t>(mixed[0]));
  return {};
}

// The rest of a window that others have been told a part of; empty if none is kept.
std::vector<Piece> RoundPart::take_told(uint64_t window) {
  const auto told =
      std::find_if(told_.begin(), told_.end(), [=](const Told& one) { return one.window == window; });
  if (told == told_.end()) return {};
  std::vector<Piece> pieces = std::move(told->pieces);
  told_.erase(told);
  return pieces;
}

Status RoundPart::pieces(uint64_t file, MessageReader body, MessageWriter* answer) {
  PiecesBody wanted{};
  if (!body.get(&wanted)) return nonsense();
  std::shared_ptr<NodeRound> round;
  std::vector<Piece> found;
  {
    const LockGuard lock(mutex_);
    if (file_ == file && number_ == wanted.round) round = round_;
    if (round == nullptr) return no_such_round();
    found = take_told(wanted.window);
  }
  if (found.empty()) {
    PMIO_TRY(round->pieces(wanted.window, &found));
    drop_overwritten(window_bytes(wanted.window), &found);
  }
  if (wanted.from > found.size()) return nonsense();
  std::vector<PieceBody> bodies;
  size_t at = wanted.from, bytes = 0;
  for (; at < found.size() && (bodies.empty() || bytes < kMostAnswerBytes); at++) {
    bodies.push_back({found[at].range, found[at].stamp, found[at].rank});
    bytes += found[at].range.bytes() + sizeof(PieceBody);
  }
  answer->reserve(bytes + sizeof(NextPart) + sizeof(uint64_t));
  answer->put(NextPart{at < found.size() ? at : 0}).put_list(std::span<const PieceBody>(bodies));
  for (size_t i = wanted.from; i < at; i++) answer->put_bytes({found[i].data, found[i].range.bytes()});
  if (at == found.size()) return {};
  const LockGuard lock(mutex_);
  told_.push_front({wanted.window, std::move(found)});
  if (told_.size() > kMostTold) told_.pop_back();
  return {};
}

Result<RoundPart::Changed> RoundPart::read_changed(uint64_t file, MessageReader body) {
  uint64_t number = 0;
  if (!body.get(&number)) return nonsense();
  const auto round = current(file, number);
  if (!round.ok()) return round.status();
  std::vector<ChangedBody> all;
  if (!body.get_list(&all)) return nonsense();
  Changed changed{round.value(), {}};
  for (const ChangedBody& one : all) {
    const uint64_t begin = one.first == node_ ? one.next_begin : one.begin;
    const uint64_t end = one.last == node_ ? one.next_end : one.end;
    if (begin < end) changed.foreign.push_back({one.window, begin, end, one.mixed});
  }
  return changed;
}

Status RoundPart::stop_serving(uint64_t file, MessageReader body) {
  const auto changed = read_changed(file, body);
  return changed.ok() ? changed.value().round->stop_serving(changed.value().foreign) : changed.status();
}

Status RoundPart::finish(uint64_t file, MessageReader body) {
  const auto changed = read_changed(file, body);
  return changed.ok() ? changed.value().round->finish(changed.value().foreign) : changed.status();
}

Status RoundPart::end(uint64_t number, MessageReader body) {
  EndBody end{};
  if (!body.get(&end)) return nonsense();
  if (end.round < this->number()) return no_such_round();
  const auto round = current(number, end.round);
  if (end.error == 0 && round.ok()) round.value()->end();
  abandon();
  set_number(end.round);
  if (end.error == 0) return round.status();
  if (const std::shared_ptr<File> file = job_.find_number(number))
    file->errors().add(static_cast<int>(end.error));
  return {};
}

}  // namespace pmio
