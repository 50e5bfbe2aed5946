// Whether ranks of one node, or a group of ranks on several, may log a file that others know nothing of
// (docs/decisions/0038-files-of-groups.md). A process asks the leader of its node, which has a ClaimDesk.
//
// Started in MPI_Init in two steps, as leaders must listen before anybody knows their addresses: start, then
// connect. Nothing is sent before the first claim. Threads: any for `claim`.
#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "cluster/claim_desk.h"

namespace pmio {

class Claims {
 public:
  struct Options {
    std::string interface;
    PeerToken token{};
    uint32_t node = 0, nodes = 1, ranks_here = 1;
    bool leader = false;
    NodeFiles files;  // of a leader
  };
  static Result<std::unique_ptr<Claims>> start(const Options& options);
  const PeerToken& token() const { return token_; }
  PeerAddress address() const { return desk_ != nullptr ? desk_->address() : PeerAddress(); }
  void connect(const PeerAddress& leader, const PeerAddress& coordinator);

  // Ranks of this node alone have the file open for the log, or all ranks of the group. True: they may log
  // it. False: from now on nobody does who claims it; who did has left nothing in a log. An error, for good:
  // the nodes do not reach each other.
  Result<bool> to_log(const FileIdentity& file, const std::string& path, const ClaimingGroup& group = {});
  // A rank, or the group, has it open without the log, and may log it later. As above; before it logs, to_log
  // is called.
  Result<bool> to_log_perhaps(const FileIdentity& file, const std::string& path,
                              const ClaimingGroup& group = {});
  // It is open without the log. On return nobody logs it who has claimed it; as false above.
  Status to_go_without(const FileIdentity& file, const std::string& path);

 private:
  explicit Claims(const Options& options)
      : token_(options.token), node_(options.node), nodes_(options.nodes) {}
  Result<bool> claim(const ClaimBody& claim, const std::string& path);

  const PeerToken token_;
  const uint32_t node_, nodes_;
  std::unique_ptr<ClaimDesk> desk_;  // in the leader
  std::unique_ptr<PeerConnection> leader_;
  Mutex mutex_;
  Status unreachable_ PMIO_GUARDED_BY(mutex_);
};

}  // namespace pmio
