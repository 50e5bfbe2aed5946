// A file that is read and written without a log, by this process for itself. Each call's bytes are in the
// file when it returns, and nothing is kept.
//
// What lies between the pieces of a write is never written, not even with the bytes that were read there. So
// no write can lose a neighbour's. Reads take pieces that are near to each other at once, with what lies
// between.
//
// On several nodes (Sharing::nodes) a write is synced before it returns. A read goes past what this node's
// client of the file system may have kept. So any node sees what it has learnt of.
//
// Threads: any. Durability: none before sync().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "drain/target.h"
#include "extent/pattern.h"

namespace pmio {

// A file opened once more, for reads that see all that was written before, on other nodes too, and synced.
class FreshFile {
 public:
  // `file` outlives it, and counts its reads.
  static Result<std::unique_ptr<FreshFile>> of(TargetFile& file);
  ~FreshFile();
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;
  TargetFile& target() { return *target_; }

 private:
  FreshFile(TargetFile& file, std::unique_ptr<TargetFile> target) : file_(file), target_(std::move(target)) {}
  TargetFile& file_;
  const std::unique_ptr<TargetFile> target_;
};

class StraightFile {
 public:
  enum class Sharing { node, nodes };
  StraightFile(std::unique_ptr<TargetFile> target, Sharing sharing)
      : target_(std::move(target)), sharing_(sharing) {}

  TargetFile& target() { return *target_; }

  // Write and read, of any target on one node.
  static Status write_to(TargetFile& target, PatternCursor& file, PatternCursor& memory,
                         const std::byte* buffer, uint64_t bytes);
  static Status read_from(TargetFile& target, PatternCursor& file, PatternCursor& memory, std::byte* buffer,
                          uint64_t bytes, uint64_t* got);

  // Writes the next `bytes` of the memory cursor's stream, as the next `bytes` of the file cursor's, whose
  // pieces ascend. After an error some of them may be written.
  Status write(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes);
  // The other way round. *got is less only at the end of the file; the rest of the buffer is untouched.
  Status read(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes, uint64_t* got);
  Result<uint64_t> size_bytes() { return target_->size_bytes(sharing_ == Sharing::nodes); }
  // The file has been given this size, and nobody writes or reads meanwhile. On several nodes the client of
  // each must hear it from its own node. MooseFS's client tells the end of what was written through it, for
  // as long as that descriptor is open, although another node has truncated it.
  Status size_was_set(uint64_t bytes) {
    return sharing_ == Sharing::nodes ? target_->set_size(bytes) : Status();
  }
  // What this process has written is on its storage, and other nodes see it.
  Status sync() { return target_->sync(); }

 private:
  const std::unique_ptr<TargetFile> target_;
  const Sharing sharing_;
};

}  // namespace pmio
