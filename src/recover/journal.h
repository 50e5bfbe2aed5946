// What the recoveries of several nodes tell each other about one file. It is a file beside that, which all of
// them see (docs/format.md, "recovery journal"). It is held under an exclusive lock from open to the end, so
// that the nodes come one by one. When the last of them has finished, it goes.
//
// The first recovery sets the base: the horizon of its last finished round (LedgerState::horizon). Earlier
// records are in the file. Claims say which bytes a node has brought in, and their stamps. The journal trusts
// nothing: whatever follows the first chunk that does not validate is overwritten. The recovery that wrote it
// writes it again, because a log is not marked before its claims are durable. Threads: one.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "extent/pattern.h"
#include "log/nodes_note.h"

namespace pmio {

class Journal {
 public:
  struct Claim {
    Vector range;
    uint64_t stamp;
    uint64_t rank;
  };
  struct WaitedFor {
    uint32_t node;
    NodeMembers members;  // without host and ranks if the journal does not tell them
  };
  // Whose ranks had the file open.
  struct Of {
    uint64_t job = 0;  // without the number of the node
    Span span = kAllRanks;
    bool operator<(const Of& other) const { return std::tie(job, span) < std::tie(other.job, other.span); }
  };
  static std::string path_of(const std::string& target, const Of& whose, uint64_t inode);

  // Whose journals of that file there are, ascending.
  static std::vector<Of> all_beside(const std::string& target, uint64_t inode);

  // Waits for the lock. base: for a new journal; nullopt: none is made, and the result is nullopt if there is
  // none. unsupported: the file system has no locks.
  static Result<std::optional<Journal>> open(const std::string& path, const NodePlace& place,
                                             std::optional<uint64_t> base);
  // Opens the journal of any job, for somebody who has no log of it; nullopt: there is none, or it says
  // nothing.
  static Result<std::optional<Journal>> look(const std::string& path);

  // When a recovery was last writing the file, by that file system's clock; nullopt: there is no journal.
  static std::optional<uint64_t> changed_ns(const std::string& path);
  // Says that a recovery is writing the file now. From any thread.
  void note_change();
  // Sets that time as it was before this object was opened: this recovery has written nothing.
  void note_no_change();

  uint64_t base() const { return base_; }
  // The claims of all nodes but this one.
  std::vector<Claim> claims_of_others(uint32_t node) const;
  // Durable on return.
  Status add_claims(uint32_t node, std::span<const Claim> claims);
  // The node's log is in the file, and marked. Removes the journal after the last one.
  Status finish(uint32_t node);
  uint32_t nodes_left() const { return nodes_ - static_cast<uint32_t>(done_.size()); }
  // The nodes that have not finished; empty: the recovery is over.
  std::vector<WaitedFor> waits_for() const;
  // No node is waited for any more: their logs are lost.
  Status give_up();

 private:
  struct Chunk;
  explicit Journal(std::string path) : path_(std::move(path)) {}
  Status lock(bool create);
  Result<bool> load();  // false: there is no base
  Status begin(const NodePlace& place, uint64_t base);
  Status append(const Chunk& chunk, std::span<const std::byte> payload);
  bool take(const Chunk& chunk, std::span<const std::byte> payload);
  Status append(uint32_t kind, uint32_t node, std::span<const Claim> claims);
  static uint64_t payload_bytes(const Chunk& chunk);
  static uint32_t crc_of(const Chunk& chunk, std::span<const std::byte> payload);

  struct OfNode {
    uint32_t node;
    Claim claim;
  };
  std::string path_;
  FileDescriptor lock_, file_;
  uint64_t end_ = 0;   // the end of what is valid
  timespec before_{};  // the time of modification when it was opened; for a new journal the epoch
  bool has_base_ = false;
  uint64_t base_ = 0;
  uint32_t nodes_ = 0;  // 0: the first chunk tells it
  std::vector<NodeMembers> members_;
  std::vector<OfNode> claims_;
  std::set<uint32_t> done_;
};

}  // namespace pmio
