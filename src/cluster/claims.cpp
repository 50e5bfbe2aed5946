#include "cluster/claims.h"

#include <algorithm>

namespace pmio {

// For strangers, and for peers that connect again before their old connections are gone.
constexpr uint32_t kSpare = 64;
// A leader has a connection to the coordinator for as long as a question takes.
constexpr uint32_t kMostAtOnce = 1024;

Result<std::unique_ptr<Claims>> Claims::start(const Options& options) {
  std::unique_ptr<Claims> claims(new Claims(options));
  if (!options.leader) return claims;
  const uint32_t others = options.node == 0 ? std::min(options.nodes, kMostAtOnce) : 1;
  auto desk = ClaimDesk::start(options.interface, options.token, options.node,
                               options.ranks_here + others + kSpare, options.files);
  if (!desk.ok()) return desk.status();
  claims->desk_ = std::move(desk).value();
  return claims;
}

void Claims::connect(const PeerAddress& leader, const PeerAddress& coordinator) {
  leader_ = std::make_unique<PeerConnection>(leader, token_, node_);
  if (desk_ != nullptr) desk_->connect(coordinator);
}

Result<bool> Claims::claim(const FileIdentity& file, const std::string& path, bool logs) {
  {
    const LockGuard lock(mutex_);
    if (!unreachable_.ok()) return unreachable_;
  }
  const MessageWriter message =
      MessageWriter().put(ClaimBody{file, logs ? 1u : 0u}).put_bytes(std::as_bytes(std::span(path)));
  const auto said = leader_->call(static_cast<uint32_t>(ClaimRequest::for_me), message.bytes());
  if (!said.ok()) {
    const LockGuard lock(mutex_);
    return unreachable_ = said.status();
  }
  uint64_t granted = 0;
  if (!MessageReader(said.value()).get(&granted)) return nonsense();
  return granted != 0;
}

Result<bool> Claims::to_log(const FileIdentity& file, const std::string& path) {
  return claim(file, path, true);
}

Status Claims::to_go_without(const FileIdentity& file, const std::string& path) {
  return claim(file, path, false).status();
}

}  // namespace pmio
