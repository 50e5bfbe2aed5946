#include "peer/exchange.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "peer/socket.h"

namespace pmio {

constexpr std::chrono::seconds kSecond{1};
constexpr size_t kScratchBytes = size_t{64} << 10;

Exchange::Exchange(const Peer& peer, const PeerToken& token, uint32_t node,
                   std::chrono::milliseconds dead_after, std::chrono::seconds silent_after)
    : peer_(peer),
      token_(token),
      hello_{client_half(token), node, 0},
      dead_after_(dead_after),
      silent_after_(silent_after) {}

void Exchange::acquire() {
  while (taken_.test_and_set(std::memory_order_acquire)) taken_.wait(true, std::memory_order_relaxed);
}

void Exchange::release() {
  taken_.clear(std::memory_order_release);
  taken_.notify_one();
}

void Exchange::begin(uint32_t kind, std::span<const std::byte> payload) {
  PMIO_ASSERT(done());
  kind_ = kind;
  payload_ = payload;
  status_ = Status();
  if (payload.size() > kMaxPayload) {
    status_ = Status::from_errno(EMSGSIZE, "request to node at " + to_string(peer_.address));
    stage_ = Stage::done;
  } else if (peer_.silence->given_up()) {
    status_ = Status::from_errno(ETIMEDOUT,
                                 "node at " + to_string(peer_.address) + " was given up, for its silence");
    socket_ = FileDescriptor();
    stage_ = Stage::done;
  } else if (socket_.ok() && !has_died(socket_.get())) {
    reused_ = true;
    begin_request();
  } else {
    begin_connection();
  }
}

void Exchange::begin_connection() {
  reused_ = false;
  stage_ = Stage::connecting;
  deadline_ = Clock::now() + dead_after_;
  socket_ = out_of_the_way(
      FileDescriptor(socket(peer_.address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  if (!socket_.ok()) return fail(errno, "cannot be asked");
  set_options(socket_.get(), dead_after_);
}

void Exchange::begin_request() {
  stage_ = Stage::requesting;
  deadline_ = Clock::now() + kSecond;
  silent_ = {};
  send_next(make_header(FrameType::request, kind_, payload_.size()), payload_);
  reader_.next(FrameType::response, kMaxPayload);
}

void Exchange::send_next(const FrameHeader& header, std::span<const std::byte> payload) {
  header_ = header;
  outgoing_ = payload;
  sent_ = 0;
  all_sent_ = false;
}

void Exchange::advance(std::span<std::byte> scratch) {
  if (stage_ == Stage::connecting && !connected()) return;
  if (stage_ == Stage::greeting) {
    if (!transfer(scratch)) return;
    if (!welcomed()) return;
    begin_request();
  }
  if (stage_ == Stage::requesting && transfer(scratch)) answered();
}

bool Exchange::connected() {
  const int failed = connect_to(socket_.get(), peer_.address);
  if (failed == EINPROGRESS || failed == EAGAIN) return false;
  if (failed != 0) return fail(failed, "cannot be reached"), false;
  stage_ = Stage::greeting;
  send_next(make_header(FrameType::hello, kPeerVersion, sizeof hello_), std::as_bytes(std::span(&hello_, 1)));
  reader_.next(FrameType::welcome, sizeof(HalfToken));
  return true;
}

// False: nonsense.
bool Exchange::take(std::span<const std::byte> bytes) {
  if (!all_sent_) return false;  // nothing may come before
  while (!bytes.empty()) {
    if (reader_.state() == FrameReader::State::complete) return false;  // and nothing after the frame
    bytes = bytes.subspan(reader_.feed(bytes));
    if (reader_.state() == FrameReader::State::nonsense) return false;
    if (reader_.state() == FrameReader::State::complete && reader_.header().type == FrameType::working)
      reader_.next(FrameType::response, kMaxPayload);
  }
  return true;
}

bool Exchange::transfer(std::span<std::byte> scratch) {
  if (!all_sent_) {
    const size_t before = sent_;
    const int failed = send_frame(socket_.get(), header_, outgoing_, &sent_);
    if (sent_ > before) silent_ = {};  // the peer takes what it is sent
    if (failed != 0 && failed != EAGAIN) return lost(failed), false;
    all_sent_ = failed == 0;
  }
  for (;;) {
    const bool straight = reader_.state() == FrameReader::State::payload;
    const ssize_t n = receive(socket_.get(), straight ? reader_.room() : scratch);
    if (n == -EAGAIN) return false;
    if (n <= 0) return lost(n == 0 ? ECONNRESET : static_cast<int>(-n)), false;
    silent_ = {};
    peer_.silence->heard();
    if (straight)
      reader_.filled(static_cast<size_t>(n));
    else if (!take(scratch.first(static_cast<size_t>(n))))
      return fail(EPROTO, "does not talk as a node of this job"), false;
    if (reader_.state() == FrameReader::State::complete) return true;
    const bool too_large = !straight && reader_.state() == FrameReader::State::payload && !reader_.reserve();
    if (too_large) return fail(ENOMEM, "sends a large answer"), false;
  }
}

bool Exchange::welcomed() {
  const auto error = reader_.header().word;
  const auto& shown = reader_.payload();
  if (error == EACCES) return fail(EACCES, "refuses the token: it belongs to another job"), false;
  if (error == EPROTONOSUPPORT) return fail(EPROTONOSUPPORT, "runs another version of pmio"), false;
  if (error != 0 || shown.size() != sizeof(HalfToken))
    return fail(EPROTO, "does not talk as a node of this job"), false;
  if (!equal(server_half(token_), std::span(shown).first<sizeof(HalfToken)>()))
    return fail(EACCES, "does not know the token: it belongs to another job"), false;
  return true;
}

static std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kMaxErrorText))) {
    const auto c = std::to_integer<unsigned char>(byte);
    text += c < ' ' || c == 0x7f ? '?' : static_cast<char>(c);
  }
  return text;
}

void Exchange::answered() {
  const uint32_t error = reader_.header().word;
  if (error > kMaxErrno) return fail(EPROTO, "does not talk as a node of this job");
  if (error != 0) {
    const std::string peer = "node at " + to_string(peer_.address);
    const std::string text = printable(reader_.payload());
    status_ = Status::from_errno(static_cast<int>(error), peer + " answers");
    if (!text.empty()) status_ = Status(status_.code(), peer + ": " + text, static_cast<int>(error));
  }
  stage_ = Stage::done;
}

// A connection of an earlier call may have died while nobody asked. A new connection shows how the peer is
// now. The peer has not carried the request out, because it carries out only whole ones. No new connection is
// made if the peer, or its host, has said nothing for dead_after since some of the request was sent. Then
// this call is over.
void Exchange::lost(int error) {
  const bool long_dead = sent_ == 0 || error == ECONNRESET;
  if (stage_ == Stage::requesting && reused_ && !all_sent_ && long_dead) return begin_connection();
  fail(error, "was lost");
}

void Exchange::fail(int error, const char* what) {
  status_ = Status::from_errno(error, "node at " + to_string(peer_.address) + " " + what);
  if (error == ETIMEDOUT) peer_.silence->note(dead_after_);
  socket_ = FileDescriptor();
  stage_ = Stage::done;
}

pollfd Exchange::wanted() const {
  const bool output = stage_ == Stage::connecting || !all_sent_;
  return {socket_.get(), static_cast<short>(output ? POLLIN | POLLOUT : POLLIN), 0};
}

// While it waits for an answer it counts seconds: a process that was stopped itself must not believe that all
// others were silent.
void Exchange::expire() {
  if (stage_ == Stage::requesting) {
    deadline_ = Clock::now() + kSecond;
    if (++silent_ >= silent_after_)
      fail(ETIMEDOUT,
           "says nothing: is the lowest of its ranks stopped? Let it go on, or end the job and run "
           "'pmio recover' on every node: what was written is in the logs");
    return;
  }
  fail(ETIMEDOUT, stage_ == Stage::connecting ? "cannot be reached" : "does not greet");
}

PeerAnswer Exchange::take_answer() {
  auto payload = reader_.take_payload();
  if (!status_.ok()) return std::move(status_);
  return payload;
}

static int milliseconds_until(Exchange::Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Exchange::Clock::now());
  return static_cast<int>(std::max(left.count(), std::chrono::milliseconds::rep{0}));
}

void run(std::span<Exchange* const> exchanges) {
  const std::unique_ptr<std::byte[]> memory(new std::byte[kScratchBytes]);
  const std::span scratch(memory.get(), kScratchBytes);
  std::vector<Exchange*> waiting(exchanges.begin(), exchanges.end());
  std::vector<pollfd> polls;
  for (Exchange* each : waiting) each->advance(scratch);
  for (;;) {
    std::erase_if(waiting, [](const Exchange* each) { return each->done(); });
    if (waiting.empty()) return;
    auto deadline = Exchange::Clock::time_point::max();
    polls.clear();
    for (const Exchange* each : waiting) {
      polls.push_back(each->wanted());
      deadline = std::min(deadline, each->deadline());
    }
    const int ready = poll(polls.data(), polls.size(), milliseconds_until(deadline));
    const int failed = ready < 0 && errno != EINTR ? errno : 0;
    for (size_t i = 0; i < waiting.size(); i++) {
      if (failed != 0) waiting[i]->fail(failed, "cannot be waited for");
      if (ready > 0 && polls[i].revents != 0) waiting[i]->advance(scratch);
      if (!waiting[i]->done() && waiting[i]->deadline() <= Exchange::Clock::now()) waiting[i]->expire();
    }
  }
}

}  // namespace pmio
