// What is in a log directory: jobs, the files that they wrote, how much is not in the files yet, and what is
// damaged. It changes nothing. Every byte is validated before it is used (log/format.h). Damage is part of
// the result, not an error.
//
// Threads: any; the result belongs to the caller. Segments stay mapped as long as their SegmentInfo lives.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "log/ledger.h"
#include "log/nodes_note.h"
#include "log/segment.h"
#include "recover/cut.h"
#include "recover/directory.h"
#include "recover/evidence.h"

namespace pmio {

enum class JobState {
  running,  // some process of it lives
  dead,
  unknown,  // somebody recovers in this directory right now; ask again later
};

const char* job_state_name(JobState state);

// A segment that holds a log of a file.
struct SegmentInfo {
  std::string name;
  uint32_t rank = 0, slot = 0;
  uint64_t salt = 0;
  uint64_t segment_bytes = 0;
  uint64_t start_ns = 0;              // monotonic clock of its job
  uint32_t records = 0;               // valid ones
  uint32_t drained = 0;               // of records, the first so many are in the file
  uint64_t bytes = 0;                 // data of all valid records
  uint64_t undrained_bytes = 0;       // data of those that are not in the file
  uint32_t last_collective_call = 0;  // the last one that is complete in this segment; 0: none
  std::optional<Damage> damage;       // of a dead job's; a tail that a crash tore is none
  std::shared_ptr<MappedFile> mapping;
  SegmentReader reader;

  uint32_t undrained() const { return records - drained; }
};

// A segment that held acknowledged records which are not in the file, and that says nothing any more.
struct LostSegment {
  std::string name;
  uint32_t rank = 0, slot = 0;
  uint32_t records = 0;
  std::optional<Vector> within = {};  // bytes of the file that they lie in; nullopt: not known
};

// A segment whose header does not validate.
struct UnreadableSegment {
  std::string name;
  Status reason;  // corrupt, unsupported (another version), access, io
};

// A file that a job wrote, as seen from its log.
struct FileInfo {
  FileIdentity target;
  std::vector<std::string> paths;     // under which the ranks opened it, without duplicates
  std::vector<std::string> ledgers;   // names
  bool discarded = false;             // deleted by the program: nothing of it is to be replayed
  bool lags = false;                  // its job runs, has closed it and is completing it
  bool ledger_damaged = false;        // nobody knows what is in the file already
  std::vector<SegmentInfo> segments;  // in the order in which ties between stamps are broken: rank, age
  std::vector<LostSegment> lost_segments;
  // The ledger knows them, and they are not there although some of the log is. `records` says how many of
  // their records are in the file. Nothing tells whether there were more, and where.
  std::vector<LostSegment> gone_segments;
  std::vector<ControlEvidence::Open> control_opens;
  // If the ranks of the file were on several nodes, and this log is one node's:
  std::optional<NodePlace> nodes;
  bool of_nodes = false;        // there is such a note, or was one
  uint64_t ledger_horizon = 0;  // LedgerState::horizon
  bool round_ended = false;     // all nodes are known to have finished that round
  bool recovered = false;       // an earlier recovery has brought all in, and was then interrupted
  bool ledger_exact = false;    // the file has no more of the log than the ledger tells (log/target_mark.h)
  Cut cut;                      // of a running job, only how far it has come

  uint64_t records() const;
  uint64_t undrained_records() const;
  uint64_t undrained_bytes() const;
  // The same; at least 1 as long as it lags and other nodes may have to complete it too.
  uint64_t bytes_to_come() const;
  std::vector<uint32_t> ranks() const;  // that have records here, ascending
  bool damaged() const;                 // some segment is, or is lost
  // Whether some rank's log was there and is gone, as far as anything tells.
  bool misses_ranks() const;
  // paths[0], or the device and inode if no segment tells a path.
  std::string name() const;
};

struct JobInfo {
  uint64_t id = 0;
  std::string name;       // of the directory, "job-<id>"
  std::string directory;  // full path
  JobState state = JobState::unknown;
  uint64_t start_realtime_ns = 0;  // of the oldest segment generation; 0: no segment
  uint32_t ranks = 0;              // size of MPI_COMM_WORLD; 0: no segment
  std::vector<FileInfo> files;
  std::vector<std::string> free_segments;  // formatted for no file
  std::vector<UnreadableSegment> unreadable;
};

// Scans one job, whose state the caller knows. The records of a running job are counted, and its damage is
// not judged. only: if given, segments of other files are skipped after a look at their header.
Result<JobInfo> scan_job(const LogDirectory& directory, const std::string& name, JobState state,
                         const FileIdentity* only = nullptr);

// Scans all jobs, oldest first. A directory that does not exist has none. access: it is not the caller's own
// directory. It may wait a moment for recover.lock (directory.h), and never for a recovery.
Result<std::vector<JobInfo>> scan(const std::string& directory);

// Whether a segment holds no log: it was reserved and never formatted, or it was given back. A segment whose
// header was overwritten by zeros, while records lie behind it, is none of these.
bool is_free_segment(std::span<const std::byte> bytes);

// Names of the job directories in a log directory.
Result<std::vector<std::string>> job_names(const LogDirectory& directory);

}  // namespace pmio
