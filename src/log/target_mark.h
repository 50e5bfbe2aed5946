// What a target looked like when its job last wrote it, beside the ledger: so that recovery notices that
// somebody else has changed the file since, and does not write over that. docs/format.md has the bytes.
//
// A mark says `settled` with a size and a time of modification, or `writing`: then the job was at it, and
// nothing can be told. A torn or missing mark says as little. Written by the holder of the file's drain lock,
// and by recovery. Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "medium/medium.h"

namespace pmio {

struct FileState {
  uint64_t size_bytes = 0;
  uint64_t mtime_ns = 0;  // of the file system's clock, compared and never ordered against ours
  bool operator==(const FileState&) const = default;
};

using BootId = std::array<std::byte, 16>;  // which run of this node's kernel
BootId this_boot();                        // zeros where the kernel does not tell

class TargetMark {
 public:
  TargetMark() = default;
  // Its name need not last: without it nothing can be told, as with a torn one.
  static Result<TargetMark> create(Medium& medium, std::string_view name);
  static Result<TargetMark> open(Medium& medium, std::string_view name);

  // The file is going to change. Durable on return, as the ledger is; free where the mark says so already.
  Status writing();
  // The file is as its job left it. Not durable: were it lost, the mark would say `writing` still.
  // ahead: it may have more of the log than the ledger tells, since a drain or a recovery did not get to its
  // end.
  void settled(const FileState& state, bool ahead = false);
  // Whether neither has ever been said.
  bool blank() const;
  // As when it was created. Not durable.
  void clear();
  // The state that the last one to say `settled` has said, as long as nobody has said anything else.
  std::optional<FileState> settled_state() const;

 private:
  explicit TargetMark(std::unique_ptr<Region> region) : region_(std::move(region)) {}
  std::unique_ptr<Region> region_;
};

// Whether a file that is in state `now` has been changed since the mark was made, as far as the mark's bytes
// can tell. After another boot only a larger file or a later time is taken for a change: a crash of the node
// may have lost the last ones.
bool changed_since(std::span<const std::byte> mark, const FileState& now, const BootId& boot);

// What the file was like when its job last wrote it; nothing where the mark does not tell.
std::optional<FileState> settled_state(std::span<const std::byte> mark);

// Whether the bytes of the mark say that the file has no more of the log than the ledger tells.
bool matches_ledger(std::span<const std::byte> mark);

}  // namespace pmio
