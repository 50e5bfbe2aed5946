// Which node may log a file that fewer than all ranks of the job have opened: one node, as long as no other
// one wants the file (docs/decisions/0038-files-of-groups.md). The coordinator has the registry.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "log/format.h"
#include "peer/address.h"

namespace pmio {

// A file, as all nodes name it: their numbers for its device differ.
struct SharedIdentity {
  uint64_t inode = 0, birth_ns = 0;
  bool operator<(const SharedIdentity& other) const {
    return std::tie(inode, birth_ns) < std::tie(other.inode, other.birth_ns);
  }
};
inline SharedIdentity shared_identity(const FileIdentity& identity) {
  return {identity.inode, identity.birth_ns};
}

struct Claimant {
  uint32_t node = 0;
  uint32_t logs = 0;  // 1: only ranks of this node have it open by this handle, which would log it; 0: it
                      // goes without the log
  PeerAddress leader;
};

class ClaimRegistry {
 public:
  // Files that it knows at most. Where there are more, nobody may log any further one.
  explicit ClaimRegistry(size_t most = size_t{1} << 20) : most_(most) {}

  enum class Answer { granted, contested };
  struct Decision {
    Answer answer;
    std::optional<Claimant> owner;  // has to be asked for it first; then `after_surrender` tells the answer
  };
  Decision claim(const SharedIdentity& file, const Claimant& by);
  // was_open: whether ranks of the owner had it open.
  Answer after_surrender(const SharedIdentity& file, const Claimant& by, bool was_open);
  // The node has it open no more.
  void release(const SharedIdentity& file, uint32_t node);
  size_t size() const { return files_.size(); }

 private:
  struct State {
    bool contested = false;  // for good: ranks of several nodes have it open, as far as is known
    Claimant owner;          // if it is not
  };
  std::map<SharedIdentity, State> files_;
  const size_t most_;
  bool full_ = false;
};

}  // namespace pmio
