// Brings what dead jobs left in their logs into the files that they wrote.
//
// The order for each file is: replay, fdatasync, the ledger marks all of it drained, segments are removed,
// the ledger is removed. So recovery may be killed at any moment and repeated. Before the mark a repetition
// writes the same bytes again, after it nothing. Logs of several jobs for one file are replayed oldest job
// first, and none after one that had to be kept. Damaged segments are kept, and the rest of their file's log
// goes; records before the damage are replayed. evidence.h tells damage from a torn tail. If a segment cannot
// be read now, but perhaps another time or by another pmio, the whole job waits for that.
//
// With `consistent` nothing of a log is marked or removed while a part of it is left out. A later recovery
// must replay all of it in order, or older bytes would come over newer ones.
//
// If the ranks of a file were on several nodes, only this node's log is replayed (spanning.h).
//
// A job that runs is left alone. A file is only written if it is still the recorded one (device, inode and,
// if known, birth time). And it must be as its job left it (size and time of modification), or force is
// given.
//
// Threads and processes: any number may call; one at a time works (directory.h), and the others wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "medium/medium.h"
#include "recover/journal.h"
#include "recover/scan.h"

namespace pmio {

enum class RecoverStep { window, synced, marked, removed };

struct RecoverProgress {
  RecoverStep step;
  const FileInfo* file;
  uint64_t done_bytes;   // written to this file
  uint64_t total_bytes;  // logged for it; overwritten bytes count, so done may end below
};

struct RecoverOptions {
  std::string directory;
  std::string path = {};    // only this file, under whatever name; empty: all
  bool force = false;       // write over what somebody else has changed since
  bool lost_nodes = false;  // with path: logs that other nodes have not brought in are lost
  bool consistent = false;  // up to the cut (cut.h); what lies behind it stays in the log
  bool dry_run = false;     // look, change nothing; locks nothing for longer than a moment
  // With path: a copy of the file is made here, where no file may be, and gets what the logs hold. The file
  // itself and its logs stay as they are: so nothing is refused because somebody has changed the file.
  std::string to = {};
  std::chrono::milliseconds wait{0};  // at most, for jobs of the directory to end
  std::function<void(const RecoverProgress&)> progress = {};
  std::function<void()> waiting = {};   // called once if another recovery has to end first
  MediumOpener open_log = open_medium;  // for the directories of jobs
};

enum class FileResult {
  restored,   // or, in a dry run, would be
  cut,        // restored up to the cut; the whole log stays, so that a later recovery can do the rest
  clean,      // everything was in the file already
  discarded,  // the program deleted the file; its log is gone now too
  kept,       // refused or failed, see message; its log is untouched
};
const char* file_result_name(FileResult result);

struct DamagedSegment {
  std::string path;
  uint32_t rank = 0;
  bool lost = false;  // nothing of it can be read
  Damage damage;
};

struct FileOutcome {
  std::string path;  // where it was restored to, or the recorded one
  FileResult result = FileResult::kept;
  uint64_t records = 0, bytes = 0;      // undrained ones found
  std::vector<uint32_t> ranks;          // that have records in the log
  Span span = kThisNode;                // FileInfo::nodes; or not known
  Cut cut;                              // but for `behind`
  std::vector<LostSegment> gone;        // FileInfo::gone_segments
  bool misses_ranks = false;            // FileInfo::misses_ranks
  std::vector<DamagedSegment> damaged;  // hold records that were acknowledged and are lost; kept
  std::string message;                  // why kept
  std::string note;                     // what else there is to know
  // Its ranks were on so many nodes, each with a log of its own. The logs of `waits_for` are not in the file
  // yet.
  uint32_t nodes = 1;
  std::vector<Journal::WaitedFor> waits_for;
};

struct JobOutcome {
  uint64_t id = 0;
  std::string directory;
  JobState state = JobState::unknown;
  uint32_t ranks = 0;
  std::vector<FileOutcome> files;       // of a running job: empty
  std::vector<std::string> unreadable;  // segments that tell no file, with the reason; kept
  std::string readable_later;           // one of these that is so by another pmio, or another time
  uint64_t running_bytes = 0;           // not yet drained by a running job
  uint64_t lagging_bytes = 0;           // of these, of files that it has closed, and is completing
  bool removed = false;                 // its directory is gone
};

// The recovery of the file that was asked for, which other nodes have begun (unfinished.h).
struct UnfinishedRecovery {
  std::string path;   // of the file
  uint64_t job = 0;   // without the number of the node
  uint64_t base = 0;  // Journal::base, a CallStamp
  std::vector<Journal::WaitedFor> waits_for;
  bool given_up = false;     // nobody is waited for any more
  std::string refused = {};  // why nothing but the job is known: it is somebody else's
};

struct RecoverReport {
  bool consistent = false;  // was asked for
  bool copied = false;      // RecoverOptions::to is there
  std::vector<JobOutcome> jobs;
  std::vector<UnfinishedRecovery> unfinished;  // but for those of `jobs`
  // Whether nothing that a user might miss is left behind in the logs.
  bool complete() const;
  // Whether nothing is kept, refused or damaged here: whatever is missing is in the logs of other nodes.
  bool complete_here() const;
};

// An error concerns the directory as a whole. What went wrong with a file is in that file's outcome.
Result<RecoverReport> recover(const RecoverOptions& options);

// Before a file is opened for logging: replays what dead jobs left for it. So no later recovery can write
// older bytes over newer ones. identity: of the file; path: one that leads to it; own_job: the caller's, not
// looked at. Quick where nothing is pending (one short read per segment of other jobs). Not ok: something is
// pending and could not be brought in; a write to the file now may be overwritten by a later recovery. The
// message says what to do. running, if given: a line for the user about each other job that still runs and
// has bytes of the file in its log. Nobody else sees these before it drains them.
Status recover_pending(const std::string& directory, const FileIdentity& identity, const std::string& path,
                       uint64_t own_job, std::vector<std::string>* running = nullptr);
// Whether there may be anything for recover_pending to look at.
bool has_other_jobs(const std::string& directory, uint64_t own_job);

}  // namespace pmio
