// Writes the undrained records of one file's log to the file, newest wins, in windows of kWindowBytes.
//
// Memory: at most 64 bytes per undrained record while the records are sorted, 32 afterwards, and one window.
// Data are read where they lie, in the mapped segments.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.h"
#include "drain/target.h"
#include "recover/journal.h"
#include "recover/scan.h"

namespace pmio {

// Called after each window. bytes: written to the file since the last call.
using ReplayProgress = std::function<void(uint64_t bytes)>;

// The order of the records is by stamp, then by segment (file.segments is in that order), then by position.
// On return the bytes are written, and not synced. After an error a part of them is written; the call can be
// repeated. consistent: leaves out what lies behind the cut.
Status replay(const FileInfo& file, TargetFile& target, bool consistent, const ReplayProgress& progress);

// The same if other nodes have brought in what they claim: bytes of theirs with a later stamp stay. Nothing
// is read from the file, and no byte is written that this log does not hold.
Status replay_beside(const FileInfo& file, TargetFile& target, std::span<const Journal::Claim> claims,
                     const ReplayProgress& progress);

}  // namespace pmio
