#include "cluster/round_part.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <thread>

#include "cluster/stream_order.h"
#include "drain/visible.h"

namespace pmio {

constexpr size_t kMostAnswerBytes = 16 << 20;
constexpr size_t kMostTold = 4;           // windows, each for another node
constexpr size_t kMostPlanned = 1 << 20;  // of a plan, which is one message; of further windows the span

struct RoundPart::Fetched {
  std::deque<std::vector<std::byte>> answers;  // what the pieces point into
  std::vector<Piece> pieces;
};

struct RoundPart::Work {
  std::vector<Task> tasks;  // in the order in which they are begun
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::vector<uint64_t> mixed;  // windows in which bytes were in more than one piece
};

Result<NodeRound*> RoundPart::current(uint64_t file) {
  std::lock_guard lock(mutex_);
  if (round_ == nullptr || file_ != file) return Status(Code::io, "no such round", EPROTO);
  return round_.get();
}

// On the thread that began the round, which alone can let go of its lock.
void RoundPart::abandon() {
  std::shared_ptr<NodeRound> over;
  {
    std::lock_guard lock(mutex_);
    over = std::move(round_);
  }
  while (over.use_count() > 1) std::this_thread::yield();  // its pieces are being read
  std::lock_guard lock(mutex_);
  told_.clear();
}

void RoundPart::look_after() {
  {
    std::lock_guard lock(mutex_);
    if (round_ == nullptr) return;
  }
  // One that has given this node up has ended the round without being able to say so here.
  const MessageWriter question = MessageWriter().put(file_).put(number_);
  if (!leaders_.ask(kCoordinator, Request::alive, question).ok()) abandon();
}

Status RoundPart::plan(uint64_t number, MessageReader body, MessageWriter* answer) {
  PlanBody plan{};
  if (!body.get(&plan)) return nonsense();
  abandon();
  const std::shared_ptr<File> file = job_.find_number(number);
  if (file == nullptr) return {Code::io, "the file is not open on this node", EBADF};
  auto round = NodeRound::begin(file, plan.cut);
  if (!round.ok()) return round.status();
  answer->put(uint64_t{round.value()->windows().size()});
  size_t intervals = 0;
  for (const NodeRound::Window& window : round.value()->windows()) {
    const Interval span{window.pieces.front().begin, window.pieces.back().end};
    intervals += window.pieces.size();
    const bool told = intervals <= kMostPlanned;
    answer->put(window.number).put(uint64_t{told && window.exact});
    answer->put_list(told ? std::span<const Interval>(window.pieces) : std::span(&span, 1));
  }
  std::lock_guard lock(mutex_);
  round_ = std::move(round.value());
  file_ = number;
  number_ = plan.round;
  return {};
}

bool RoundPart::read_shares(MessageReader body, std::vector<Share>* shares) const {
  while (body.ok() && !body.done()) {
    ShareBody share{};
    Share one;
    if (!body.get(&share) || !body.get_list(&one.nodes) || share.owner >= leaders_.count()) return false;
    for (const uint32_t node : one.nodes)
      if (node >= leaders_.count()) return false;
    one.window = share.window;
    one.owner = static_cast<uint32_t>(share.owner);
    shares->push_back(std::move(one));
  }
  return std::is_sorted(shares->begin(), shares->end(),
                        [](const Share& a, const Share& b) { return a.window < b.window; });
}

// Its own windows, from a place of the file on that is another for every node, and so perhaps at another
// server where nobody knows of servers; then those that it writes for others too.
void RoundPart::plan_work(const std::vector<Share>& shares, Work* work) const {
  const auto& windows = round_->windows();
  std::vector<Task> tasks;
  std::vector<WindowPlace> places;
  const size_t first = windows.size() * node_ / leaders_.count();
  for (size_t i = 0; i < windows.size(); i++) {
    const NodeRound::Window& window = windows[(first + i) % windows.size()];
    const auto share = std::lower_bound(shares.begin(), shares.end(), window.number,
                                        [](const Share& a, uint64_t number) { return a.window < number; });
    if (share != shares.end() && share->window == window.number) continue;
    tasks.push_back({window.number, nullptr});
    places.push_back({round_->server_of(window.number), window.whole()});
  }
  for (const Share& share : shares) {
    if (share.owner != node_) continue;
    tasks.push_back({share.window, &share});
    places.push_back({round_->server_of(share.window), false});
  }
  for (const size_t position : stream_order(places, round_->servers(), node_, leaders_.count()))
    work->tasks.push_back(tasks[position]);
}

// What one answer brings. *next: the number of the first piece that is still missing; 0: none.
Status RoundPart::take_pieces(const PiecesBody& wanted, std::vector<std::byte> answer, Fetched* fetched,
                              uint64_t* next) {
  fetched->answers.push_back(std::move(answer));
  MessageReader reader(fetched->answers.back());
  PiecesAnswer head{};
  std::vector<PieceBody> bodies;
  if (!reader.get(&head) || !reader.get_list(&bodies)) return nonsense();
  for (const PieceBody& body : bodies) {
    if (!sensible(body.range, wanted.window)) return nonsense();
    const auto data = reader.get_bytes(body.range.bytes());
    if (!reader.ok()) return nonsense();
    fetched->pieces.push_back({body.range, body.stamp, static_cast<uint32_t>(body.rank), data.data()});
  }
  if (head.next != 0 && head.next <= wanted.from) return nonsense();
  *next = head.next;
  return {};
}

// From all nodes at once, a part of each at a time.
Result<RoundPart::Fetched> RoundPart::fetch(Leaders& leaders, const Share& share) const {
  Fetched fetched;
  std::vector<uint32_t> nodes = share.nodes;
  std::erase(nodes, node_);
  std::vector<PiecesBody> wanted(nodes.size(), {share.window, 0});
  while (!nodes.empty()) {
    std::vector<MessageWriter> questions;
    for (const PiecesBody& body : wanted) questions.push_back(MessageWriter().put(file_).put(body));
    auto answers = leaders.ask_all(nodes, Request::pieces, questions);
    size_t left = 0;
    for (size_t i = 0; i < answers.size(); i++) {
      if (!answers[i].ok()) return answers[i].status();
      uint64_t next = 0;
      PMIO_TRY(take_pieces(wanted[i], std::move(answers[i]).value(), &fetched, &next));
      if (next == 0) continue;
      nodes[left] = nodes[i];
      wanted[left++] = {share.window, next};
    }
    nodes.resize(left);
    wanted.resize(left);
  }
  return fetched;
}

// Takes windows until there are no more, or another stream has failed. What the others have of the next one
// is fetched while this one is written.
Status RoundPart::write_stream(Leaders& leaders, Work& work) {
  NodeRound::Stream stream;
  struct Begun {
    const Task* task = nullptr;
    std::future<Result<Fetched>> others;
  };
  const auto begin = [&] {
    Begun begun;
    const size_t next = work.next.fetch_add(1, std::memory_order_relaxed);
    if (next >= work.tasks.size()) return begun;
    begun.task = &work.tasks[next];
    if (begun.task->share == nullptr) return begun;
    begun.others = std::async(std::launch::async,
                              [this, &leaders, task = begun.task] { return fetch(leaders, *task->share); });
    return begun;
  };
  for (Begun next = begin(); next.task != nullptr && !work.failed.load(std::memory_order_relaxed);) {
    Begun now = std::move(next);
    Fetched fetched;
    if (now.others.valid()) {
      Result<Fetched> got = now.others.get();
      if (!got.ok()) return got.status();
      fetched = std::move(got.value());
    }
    next = begin();
    bool overlap = false;
    PMIO_TRY(round_->write(stream, now.task->window, fetched.pieces, &overlap));
    if (!overlap || now.task->share == nullptr) continue;
    const std::lock_guard lock(work.mutex);
    work.mixed.push_back(now.task->window);
  }
  return {};
}

Status RoundPart::write(uint64_t file, MessageReader body, MessageWriter* answer) {
  const auto round = current(file);
  if (!round.ok()) return round.status();
  std::vector<Share> shares;
  if (!read_shares(body, &shares)) return nonsense();
  Work work;
  plan_work(shares, &work);
  const auto run = [&](Leaders& leaders) {
    Status status = write_stream(leaders, work);
    if (!status.ok()) work.failed.store(true, std::memory_order_relaxed);
    return status;
  };
  // No more than there is work for.
  const size_t streams =
      std::min<size_t>(streams_of_node(round_->servers(), leaders_.count()), work.tasks.size());
  while (more_leaders_.size() + 1 < streams) more_leaders_.push_back(leaders_.more());
  std::vector<std::future<Status>> others;
  for (size_t i = 0; i + 1 < streams; i++)
    others.push_back(std::async(std::launch::async, run, std::ref(*more_leaders_[i])));
  Status status = run(leaders_);
  for (auto& other : others)
    if (Status of_other = other.get(); status.ok()) status = std::move(of_other);
  PMIO_TRY(status);
  PMIO_TRY(round_->sync());
  answer->put_list(std::span<const uint64_t>(work.mixed));
  return {};
}

// Empty: none are known.
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
    std::lock_guard lock(mutex_);
    if (file_ == file) round = round_;
    if (round == nullptr) return {Code::io, "no such round", EPROTO};
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
  answer->reserve(bytes + sizeof(PiecesAnswer) + sizeof(uint64_t));
  answer->put(PiecesAnswer{at < found.size() ? at : 0}).put_list(std::span<const PieceBody>(bodies));
  for (size_t i = wanted.from; i < at; i++) answer->put_bytes({found[i].data, found[i].range.bytes()});
  if (at == found.size()) return {};
  std::lock_guard lock(mutex_);
  told_.push_front({wanted.window, std::move(found)});
  if (told_.size() > kMostTold) told_.pop_back();
  return {};
}

Status RoundPart::finish(uint64_t file, MessageReader body) {
  const auto round = current(file);
  if (!round.ok()) return round.status();
  std::vector<NodeRound::Foreign> foreign;
  if (!body.get_list(&foreign)) return nonsense();
  return round.value()->finish(foreign);
}

Status RoundPart::end(uint64_t number, MessageReader body) {
  uint64_t error = 0;
  if (!body.get(&error)) return nonsense();
  const auto round = current(number);
  if (error == 0 && round.ok()) round.value()->end();
  abandon();
  if (error == 0) return round.status();
  if (const std::shared_ptr<File> file = job_.find_number(number)) file->fail(static_cast<int>(error));
  return {};
}

}  // namespace pmio
