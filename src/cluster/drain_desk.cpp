#include "cluster/drain_desk.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace pmio {

void DrainDesk::request(uint64_t file, const DrainBody& body, PeerReply reply) {
  const Wanted wanted{file, body.calls, body.all};
  const LockGuard lock(mutex_);
  std::erase_if(groups_, [](const auto& group) { return !group.second.asking; });
  Group& group = groups_[wanted];
  group.waiting.push_back(std::move(reply));
  if (std::exchange(group.asking, true)) return;
  try {
    group.asks = std::async(std::launch::async, [this, wanted, &group] { ask(wanted, &group); });
  } catch (const std::system_error& failure) {
    group.asking = false;
    for (PeerReply& waiting : std::exchange(group.waiting, {}))
      send_status(waiting, Status::from_errno(failure.code().value(), "cannot start a thread for a drain"));
  }
}

// The round of a question that is under way may have begun before a newcomer's last write. So newcomers wait,
// together, for the next round.
void DrainDesk::ask(const Wanted& wanted, Group* group) {
  for (;;) {
    std::vector<PeerReply> served;
    {
      const LockGuard lock(mutex_);
      group->asking = !group->waiting.empty();
      if (!group->asking) return;
      served = std::exchange(group->waiting, {});
    }
    const auto& [file, calls, all] = wanted;
    const MessageWriter question = MessageWriter().put(file).put(DrainBody{calls, all});
    const Status status = coordinator_.ask(kCoordinator, Request::drain, question).status();
    for (PeerReply& reply : served) send_status(reply, status);
  }
}

}  // namespace pmio
