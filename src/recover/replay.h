// Writes the undrained records of one file's log to the file, newest wins, in windows of kWindowBytes.
//
// Memory: at most 64 bytes per undrained record while they are sorted, 32 afterwards, and one window. The
// data is read where it lies, in the mapped segments.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.h"
#include "drain/target.h"
#include "recover/journal.h"
#include "recover/scan.h"

namespace pmio {

// Called after each window: bytes written to the file since the last call.
using ReplayProgress = std::function<void(uint64_t bytes)>;

// Order of the records: stamp, then segment (file.segments is in that order), then position. On return the
// bytes are written, not synced. An error leaves part of them written; the call can be repeated.
// consistent: what lies behind the cut is left out.
Status replay(const FileInfo& file, TargetFile& target, bool consistent, const ReplayProgress& progress);

// The same where other nodes have brought in what they claim: bytes of theirs with a later stamp stay.
// Nothing is read from the file, and no byte written that this log does not hold.
Status replay_beside(const FileInfo& file, TargetFile& target, std::span<const Journal::Claim> claims,
                     const ReplayProgress& progress);

}  // namespace pmio
