#include "peer/service.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "peer/socket.h"

namespace pmio {
namespace {

enum : uint64_t { kListenerKey, kWakeupKey, kFirstSessionKey };
constexpr auto kTick = std::chrono::seconds(1);
constexpr int kTickMs = 1000;
constexpr int kEventsAtOnce = 64;
constexpr int kAcceptsAtOnce = 64;
constexpr int kReadsAtOnce = 4;  // of one connection, before the others have their turn

}  // namespace

Result<std::unique_ptr<PeerService>> PeerService::create(FileDescriptor listener, const PeerToken& token,
                                                         PeerServer::Handler handler,
                                                         size_t most_connections) {
  FileDescriptor epoll = out_of_the_way(FileDescriptor(epoll_create1(EPOLL_CLOEXEC)));
  FileDescriptor wakeup = out_of_the_way(FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (epoll.ok() && wakeup.ok()) {
    std::unique_ptr<PeerService> service(new PeerService(std::move(listener), std::move(epoll),
                                                         std::move(wakeup), token, std::move(handler),
                                                         most_connections));
    if (service->watch(service->listener_.get(), kListenerKey, true) &&
        service->watch(service->wakeup_.get(), kWakeupKey, true))
      return service;
  }
  return Status::from_errno(errno, "cannot watch connections of other nodes");
}

PeerService::PeerService(FileDescriptor listener, FileDescriptor epoll, FileDescriptor wakeup,
                         const PeerToken& token, PeerServer::Handler handler, size_t most_connections)
    : listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      wakeup_(std::move(wakeup)),
      token_(token),
      handler_(std::move(handler)),
      most_connections_(most_connections),
      next_key_(kFirstSessionKey) {}

void PeerService::run() {
  reply_budget_->set_server_thread(std::this_thread::get_id());
  last_tick_ = std::chrono::steady_clock::now();
  while (!stop_) {
    epoll_event events[kEventsAtOnce];
    const int n = epoll_wait(epoll_.get(), events, kEventsAtOnce, kTickMs);
    for (int i = 0; i < n && !stop_; i++) handle_safely(events[i].data.u64, events[i].events);
    if (std::chrono::steady_clock::now() - last_tick_ >= kTick) tick();
  }
  while (!sessions_.empty()) close(sessions_.begin());
}

void PeerService::stop() {
  stop_ = true;
  reply_budget_->stop();
  eventfd_write(wakeup_.get(), 1);
}

bool PeerService::watch(int fd, uint64_t key, bool add) {
  epoll_event event{EPOLLIN, {.u64 = key}};
  return epoll_ctl(epoll_.get(), add ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event) == 0;
}

// If there is no memory, one connection is lost, and not the process that only answers.
void PeerService::handle_safely(uint64_t key, uint32_t events) {
  try {
    handle_event(key, events);
  } catch (const std::exception&) {
    if (const auto found = sessions_.find(key); found != sessions_.end()) close(found);
  }
}

void PeerService::handle_event(uint64_t key, uint32_t events) {
  if (key == kWakeupKey) return;
  if (key == kListenerKey) return accept_some();
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return;  // closed by an event before this one
  Session& session = found->second;
  bool alive = (events & (EPOLLERR | EPOLLHUP)) == 0;
  if (alive && (events & EPOLLOUT) != 0) alive = session.channel->flush();
  if (alive && (events & EPOLLIN) != 0) alive = read(session);
  if (!alive) close(found);
}

// If there is no room for more connections, or no descriptor, they wait in the kernel's queue.
void PeerService::accept_some() {
  for (int i = 0; i < kAcceptsAtOnce; i++) {
    const bool full = sessions_.size() >= most_connections_;
    FileDescriptor socket = out_of_the_way(
        FileDescriptor(full ? -1 : accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)));
    if (!socket.ok()) {
      if (full || errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        accepting_ = !watch(listener_.get(), kListenerKey, false);
      return;  // EAGAIN, or the client has gone again
    }
    set_options(socket.get(), kDeadAfter);
    const uint64_t key = next_key_++;
    sessions_.try_emplace(
        key, std::make_shared<ReplyChannel>(std::move(socket), epoll_.get(), key, reply_budget_));
  }
}

void PeerService::tick() {
  last_tick_ = std::chrono::steady_clock::now();
  for (auto next = sessions_.begin(); next != sessions_.end();) {
    const auto each = next++;
    Session& session = each->second;
    const bool due = (!session.authenticated || session.reader.begun()) && !session.parked;
    const unsigned most = session.authenticated ? kFrameSeconds : kHelloSeconds;
    if ((due && session.pace.too_slow_after_tick(most)) || session.channel->overdue_after_tick() ||
        !session.channel->say_working_after_tick())
      close(each);
    else
      release_answered(session);
  }
  admit_parked();
  if (!accepting_) accepting_ = watch(listener_.get(), kListenerKey, true);
}

void PeerService::close(Sessions::iterator session) {
  session->second.channel->close();
  release(session->second);
  release_answered(session->second);
  sessions_.erase(session);
  admit_parked();
}

bool PeerService::read(Session& session) {
  for (int i = 0; i < kReadsAtOnce; i++) {
    // The part of a request that comes before there is room for it stays small.
    const size_t most = session.budgeted > 0 ? scratch_.size() : kSmallPayload;
    const auto into = std::span(scratch_).first(most);
    const ssize_t n = receive(session.channel->socket(), into);
    if (n <= 0) return n == -EAGAIN;
    session.pace.moved(static_cast<size_t>(n));
    if (!consume(session, into.first(static_cast<size_t>(n)))) return false;
    if (session.parked || static_cast<size_t>(n) < most) return true;
  }
  return true;
}

bool PeerService::consume(Session& session, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (!session.channel->idle()) return false;  // the last request has no answer yet
    release_answered(session);
    bytes = bytes.subspan(session.reader.feed(bytes));
    switch (session.reader.state()) {
      case FrameReader::State::nonsense:
        return false;
      case FrameReader::State::complete:
        if (session.authenticated) {
          serve(session);
        } else if (!greet(session)) {
          return false;
        }
        break;
      case FrameReader::State::header:
      case FrameReader::State::payload:
        break;
    }
  }
  return admit(session);
}

bool PeerService::greet(Session& session) {
  Hello hello;
  const FrameHeader& header = session.reader.header();
  int error = header.word == kPeerVersion ? 0 : EPROTONOSUPPORT;
  if (error == 0) {
    if (header.length != sizeof hello) return false;
    std::memcpy(&hello, session.reader.payload().data(), sizeof hello);
    if (!equal(client_half(token_), hello.token)) error = EACCES;
  }
  const HalfToken half = server_half(token_);
  const auto payload = error == 0 ? std::as_bytes(std::span(half)) : std::span<const std::byte>();
  const FrameHeader welcome = make_header(FrameType::welcome, static_cast<uint32_t>(error), payload.size());
  size_t sent = 0;
  // A new socket has room for so few bytes.
  session.authenticated = send_frame(session.channel->socket(), welcome, payload, &sent) == 0 && error == 0;
  release(session);
  return session.authenticated;
}

void PeerService::serve(Session& session) {
  session.channel->begin_answering();
  try {
    handler_(session.reader.header().word, session.reader.payload(), PeerReply(session.channel));
  } catch (const std::exception&) {
    // There is no memory, or no thread. On its way here the reply has answered with an error.
  }
  session.held = std::exchange(session.budgeted, 0);
  release(session);
  release_answered(session);
  admit_parked();
}

// Whoever works on a request may keep a copy of it until the answer.
void PeerService::release_answered(Session& session) {
  if (session.held > 0 && session.channel->answered()) buffered_ -= std::exchange(session.held, 0);
}

void PeerService::release(Session& session) {
  buffered_ -= session.budgeted;
  session.budgeted = 0;
  session.pace = Pace();
  session.reader.next(FrameType::request, kMaxPayload);
}

bool PeerService::admit(Session& session) {
  if (session.reader.state() != FrameReader::State::payload || session.budgeted > 0) return true;
  const size_t length = session.reader.header().length;
  if (length <= kSmallPayload) return true;
  if (!parked_.empty() || buffered_ + length > kMaxBuffered) {
    parked_.push_back(session.channel->key());
    session.parked = true;
    session.channel->listen(false);
    return true;
  }
  return begin_large(session);
}

bool PeerService::begin_large(Session& session) {
  session.budgeted = session.reader.header().length;
  session.pace = Pace();
  buffered_ += session.budgeted;
  return session.reader.reserve();
}

void PeerService::admit_parked() {
  while (!parked_.empty()) {
    const auto found = sessions_.find(parked_.front());
    if (found != sessions_.end()) {  // else the session has gone meanwhile
      Session& session = found->second;
      if (buffered_ + session.reader.header().length > kMaxBuffered) return;
      session.parked = false;
      session.channel->listen(true);
      if (!begin_large(session)) shutdown(session.channel->socket(), SHUT_RDWR);  // epoll reports its end
    }
    parked_.pop_front();
  }
}

}  // namespace pmio
