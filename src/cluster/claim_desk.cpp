#include "cluster/claim_desk.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace pmio {

// A rank waits for its open meanwhile, as often as that fails: once.
constexpr std::chrono::seconds kClaimPatience{10};
constexpr size_t kMostContested = 1 << 16;
constexpr uint64_t kMostUndecided = 4096;

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
    const Result<bool> said = answer(request, MessageReader(*bytes));
    if (!said.ok()) return send_status(*shared, said.status());
    shared->send(MessageWriter().put(uint64_t{said.value()}).take());
  });
}

void ClaimDesk::connect(const PeerAddress& coordinator, uint32_t nodes) {
  coordinator_ = coordinator;
  if (nodes <= kMostConnected)
    to_coordinator_ = std::make_unique<PeerConnection>(coordinator, token_, node_, kClaimPatience);
}

Result<bool> ClaimDesk::answer(ClaimRequest kind, MessageReader body) {
  switch (kind) {
    case ClaimRequest::for_me:
      return claim_for_rank(body);
    case ClaimRequest::claim:
      return decide_for_leader(body);
    case ClaimRequest::surrender:
      return give_up(body);
    case ClaimRequest::release:
      return forget(body);
  }
  return nonsense();
}

Result<bool> read_claim_answer(const Result<std::vector<std::byte>>& said) {
  uint64_t yes = 0;
  if (!said.ok()) return said.status();
  if (!MessageReader(said.value()).get(&yes)) return nonsense();
  return yes != 0;
}

Result<std::vector<std::byte>> ClaimDesk::call(const PeerAddress& leader, uint32_t kind,
                                               const MessageWriter& message) const {
  PeerConnection connection(leader, token_, node_, kClaimPatience);
  return connection.call(kind, message.bytes());
}

Result<std::vector<std::byte>> ClaimDesk::call_coordinator(ClaimRequest kind, const MessageWriter& message) {
  const auto number = static_cast<uint32_t>(kind);
  if (to_coordinator_ == nullptr) return call(coordinator_, number, message);
  return to_coordinator_->call(number, message.bytes());
}

Result<bool> ClaimDesk::ask_coordinator(const ClaimBody& claim) {
  const auto span = static_cast<Span>(claim.group.span);
  const Claimant by{{span, span == kThisNode ? node_ : 0},
                    claim.kind == ClaimKind::goes_without ? 0u : 1u,
                    server_->address()};
  if (is_coordinator()) return decide(shared_identity(claim.file), by);
  if (!unreachable_.ok()) return unreachable_;
  Result<bool> granted =
      read_claim_answer(call_coordinator(ClaimRequest::claim, MessageWriter().put(claim).put(by)));
  if (!granted.ok()) unreachable_ = granted.status();
  return granted;
}

Result<bool> ClaimDesk::claim(const ClaimBody& claim, const std::string& path) {
  const SharedIdentity shared = shared_identity(claim.file);
  const LockGuard asking(asking_);
  if (contested_.contains(shared)) return false;
  if (claim.kind != ClaimKind::goes_without) {
    release_closed();
    const LockGuard lock(mutex_);
    // Before the coordinator can tell anybody that it is this node's.
    Mine& mine = mine_[{shared, static_cast<Span>(claim.group.span)}];
    const bool undecided = mine.undecided || claim.kind == ClaimKind::may_log;
    mine = {claim.file, path, undecided, claim.group.coordinator, ++claims_};
  }
  Result<bool> granted = ask_coordinator(claim);
  if (!granted.ok() || granted.value()) return granted;
  if (contested_.size() >= kMostContested) contested_.clear();
  contested_.insert(shared);
  return granted;
}

Result<bool> ClaimDesk::claim_for_rank(MessageReader body) {
  ClaimBody body_of{};
  std::string path;
  if (!body.get(&body_of) || body_of.kind > ClaimKind::may_log || !body.get_items(body.left(), &path))
    return nonsense();
  return claim(body_of, path);
}

Result<bool> ClaimDesk::decide_for_leader(MessageReader body) {
  ClaimBody claim{};
  Claimant by;
  if (!body.get(&claim) || !body.get(&by)) return nonsense();
  return decide(shared_identity(claim.file), by);
}

bool ClaimDesk::decide(const SharedIdentity& file, const Claimant& by) {
  const LockGuard lock(deciding_);
  ClaimRegistry::Decision decision = registry_.claim(file, by);
  if (decision.owner) {
    const Claimant& owner = *decision.owner;
    const auto was_open = read_claim_answer(call(owner.desk, static_cast<uint32_t>(ClaimRequest::surrender),
                                                 MessageWriter().put(SurrenderBody{file, owner.owner})));
    // An owner that does not answer may go on to log it.
    decision.answer = registry_.after_surrender(file, by, !was_open.ok() || was_open.value());
  }
  return decision.answer == ClaimRegistry::Answer::granted;
}

Result<bool> ClaimDesk::give_up(MessageReader body) {
  SurrenderBody wanted{};
  if (!body.get(&wanted)) return nonsense();
  Mine mine;
  {
    const LockGuard lock(mutex_);
    const auto at = mine_.find({wanted.file, wanted.owner.span});
    if (at == mine_.end()) return false;
    mine = at->second;
    mine_.erase(at);
  }
  if (wanted.owner.span == kThisNode) return files_.surrender(mine.file, mine.path) || mine.undecided;
  // All ranks claim only what they may log later. What they log is refused to others on each node.
  if (wanted.owner.span == kAllRanks) return true;
  const auto was_open = read_claim_answer(
      call(mine.coordinator, static_cast<uint32_t>(Request::contest), MessageWriter().put(wanted.file)));
  return mine.undecided && was_open.ok() ? Result<bool>(true) : was_open;
}

// Of those that no rank has open any more. A rank that is about to open one claims it behind this.
void ClaimDesk::release_closed() {
  std::map<Span, std::vector<SharedIdentity>> closed;
  {
    const LockGuard lock(mutex_);
    if (mine_.size() < sweep_at_) return;
    const uint64_t claims = claims_;
    std::erase_if(mine_, [&](const auto& each) {
      const Mine& mine = each.second;
      if (mine.undecided && mine.claims + kMostUndecided > claims) return false;
      const auto& [file, span] = each.first;
      if (files_.is_open(mine.file, span)) return false;
      closed[span].push_back(file);
      return true;
    });
    sweep_at_ = std::max<size_t>(256, 2 * mine_.size());
  }
  for (const auto& [span, files] : closed) release({span, span == kThisNode ? node_ : 0}, files);
}

void ClaimDesk::release(const Owner& owner, const std::vector<SharedIdentity>& closed) {
  const MessageWriter message = MessageWriter().put(owner).put_list(std::span<const SharedIdentity>(closed));
  if (is_coordinator())
    (void)forget(MessageReader(message.bytes()));
  else if (unreachable_.ok())
    (void)call_coordinator(ClaimRequest::release, message);
}

Result<bool> ClaimDesk::forget(MessageReader body) {
  Owner owner;
  std::vector<SharedIdentity> files;
  if (!body.get(&owner) || !body.get_list(&files)) return nonsense();
  const LockGuard lock(deciding_);
  for (const SharedIdentity& file : files) registry_.release(file, owner);
  return true;
}

}  // namespace pmio
