#include "cluster/claim_desk.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace pmio {

// A rank waits for its open meanwhile, as often as that fails: once.
constexpr std::chrono::seconds kPatience{10};
constexpr size_t kMostContested = 1 << 16;

Result<std::unique_ptr<ClaimDesk>> ClaimDesk::start(const std::string& interface, const PeerToken& token,
                                                    uint32_t node, size_t most_connections, NodeFiles files) {
  std::unique_ptr<ClaimDesk> desk(new ClaimDesk(token, node, std::move(files)));
  auto server = PeerServer::start(
      interface, token,
      [raw = desk.get()](uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
        raw->handle(kind, payload, std::move(reply));
      },
      most_connections);
  if (!server.ok()) return server.status();
  desk->server_ = std::move(server).value();
  return desk;
}

// Only the server's thread makes them. What it throws is an answer.
TaskThread& ClaimDesk::thread_of(ClaimRequest kind) {
  auto& thread = kind == ClaimRequest::for_me      ? for_ranks_
                 : kind == ClaimRequest::surrender ? surrendering_
                                                   : coordinating_;
  if (thread == nullptr) thread = std::make_unique<TaskThread>();
  return *thread;
}

void ClaimDesk::handle(uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
  const auto request = static_cast<ClaimRequest>(kind);
  if (request < ClaimRequest::for_me || request > ClaimRequest::release) return reply.send(EPROTO, {});
  auto bytes = std::make_shared<std::vector<std::byte>>(payload.begin(), payload.end());
  auto shared = std::make_shared<PeerReply>(std::move(reply));
  thread_of(request).post([this, request, bytes, shared] {
    const Result<uint64_t> said = answer(request, MessageReader(*bytes));
    if (!said.ok()) return send_status(*shared, said.status());
    shared->send(MessageWriter().put(said.value()).take());
  });
}

Result<uint64_t> ClaimDesk::answer(ClaimRequest kind, MessageReader body) {
  switch (kind) {
    case ClaimRequest::for_me:
      return claim_for_rank(body);
    case ClaimRequest::claim:
      return decide(body);
    case ClaimRequest::surrender:
      return give_up(body);
    case ClaimRequest::release:
      return forget(body);
  }
  return nonsense();
}

Result<std::vector<std::byte>> ClaimDesk::call(const PeerAddress& leader, ClaimRequest kind,
                                               const MessageWriter& message) const {
  PeerConnection connection(leader, token_, node_, kPatience);
  return connection.call(static_cast<uint32_t>(kind), message.bytes());
}

Result<uint64_t> ClaimDesk::ask_coordinator(const ClaimBody& claim) {
  if (!unreachable_.ok()) return unreachable_;
  const auto said = call(
      coordinator_, ClaimRequest::claim,
      MessageWriter().put(claim).put(Claimant{node_, static_cast<uint32_t>(claim.logs), server_->address()}));
  if (!said.ok()) return unreachable_ = said.status();
  uint64_t granted = 0;
  if (!MessageReader(said.value()).get(&granted)) return nonsense();
  return granted;
}

Result<uint64_t> ClaimDesk::claim_for_rank(MessageReader body) {
  ClaimBody claim{};
  std::string path;
  if (!body.get(&claim) || claim.logs > 1 || !body.get_items(body.left(), &path)) return nonsense();
  const SharedIdentity shared = shared_identity(claim.file);
  if (contested_.contains(shared)) return 0;
  if (claim.logs != 0) {
    release_closed();
    const LockGuard lock(mutex_);
    // Before the coordinator can tell anybody that it is this node's.
    mine_[shared] = {claim.file, path};
  }
  const Result<uint64_t> granted = ask_coordinator(claim);
  if (!granted.ok() || granted.value() != 0) return granted;
  if (contested_.size() >= kMostContested) contested_.clear();
  contested_.insert(shared);
  return granted;
}

Result<uint64_t> ClaimDesk::decide(MessageReader body) {
  ClaimBody claim{};
  Claimant by;
  if (!body.get(&claim) || !body.get(&by)) return nonsense();
  const SharedIdentity shared = shared_identity(claim.file);
  ClaimRegistry::Decision decision = registry_.claim(shared, by);
  if (decision.owner) {
    const auto said = call(decision.owner->leader, ClaimRequest::surrender, MessageWriter().put(shared));
    // If the owner does not answer, it may go on to log it.
    uint64_t was_open = 1;
    if (said.ok() && !MessageReader(said.value()).get(&was_open)) was_open = 1;
    decision.answer = registry_.after_surrender(shared, by, was_open != 0);
  }
  return decision.answer == ClaimRegistry::Answer::granted ? 1 : 0;
}

Result<uint64_t> ClaimDesk::give_up(MessageReader body) {
  SharedIdentity shared;
  if (!body.get(&shared)) return nonsense();
  Mine mine;
  {
    const LockGuard lock(mutex_);
    const auto at = mine_.find(shared);
    if (at == mine_.end()) return 0;
    mine = at->second;
    mine_.erase(at);
  }
  return files_.surrender(mine.file, mine.path) ? 1 : 0;
}

// Of those that no rank has open any more. A rank that is about to open one claims it behind this.
void ClaimDesk::release_closed() {
  std::vector<SharedIdentity> closed;
  {
    const LockGuard lock(mutex_);
    if (mine_.size() < sweep_at_) return;
    std::erase_if(mine_, [&](const auto& each) {
      if (files_.is_open(each.second.file)) return false;
      closed.push_back(each.first);
      return true;
    });
    sweep_at_ = std::max<size_t>(256, 2 * mine_.size());
  }
  const MessageWriter message = MessageWriter().put(node_).put_list(std::span<const SharedIdentity>(closed));
  if (unreachable_.ok() && !closed.empty()) (void)call(coordinator_, ClaimRequest::release, message);
}

Result<uint64_t> ClaimDesk::forget(MessageReader body) {
  uint32_t node = 0;
  std::vector<SharedIdentity> files;
  if (!body.get(&node) || !body.get_list(&files)) return nonsense();
  for (const SharedIdentity& file : files) registry_.release(file, node);
  return 1;
}

}  // namespace pmio
