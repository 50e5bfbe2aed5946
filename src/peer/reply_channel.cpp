#include "peer/reply_channel.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "peer/server.h"
#include "peer/socket.h"

namespace pmio {

bool Pace::too_slow_after_tick(unsigned most_seconds) {
  if (bytes_ < kSlowBytes) {
    slow_seconds_++;
  } else if (slow_seconds_ > 0) {
    slow_seconds_--;
  }
  bytes_ = 0;
  return slow_seconds_ > most_seconds;
}

bool ReplyBudget::take(size_t bytes) {
  UniqueLock lock(mutex_);
  const auto decided = [&]() PMIO_REQUIRES(mutex_) { return stopped_ || used_ + bytes <= kMaxBuffered; };
  if (std::this_thread::get_id() != server_thread_) condition_.wait(lock, decided);
  if (stopped_ || !decided()) return false;
  used_ += bytes;
  return true;
}

void ReplyBudget::give(size_t bytes) {
  if (bytes == 0) return;
  {
    const LockGuard lock(mutex_);
    PMIO_ASSERT(bytes <= used_);
    used_ -= bytes;
  }
  condition_.notify_all();
}

void ReplyBudget::set_server_thread(std::thread::id id) {
  const LockGuard lock(mutex_);
  server_thread_ = id;
}

void ReplyBudget::stop() {
  {
    const LockGuard lock(mutex_);
    stopped_ = true;
  }
  condition_.notify_all();
}

ReplyChannel::ReplyChannel(FileDescriptor socket, int epoll, uint64_t key,
                           std::shared_ptr<ReplyBudget> budget)
    : socket_(std::move(socket)), epoll_(epoll), key_(key), budget_(std::move(budget)) {
  epoll_event event{EPOLLIN, {.u64 = key}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, socket_.get(), &event);
}

void ReplyChannel::answer(int error, std::span<const std::byte> payload, std::vector<std::byte> owner) {
  if (payload.size() > kMaxPayload) error = EMSGSIZE;
  if (error != 0) payload = payload.first(std::min(payload.size(), kMaxErrorText));
  // Small payloads are bounded by the number of connections.
  const size_t wanted = payload.size() > kSmallPayload ? payload.size() : 0;
  const bool granted = wanted == 0 || budget_->take(wanted);
  if (!granted) {
    payload = {};
    error = ENOBUFS;
  }
  const FrameHeader header = make_header(FrameType::response, static_cast<uint32_t>(error), payload.size());
  const LockGuard lock(mutex_);
  if (state_ == State::answering) {
    send_or_keep(header, payload, std::move(owner), granted ? wanted : 0);
  } else if (granted) {
    budget_->give(wanted);
  }
}

void ReplyChannel::send_or_keep(const FrameHeader& header, std::span<const std::byte> payload,
                                std::vector<std::byte> owner, size_t budgeted) {
  size_t sent = 0;
  const int failed = send_frame(socket_.get(), header, payload, &sent);
  if (failed == EAGAIN && keep(payload, std::move(owner))) {
    header_ = header;
    sent_ = sent;
    budgeted_ = budgeted;
    pace_ = Pace();
    state_ = State::sending;
    watch(EPOLLIN | EPOLLOUT);
    return;
  }
  budget_->give(budgeted);
  state_ = State::idle;
  if (failed != 0) shutdown(socket_.get(), SHUT_RDWR);  // the server's thread sees the end and closes
}

bool ReplyChannel::keep(std::span<const std::byte> payload, std::vector<std::byte> owner) {
  if (payload.data() == owner.data() && payload.size() == owner.size()) {
    payload_ = std::move(owner);
    return true;
  }
  try {
    payload_.assign(payload.begin(), payload.end());
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

bool ReplyChannel::idle() {
  const LockGuard lock(mutex_);
  return state_ == State::idle;
}

bool ReplyChannel::answered() {
  const LockGuard lock(mutex_);
  return state_ != State::answering;
}

void ReplyChannel::begin_answering() {
  const LockGuard lock(mutex_);
  state_ = State::answering;
  answering_seconds_ = 0;
}

bool ReplyChannel::flush() {
  const LockGuard lock(mutex_);
  if (state_ != State::sending) return true;
  const size_t before = sent_;
  const int failed = send_frame(socket_.get(), header_, payload_, &sent_);
  pace_.moved(sent_ - before);
  if (failed != 0) return failed == EAGAIN;
  forget_answer();
  state_ = State::idle;
  watch(EPOLLIN);
  return true;
}

bool ReplyChannel::say_working_after_tick() {
  const LockGuard lock(mutex_);
  if (state_ != State::answering || ++answering_seconds_ % kWorkingSeconds != 0) return true;
  size_t sent = 0;
  const FrameHeader header = make_header(FrameType::working, 0, 0);
  const int failed = send_frame(socket_.get(), header, {}, &sent);
  return failed == 0 || (failed == EAGAIN && sent == 0);  // a peer that does not read has missed nothing
}

bool ReplyChannel::overdue_after_tick() {
  const LockGuard lock(mutex_);
  return state_ == State::sending && pace_.too_slow_after_tick(kFrameSeconds);
}

void ReplyChannel::listen(bool to_input) {
  const LockGuard lock(mutex_);
  watch(to_input ? uint32_t{EPOLLIN} : 0);
}

void ReplyChannel::close() {
  const LockGuard lock(mutex_);
  forget_answer();
  state_ = State::closed;
  socket_ = FileDescriptor();
}

void ReplyChannel::watch(uint32_t events) {
  epoll_event event{events, {.u64 = key_}};
  epoll_ctl(epoll_, EPOLL_CTL_MOD, socket_.get(), &event);
}

void ReplyChannel::forget_answer() {
  budget_->give(std::exchange(budgeted_, 0));
  payload_ = {};
}

}  // namespace pmio
