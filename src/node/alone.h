// The reach of a file whose ranks are all on this node: nothing is asked of anybody.
#pragma once

#include <atomic>

#include "node/reach.h"

namespace pmio {

class Alone : public Reach {
 public:
  explicit Alone(FileParts& file) : Reach(kThisNode), file_(file) {}

  Status drain(DrainScope scope) override;
  bool is_drained() const override;
  Status before_read(std::span<const Vector> ranges, uint64_t* end) override;
  Status before_read(PatternCursor file, uint64_t bytes, uint64_t* end) override;
  Status read_target(uint64_t offset, std::byte* to, uint64_t bytes, bool sparse, uint64_t* got) override;
  Status begin_direct_write() override;
  Status before_direct_write(std::span<const Vector> ranges) override;
  void end_direct_write() override;
  Result<uint64_t> target_bytes() const override;
  Result<uint64_t> bytes_elsewhere() override { return uint64_t{0}; }
  void synced() override;
  void note_foreign_write() override;
  void forget_elsewhere() override {}
  void note_truncation() override;
  void truncated_elsewhere() override {}
  Status discard() override;

 private:
  FileParts& file_;
  std::atomic<bool> writes_past_log_{false};  // something has been written past the log
};

}  // namespace pmio
