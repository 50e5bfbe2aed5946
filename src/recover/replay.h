// Writes the undrained records of one file's log to the file, newest wins, in windows of kWindowBytes.
//
// Memory: at most 64 bytes per undrained record while they are sorted, 32 afterwards, and one window. The
// data is read where it lies, in the mapped segments.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "drain/target.h"
#include "recover/scan.h"

namespace pmio {

// Called after each window: bytes written to the file since the last call.
using ReplayProgress = std::function<void(uint64_t bytes)>;

// Order of the records: stamp, then segment (file.segments is in that order), then position. On return the
// bytes are written, not synced. An error leaves part of them written; the call can be repeated.
// consistent: what lies behind the cut is left out.
Status replay(const FileInfo& file, TargetFile& target, bool consistent, const ReplayProgress& progress);

}  // namespace pmio
