// Who may log a file that fewer than all ranks of the job have opened: the ranks of one node, or one group of
// ranks on several, as long as nobody else wants the file (docs/decisions/0038-files-of-groups.md). The
// coordinator has the registry.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "log/format.h"
#include "node/reach.h"
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

// Ranks of one node, or of a group on several.
struct Owner {
  Span span = kThisNode;  // kThisNode: of this node
  uint32_t node = 0;      // 0 of a group
  bool operator==(const Owner&) const = default;
};

struct Claimant {
  Owner owner;
  uint64_t logs = 0;  // 1: only the owner's ranks have it open by this handle, which would log it; 0: it goes
                      // without the log
  PeerAddress desk;   // that asks, and is asked for the file
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
  // The owner has it open no more.
  void release(const SharedIdentity& file, const Owner& owner);
  size_t size() const { return files_.size(); }

 private:
  struct State {
    bool contested = false;  // for good: others have it open, too, as far as is known
    Claimant owner;          // if it is not
  };
  std::map<SharedIdentity, State> files_;
  const size_t most_;
  bool full_ = false;
};

}  // namespace pmio
