// What a program did without pmio, as a file of JSON: what share/pmio/from_darshan.py makes of a Darshan log.
//
// {"format": "pmio-record-1", "program": "app", "ranks": 64, "nodes": 2, "wall_s": 120.5, "io_s": 40.2,
//  "files": [{"path": "/out", "writers": 64, "opens": 1, "calls": 4096, "bytes": 1e9, "write_s": 38.0}]}
//
// calls are of the rank that wrote most often, bytes of all ranks, write_s and io_s of the slowest rank.
#pragma once

#include <string>
#include <string_view>

#include "advise/record.h"
#include "base/status.h"

namespace pmio::cli {

struct ProgramRecord {
  std::string program;
  advise::JobRecord job;
};

// corrupt: it is no such record; the message says where and why.
Result<ProgramRecord> parse_record(std::string_view text);
// "-": standard input. io: it cannot be read.
Result<ProgramRecord> load_record(const std::string& path);

}  // namespace pmio::cli
