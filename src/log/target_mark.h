// What a target looked like when its job last wrote it. Recovery compares the mark with the file: so it
// notices that somebody else has changed the file since, and does not write over that. The mark lies beside
// the ledger; docs/format.md has the bytes.
//
// A mark says `settled`, with a size and a time of modification, or `writing`: the job was writing the file,
// and nothing can be told. A torn or missing mark says as little. The holder of the file's drain lock writes
// it, and recovery does. Threads: one at a time.
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
  uint64_t mtime_ns = 0;  // by the file system's clock: compared, and never ordered against ours
  bool operator==(const FileState&) const = default;
};

using BootId = std::array<std::byte, 16>;  // tells the runs of this node's kernel apart
BootId this_boot();                        // zeros: the kernel does not tell

class TargetMark {
 public:
  TargetMark() = default;
  // The mark's name need not be durable: without a mark nothing can be told, as with a torn one.
  static Result<TargetMark> create(Medium& medium, std::string_view name);
  static Result<TargetMark> open(Medium& medium, std::string_view name);

  // The file is going to change. Durable on return, as the ledger is; free if the mark says so already.
  Status writing();
  // The file is as its job left it. Not durable: if this is lost, the mark still says `writing`.
  // ahead: the file may have more of the log than the ledger tells, because a drain or a recovery did not get
  // to its end.
  void settled(const FileState& state, bool ahead = false);
  // Whether the mark has said neither so far.
  bool blank() const;
  // Makes the mark as it was when it was created. Not durable.
  void clear();
  // The state that was said with the last `settled`; nothing if something else was said since.
  std::optional<FileState> settled_state() const;

 private:
  explicit TargetMark(std::unique_ptr<Region> region) : region_(std::move(region)) {}
  std::unique_ptr<Region> region_;
};

// Whether a file that is in state `now` has been changed since the mark was made, as far as the mark's bytes
// can tell. After another boot only a larger file or a later time counts as a change. A crash of the node may
// have lost the job's last changes.
bool changed_since(std::span<const std::byte> mark, const FileState& now, const BootId& boot);

// What the file was like when its job last wrote it; nothing if the mark does not tell.
std::optional<FileState> settled_state(std::span<const std::byte> mark);

// Whether the bytes of the mark say that the file has no more of the log than the ledger tells.
bool matches_ledger(std::span<const std::byte> mark);

}  // namespace pmio
