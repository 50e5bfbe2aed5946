#include "cluster/coordinator.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <string>

#include "base/quiet_thread.h"

namespace pmio {

using namespace std::chrono_literals;

constexpr auto kLongestPause = 20ms;  // while a rank has not reached a call that another rank waits for

static Status no_means(const std::exception& failure) {
  return {Code::io, std::string("cannot drain the nodes' logs: ") + failure.what(), ENOMEM};
}

Coordinator::Coordinator(std::unique_ptr<Leaders> leaders)
    : leaders_(std::move(leaders)), thread_([this] { loop(); }) {}

Coordinator::~Coordinator() {
  {
    const LockGuard lock(mutex_);
    stop_ = true;
  }
  condition_.notify_one();
  thread_.join();
}

void Coordinator::request(uint64_t file, uint64_t calls, bool all, PeerReply reply) {
  {
    const LockGuard lock(mutex_);
    waiters_.push_back({file, calls, all, std::move(reply)});
  }
  condition_.notify_one();
}

bool Coordinator::leads(uint64_t round) {
  const LockGuard lock(mutex_);
  return leads_ && round == rounds_;
}

void Coordinator::loop() {
  auto pause = 0ms;
  auto longer = 1ms;         // the next pause
  std::set<uint64_t> stuck;  // files, since the last pause
  for (;;) {
    uint64_t file = 0;
    size_t asked = 0;
    {
      UniqueLock lock(mutex_);
      if (pause > 0ms) condition_.wait_for(lock, pause, [this]() PMIO_REQUIRES(mutex_) { return stop_; });
      condition_.wait(lock, [this]() PMIO_REQUIRES(mutex_) { return stop_ || !waiters_.empty(); });
      if (stop_) return;
      file = waiters_.front().file;
      asked = waiters_.size();
    }
    Poll now;
    const Status status = round(file, &now);
    const bool answered = answer(file, asked, status, now);
    const LockGuard lock(mutex_);
    // Files take turns. A pause keeps those that wait for a slow rank from keeping the nodes busy.
    const auto first = std::find_if(waiters_.begin(), waiters_.end(),
                                    [&](const Waiter& waiter) { return waiter.file != file; });
    if (first != waiters_.end()) std::rotate(waiters_.begin(), first, waiters_.end());
    pause = 0ms;
    if (answered) {
      stuck.clear();
      longer = 1ms;
      continue;
    }
    stuck.insert(file);
    if (!std::all_of(waiters_.begin(), waiters_.end(),
                     [&](const Waiter& waiter) { return stuck.contains(waiter.file); }))
      continue;
    stuck.clear();
    pause = longer;
    longer = std::min(kLongestPause, 2 * longer);
  }
}

bool Coordinator::answer(uint64_t file, size_t asked, const Status& status, const Poll& then) {
  std::vector<Waiter> over;
  {
    const LockGuard lock(mutex_);
    std::deque<Waiter> left;
    for (size_t i = 0; i < waiters_.size(); i++) {
      Waiter& waiter = waiters_[i];
      const uint64_t reached = waiter.all ? then.finished : stamp_calls(then.horizon);
      const uint64_t wanted = std::min(waiter.calls, kLastCall);  // nothing of later calls is logged
      const bool done = i < asked && waiter.file == file && (!status.ok() || wanted <= reached);
      if (done)
        over.push_back(std::move(waiter));
      else
        left.push_back(std::move(waiter));
    }
    waiters_ = std::move(left);
  }
  for (Waiter& waiter : over) send_status(waiter.reply, status);
  return !over.empty();
}

// A message for which there is no memory ends the round, not the process.
Status Coordinator::tell(Request kind, std::span<const MessageWriter> messages,
                         std::vector<std::vector<std::byte>>* answers) try {
  auto results = leaders_->ask_all(leaders_->all(), kind, messages);
  Status status;
  for (auto& result : results) {
    if (!result.ok()) {
      if (status.ok()) status = result.status();
    } else if (answers != nullptr) {
      answers->push_back(std::move(result).value());
    }
  }
  return status;
} catch (const std::exception& failure) {
  return no_means(failure);
}

Status Coordinator::poll(uint64_t file, Poll* now) {
  const MessageWriter question = MessageWriter().put(file);
  std::vector<std::vector<std::byte>> answers;
  PMIO_TRY(tell(Request::poll, {&question, 1}, &answers));
  PollAnswer all{UINT64_MAX, 0, 0, 0};
  for (const auto& bytes : answers) {
    PollAnswer answer{};
    if (!MessageReader(bytes).get(&answer)) return nonsense();
    all.finished = std::min(all.finished, answer.finished);
    all.begun = std::max(all.begun, answer.begun);
    all.clock = std::max(all.clock, answer.clock);
    now->undrained = now->undrained || answer.undrained != 0;
  }
  if (all.finished == UINT64_MAX) {
    // No node has the file open. A leader closes it only when all is drained there, so that nobody waits for
    // anything any more.
    now->finished = now->horizon = UINT64_MAX;
    return {};
  }
  now->finished = std::min(all.finished, kLastCall);
  // Some ranks may be in the next call while others still write independently before it. Those writes will
  // find that they are late (Spanning::independent_stamp).
  const bool in_next_call = all.begun > all.finished && now->finished < kLastCall;
  now->horizon = in_next_call ? call_stamp(now->finished + 1, 0)
                              : call_stamp(now->finished, std::clamp(all.clock, uint64_t{1}, kLastClock));
  return {};
}

Status Coordinator::round(uint64_t file, Poll* now) {
  if (broken_.count(file) != 0) return {Code::io, "an earlier round failed half-way", EIO};
  PMIO_TRY(poll(file, now));
  if (!now->undrained) return {};
  // All that is finished is drained, and nothing beyond the next call.
  PMIO_ASSERT(stamp_calls(now->horizon) >= now->finished && stamp_calls(now->horizon) <= now->finished + 1);
  PlanBody plan{now->horizon, 0, 0};
  {
    const LockGuard lock(mutex_);
    plan.round = ++rounds_;
    leads_ = true;
  }
  const Status status = carry_out(file, plan);
  const uint64_t error = status.ok() ? 0 : static_cast<uint64_t>(std::max(status.system_errno(), 1));
  const MessageWriter over = MessageWriter().put(file).put(EndBody{plan.round, error});
  const Status ended = tell(Request::end, {&over, 1}, nullptr);
  {
    // A leader that was given up, and has not been told, finds out by asking.
    const LockGuard lock(mutex_);
    leads_ = false;
  }
  return status.ok() ? ended : status;
}

Status Coordinator::ask_plans(uint64_t file, const PlanBody& begin, RoundPlan* plan) {
  PMIO_TRY(leaders_->ask_in_parts(
      leaders_->all(), Request::plan,
      [&](NextPart from) {
        return MessageWriter().put(file).put(PlanBody{begin.horizon, begin.round, from});
      },
      [&](uint32_t node, const std::vector<std::byte>& answer) { return plan->read(node, answer); }));
  return plan->arrange();
}

Status Coordinator::carry_out(uint64_t file, const PlanBody& begin) try {
  RoundPlan plan(leaders_->count());
  PMIO_TRY(ask_plans(file, begin, &plan));
  do {
    std::vector<std::vector<std::byte>> answers;
    PMIO_TRY(tell(Request::write, plan.work(file, begin.round), &answers));
    PMIO_TRY(plan.read_mixed(answers));
  } while (plan.more_work());
  const std::vector<MessageWriter> changes = plan.changes(file, begin.round);
  for (size_t i = 0; i + 1 < changes.size(); i++)
    PMIO_TRY(tell(Request::stop_serving, {&changes[i], 1}, nullptr));
  Status finished = tell(Request::finish, {&changes.back(), 1}, nullptr);
  if (!finished.ok()) broken_.insert(file);
  return finished;
} catch (const std::exception& failure) {
  return no_means(failure);  // thrown before `finish`: `tell` throws nothing
}

}  // namespace pmio
