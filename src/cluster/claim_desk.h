// The leader's part of Claims (claims.h): asks the coordinator for the ranks of its node, and gives a file up
// when another node wants it. On node 0 it is the coordinator, too.
//
// A rank has a file open for the log before it claims it. So whoever is asked for the file sees each of its
// ranks that may log it, or that will be refused.
//
// Requests, besides those of message.h, which come to another server. Each is answered by a uint64_t:
//   for_me      a rank -> the leader of its node: ClaimBody, then the path; 1: granted
//   claim       a leader -> the coordinator: ClaimBody, then the Claimant; 1: granted
//   surrender   the coordinator -> the leader of the owner: SharedIdentity; 1: ranks had it open
//   release     a leader -> the coordinator: uint32_t node, list of SharedIdentity
//
// Threads: one for what ranks ask, one for what leaders ask, one for surrenders; each waits for answers of
// those behind it alone. They are there once the first request has come.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/mutex.h"
#include "cluster/claim_registry.h"
#include "cluster/message.h"
#include "cluster/task_thread.h"
#include "peer/connection.h"
#include "peer/server.h"

namespace pmio {

enum class ClaimRequest : uint32_t { for_me = 1, claim, surrender, release };

struct ClaimBody {
  FileIdentity file;
  uint64_t logs;  // Claimant::logs
};

// What the leader's process knows of the files of its node. Called on threads of the desk's.
struct NodeFiles {
  // Whether a rank of the node has it open for the log.
  std::function<bool(const FileIdentity& file)> is_open;
  // The same; and on return its ranks leave nothing in their logs any more.
  std::function<bool(const FileIdentity& file, const std::string& path)> surrender;
};

class ClaimDesk {
 public:
  // Listens at once. Nobody asks before `connect`.
  static Result<std::unique_ptr<ClaimDesk>> start(const std::string& interface, const PeerToken& token,
                                                  uint32_t node, size_t most_connections, NodeFiles files);
  PeerAddress address() const { return server_->address(); }
  void connect(const PeerAddress& coordinator) { coordinator_ = coordinator; }

 private:
  struct Mine {
    FileIdentity file;
    std::string path;
  };
  ClaimDesk(const PeerToken& token, uint32_t node, NodeFiles files)
      : token_(token), node_(node), files_(std::move(files)) {}
  void handle(uint32_t kind, std::span<const std::byte> payload, PeerReply reply);
  TaskThread& thread_of(ClaimRequest kind);
  Result<uint64_t> answer(ClaimRequest kind, MessageReader body);
  Result<uint64_t> claim_for_rank(MessageReader body);
  Result<uint64_t> ask_coordinator(const ClaimBody& claim);
  Result<uint64_t> decide(MessageReader body);
  Result<uint64_t> give_up(MessageReader body);
  Result<uint64_t> forget(MessageReader body);
  void release_closed();
  Result<std::vector<std::byte>> call(const PeerAddress& leader, ClaimRequest kind,
                                      const MessageWriter& message) const;

  const PeerToken token_;
  const uint32_t node_;
  const NodeFiles files_;
  PeerAddress coordinator_;
  Status unreachable_;                  // the coordinator, for good. Of the thread of for_me
  std::set<SharedIdentity> contested_;  // that it has said so of. Likewise
  size_t sweep_at_ = 256;               // likewise: so many of mine_, and those that are closed are released
  Mutex mutex_;
  std::map<SharedIdentity, Mine> mine_ PMIO_GUARDED_BY(mutex_);  // granted to this node
  ClaimRegistry registry_;                                       // of the thread of claim and release
  std::unique_ptr<TaskThread> for_ranks_, coordinating_, surrendering_;
  std::unique_ptr<PeerServer> server_;  // destroyed first
};

}  // namespace pmio
