// The leader's part of Claims (claims.h): asks the coordinator for the ranks of its node, and gives a file up
// when another node wants it. On node 0 it is the coordinator, too.
//
// A rank has a file open for the log before it claims it. So whoever is asked for the file sees each of its
// ranks that may log it, or that will be refused.
//
// Requests, besides those of message.h, which come to another server. Each is answered by a uint64_t:
//   for_me      a rank -> the leader of its node: ClaimBody, then the path; 1: granted
//   claim       a leader -> the coordinator: ClaimBody, then the Claimant; 1: granted
//   surrender   the coordinator -> the desk that has claimed for the owner: SurrenderBody; 1: ranks had it
//               open. Of a group's files the desk asks its coordinator (Request::contest)
//   release     a leader -> the coordinator: Owner, list of SharedIdentity
//
// Files that may be logged count as open until kMostUndecided more have been claimed: nobody tells of their
// closes.
//
// Threads: any for `claim`. One of its own for what ranks ask, one for what leaders ask, one for surrenders;
// each waits for answers of those behind it alone. They are there once the first request has come.
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

enum class ClaimKind : uint64_t {
  goes_without,  // the log
  logs,          // it is open for the log
  may_log,       // it is open without the log, and may be logged later, after a further claim
};

// Ranks of several nodes that claim a file together. Their coordinator asks the desk of its node.
struct ClaimingGroup {
  uint64_t span = kThisNode;     // Span; kThisNode: no group
  PeerAddress coordinator = {};  // Cluster::address
};

struct ClaimBody {
  FileIdentity file;
  ClaimKind kind;
  ClaimingGroup group = {};
};

struct SurrenderBody {
  SharedIdentity file;
  Owner owner;
};

// So many leaders have a connection to the coordinator all the time; if there are more, each has one for as
// long as a question takes.
constexpr uint32_t kMostConnected = 256;

// Of a request's answer.
Result<bool> read_claim_answer(const Result<std::vector<std::byte>>& said);

// What the leader's process knows of the files of its node. Called on threads of the desk's.
struct NodeFiles {
  // Whether a rank of the node has it open for the log, with those of the span.
  std::function<bool(const FileIdentity& file, Span span)> is_open;
  // The same of kThisNode; and on return its ranks leave nothing in their logs any more.
  std::function<bool(const FileIdentity& file, const std::string& path)> surrender;
};

class ClaimDesk {
 public:
  // Listens at once. Nobody asks before `connect`.
  static Result<std::unique_ptr<ClaimDesk>> start(const std::string& interface, const PeerToken& token,
                                                  uint32_t node, size_t most_connections, NodeFiles files);
  PeerAddress address() const { return server_->address(); }
  void connect(const PeerAddress& coordinator, uint32_t nodes);
  // Of a rank of this node: whether it is granted.
  Result<bool> claim(const ClaimBody& claim, const std::string& path) PMIO_EXCLUDES(asking_);

 private:
  using Key = std::pair<SharedIdentity, Span>;
  struct Mine {
    FileIdentity file;
    std::string path;
    bool undecided = false;   // ClaimKind::may_log, of some rank
    PeerAddress coordinator;  // of a group
    uint64_t claims = 0;      // claims_ of the last claim
  };
  ClaimDesk(const PeerToken& token, uint32_t node, NodeFiles files)
      : token_(token), node_(node), files_(std::move(files)) {}
  bool is_coordinator() const { return node_ == 0; }
  void handle(uint32_t kind, std::span<const std::byte> payload, PeerReply reply);
  TaskThread& thread_of(ClaimRequest kind);
  Result<bool> answer(ClaimRequest kind, MessageReader body);
  Result<bool> claim_for_rank(MessageReader body);
  Result<bool> ask_coordinator(const ClaimBody& claim) PMIO_REQUIRES(asking_);
  Result<bool> decide_for_leader(MessageReader body);
  bool decide(const SharedIdentity& file, const Claimant& by) PMIO_EXCLUDES(deciding_);
  Result<bool> give_up(MessageReader body);
  Result<bool> forget(MessageReader body);
  void release_closed() PMIO_REQUIRES(asking_);
  Result<std::vector<std::byte>> call(const PeerAddress& leader, uint32_t kind,
                                      const MessageWriter& message) const;
  void release(const Owner& owner, const std::vector<SharedIdentity>& closed) PMIO_REQUIRES(asking_);
  Result<std::vector<std::byte>> call_coordinator(ClaimRequest kind, const MessageWriter& message)
      PMIO_REQUIRES(asking_);

  const PeerToken token_;
  const uint32_t node_;
  const NodeFiles files_;
  PeerAddress coordinator_;
  std::unique_ptr<PeerConnection> to_coordinator_;               // null: a new one for each question
  Mutex asking_;                                                 // held while the coordinator is asked
  Status unreachable_ PMIO_GUARDED_BY(asking_);                  // the coordinator, for good
  std::set<SharedIdentity> contested_ PMIO_GUARDED_BY(asking_);  // that it has said so of
  size_t sweep_at_ PMIO_GUARDED_BY(asking_) = 256;  // so many of mine_: those that are closed are released
  uint64_t claims_ PMIO_GUARDED_BY(asking_) = 0;
  Mutex mutex_;
  std::map<Key, Mine> mine_ PMIO_GUARDED_BY(mutex_);  // granted to this node, and to groups that asked here
  Mutex deciding_;                                    // held while an owner is asked
  ClaimRegistry registry_ PMIO_GUARDED_BY(deciding_);
  std::unique_ptr<TaskThread> for_ranks_, coordinating_, surrendering_;
  std::unique_ptr<PeerServer> server_;  // destroyed first
};

}  // namespace pmio
