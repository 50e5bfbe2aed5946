// Leaders of nodes that answer as the test wants.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cluster/coordinator.h"
#include "cluster/leaders.h"
#include "peer/server.h"

namespace pmio::test {

constexpr uint64_t kFile = 7;

inline const PeerToken& job_token() {
  static const PeerToken one = random_token();
  return one;
}

// Answers each kind of request by a function; notes what came.
class FakeLeader {
 public:
  using Answer = std::function<Status(MessageReader body, MessageWriter* answer)>;

  FakeLeader() {
    auto server = PeerServer::start(
        "127.0.0.1", job_token(), [this](uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
          take(static_cast<Request>(kind), payload, std::move(reply));
        });
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server.value());
    address_ = server_->address();
  }
  void on(Request kind, Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_[kind] = std::move(answer);
  }
  // Where this one leads the rounds.
  void lead(Coordinator* coordinator) {
    const std::lock_guard lock(mutex_);
    coordinator_ = coordinator;
  }
  PeerAddress address() const { return address_; }
  void die() { server_.reset(); }
  std::vector<Request> came() {
    const std::lock_guard lock(mutex_);
    return came_;
  }

 private:
  void take(Request kind, std::span<const std::byte> payload, PeerReply reply) {
    const std::lock_guard lock(mutex_);
    MessageReader body(payload);
    uint64_t file = 0;
    EXPECT_TRUE(body.get(&file));
    if (kind == Request::drain) {
      DrainBody wanted{};
      EXPECT_TRUE(body.get(&wanted));
      return coordinator_->request(file, wanted.calls, wanted.all != 0, std::move(reply));
    }
    came_.push_back(kind);
    MessageWriter answer;
    const auto known = answers_.find(kind);
    const Status status = known == answers_.end() ? Status() : known->second(body, &answer);
    if (status.ok()) return reply.send(0, answer.bytes());
    const std::string text = status.message();
    reply.send(status.system_errno(), std::as_bytes(std::span(text)));
  }

  std::mutex mutex_;
  std::map<Request, Answer> answers_;
  std::vector<Request> came_;
  Coordinator* coordinator_ = nullptr;
  std::unique_ptr<PeerServer> server_;
  PeerAddress address_;
};

}  // namespace pmio::test
