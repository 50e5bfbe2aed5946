#include "cluster/claims.h"

#include <algorithm>
#include <cerrno>
#include <exception>

namespace pmio {

// For strangers, and for peers that connect again before their old connections are gone.
constexpr uint32_t kForStrangers = 64;

Result<std::unique_ptr<Claims>> Claims::start(const Options& options) {
  std::unique_ptr<Claims> claims(new Claims(options));
  if (!options.leader) return claims;
  const uint32_t others = options.node == 0 ? std::min(options.nodes, kMostConnected) : 1;
  auto desk = ClaimDesk::start(options.interface, options.token, options.node,
                               options.ranks_here + others + kForStrangers, options.files);
  if (!desk.ok()) return desk.status();
  claims->desk_ = std::move(desk).value();
  return claims;
}

void Claims::connect(const PeerAddress& leader, const PeerAddress& coordinator) {
  leader_ = std::make_unique<PeerConnection>(leader, token_, node_);
  if (desk_ != nullptr) desk_->connect(coordinator, nodes_);
}

Result<bool> Claims::claim(const ClaimBody& claim, const std::string& path) try {
  if (desk_ != nullptr) return desk_->claim(claim, path);
  {
    const LockGuard lock(mutex_);
    if (!unreachable_.ok()) return unreachable_;
  }
  const MessageWriter message = MessageWriter().put(claim).put_bytes(std::as_bytes(std::span(path)));
  Result<bool> granted =
      read_claim_answer(leader_->call(static_cast<uint32_t>(ClaimRequest::for_me), message.bytes()));
  if (!granted.ok()) {
    const LockGuard lock(mutex_);
    unreachable_ = granted.status();
  }
  return granted;
} catch (const std::exception& failure) {
  return Status(Code::io, std::string("cannot claim a file: ") + failure.what(), ENOMEM);
}

Result<bool> Claims::to_log(const FileIdentity& file, const std::string& path, const ClaimingGroup& group) {
  return claim({file, ClaimKind::logs, group}, path);
}

Result<bool> Claims::to_log_perhaps(const FileIdentity& file, const std::string& path,
                                    const ClaimingGroup& group) {
  return claim({file, ClaimKind::may_log, group}, path);
}

Status Claims::to_go_without(const FileIdentity& file, const std::string& path) {
  return claim({file, ClaimKind::goes_without}, path).status();
}

}  // namespace pmio
