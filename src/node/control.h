// What the local processes of a job share about one open file, in a mapped file of the job's directory.
// Volatile: it dies with the job. Recovery restores nothing by it. But if the machine has not been started
// anew since, it tells recovery how much was acknowledged. So damage is not taken for a torn tail.
//
// Who may touch what:
//   RankCell::appended, logged_end, truncations, opens, the owner's fields of SegmentCell:
//     only the rank itself, with release stores. So a write touches no cache line that another rank writes.
//   SegmentCell::merged, FileControl::run_tables: the holder of index_mutex.
//   SegmentCell::drained, the ledger: the holder of drain_mutex (and of index_mutex while storing).
//   Round: claim_mutex. Lock order: drain_mutex, helping, index_mutex, claim_mutex;
//     out of it by try_lock only.
//   RankCell::helping: whoever writes windows of a round that another thread leads.
//     It holds one of its rank's from before it looks at the round until its last write is done. So a leader
//     knows when nobody writes any more, whoever died.
//   horizon, stale: the holder of index_mutex.
// What becomes visible in which order: an owner stores data and records, then `published`, then `appended`.
// Both are stored with release. Whoever reads one of them with acquire sees the records. A cell is attached
// by storing `salt` last. It is detached under index_mutex after `floor` has been raised to its max_stamp.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/robust_lock.h"
#include "base/status.h"
#include "job/pool.h"
#include "log/format.h"
#include "log/target_mark.h"
#include "medium/medium.h"
#include "node/leases.h"
#include "node/remote_syncs.h"
#include "node/writes_to_sync.h"

namespace pmio {

constexpr uint32_t kMaxRuns = 64;
constexpr uint64_t kNothingLogged = UINT64_MAX;
constexpr uint64_t kNoSharedReads = UINT64_MAX;  // there is no memory for it
constexpr uint32_t kMaxServers = 64;
constexpr uint32_t kMaxStale = 256;
constexpr uint32_t kMostLayoutWords = 64;
constexpr uint32_t kMaxHelpers = 2;  // threads of one rank
// RankCell::attached.
constexpr uint32_t kAttached = 1;  // the rank has the file open, or looks at it
constexpr uint32_t kLags = 2;      // it has closed the file, and something may not be drained yet
constexpr uint64_t kControlMagic = 0x474c5443494f4d50;  // "PMIOCTLG"

struct alignas(64) SegmentCell {    // a line each: a write touches the one of its segment
  std::atomic<uint64_t> salt;       // 0: not in use
  std::atomic<uint64_t> max_stamp;  // of the published records; ns
  std::atomic<uint32_t> slot;       // which of the rank's segments
  std::atomic<uint32_t> published;  // records that others may read
  std::atomic<uint32_t> sealed;     // 1: nothing more will be appended
  std::atomic<uint32_t> merged;     // records that are in runs
  std::atomic<uint32_t> drained;    // records that are in the target
  // 1 once a published record begins before the end of the one before it: the records are then no sorted
  // array. Stored before `published`.
  std::atomic<uint32_t> unordered;
  // All records lie in file bytes [begin, end); nothing yet: [kNothingLogged, 0). Stored before `published`.
  std::atomic<uint64_t> begin;
  std::atomic<uint64_t> end;
  std::atomic<uint64_t> first;  // RankCell::appended when the segment was taken
};
static_assert(sizeof(SegmentCell) == 64);

// An open of the file on this rank, and how far its collective write calls have come (OpenEntry).
struct OpenCell {
  std::atomic<uint64_t> number;
  std::atomic<uint32_t> ranks;  // 0: not in use; stored last
  std::atomic<uint32_t> rank;
  std::atomic<uint64_t> progress;
  // Of the last call that has a piece in the file for which there is no record, as progress_of; 0: of none.
  std::atomic<uint64_t> straight;
};
static_assert(sizeof(OpenCell) == 32);

// OpenCell::progress: calls finished, and whether something was logged behind the last of these.
constexpr uint64_t progress_of(uint32_t calls, bool later) { return uint64_t{calls} << 1 | (later ? 1 : 0); }
constexpr uint32_t progress_calls(uint64_t progress) { return static_cast<uint32_t>(progress >> 1); }
constexpr bool progress_later(uint64_t progress) { return (progress & 1) != 0; }

// What different processes write lies on different cache lines.
struct alignas(64) RankCell {      // NOLINT(clang-analyzer-optin.performance.Padding)
  uint32_t rank;                   // of MPI_COMM_WORLD; set when the control block is made
  std::atomic<uint64_t> appended;  // records published since the control block was made
  // End of the last byte of the file that has been logged, 0: none. What was in the target when it was
  // truncated does not count, for as many truncations as `truncations` says: if these are not all, what the
  // rank has not drained yet has to be looked through (LoggedEnd::bytes).
  std::atomic<uint64_t> logged_end;
  std::atomic<uint32_t> attached;  // kAttached or kLags, 0: neither
  std::atomic<int32_t> process;    // pid, to see whether it lives
  std::atomic<uint32_t> cells;     // cells [0, cells) may be in use
  // If ranks are on several nodes. logging: odd while it logs an independent write, from before it takes the
  // stamp until the record is published. begun, completed: collective write calls.
  std::atomic<uint32_t> logging;
  std::atomic<uint64_t> begun;
  std::atomic<uint64_t> completed;
  // The same: while it reads the target, changes_seen and one more; else 0 (Spanning::begin_reading_target).
  std::atomic<uint64_t> reading;
  std::atomic<uint64_t> truncations;  // those that logged_end knows of; stored behind it
  // So many of `appended`, from the first on, are in the target, and in runs (count_records).
  alignas(64) std::atomic<uint64_t> drained_records;
  std::atomic<uint64_t> merged_records;
  std::atomic<int32_t> copies;  // LogCopies::descriptor in the rank's process, and 1; 0: it has made none
  SegmentCell segments[kMaxSegments];
  alignas(64) OpenCell opens[kMaxOpens];  // only the rank itself
  RobustMutex helping[kMaxHelpers];
  bool died() const;  // while it had the file open
};

enum RunFlags : uint32_t { kRunDrained = 1, kRunDraining = 2, kRunOnMedium = 4 };

struct RunRef {
  uint64_t number;  // names the file run-<key>-<number>
  uint64_t entries;
  uint64_t begin, end;
  uint64_t max_stamp;
  uint32_t flags;
  uint32_t reserved;
};

struct RunTable {
  uint64_t bytes_dram;  // of runs that are not on the log medium
  uint32_t count;
  RunRef runs[kMaxRuns];
};

// A window of the file (its number: offset / kWindowBytes) in which another node has written: drained records
// with a stamp <= stamp are not served there.
struct StaleWindow {
  std::atomic<uint64_t> number;
  std::atomic<uint64_t> stamp;
};

// One drain round: what is written out, and what of it nobody has claimed yet.
struct Round {
  std::atomic<uint64_t> number;  // of the last round begun
  std::atomic<uint32_t> active;  // 1 while windows may be claimed
  uint32_t in_flight;            // windows claimed and not yet written
  // 1: the leader has entries that others cannot see, nobody may help. Changed with index_mutex held too.
  uint32_t exclusive;
  std::atomic<int32_t> error;  // first errno of this round
  uint32_t run_count;
  uint64_t runs[kMaxRuns];
  uint64_t cursor[kMaxServers];  // next unclaimed byte per I/O server; UINT64_MAX: none left
};

// Pieces that go straight to the target, although the log has room (node/large_pieces.h), and what they mean
// for a round and for the mark.
struct LargeWrites {
  // 1 before the first one: a round that begins later never reads what lies between its own pieces and writes
  // it again.
  std::atomic<uint32_t> any;
  // 1 while the mark tells the target's state. Set by the holder of drain_mutex before it looks at `begun`; a
  // writer looks at it after it has raised `begun`, and takes the state back first.
  std::atomic<uint32_t> state_is_told;
  std::atomic<uint64_t> begun, ended;  // they differ for ever if a process has died in between
};

// What the logs of this node's ranks hold of some bytes of the file.
enum class Held { nothing, drained, undrained };

struct FileControl {
  uint64_t magic;
  BootId boot;  // where it was made
  FileIdentity target;
  uint32_t seats;               // ranks of the job that are on this node: each has the cell of its seat
  uint32_t job_ranks;           // in all
  std::atomic<uint32_t> users;  // processes attached; changes under the job's directory lock
  // File objects that look at it, also such as are just going. 0: nobody does.
  std::atomic<uint32_t> holders;
  // Under the job's directory lock. spare: 1: nobody uses the file, and this is kept for the next one
  // (node/spares.h). retired: 1: its name, and those of what belongs to it, are gone, or another file's.
  std::atomic<uint32_t> spare;
  std::atomic<uint32_t> retired;
  // 1: somebody who is not of the job has written the file while it was open. The holder of drain_mutex.
  std::atomic<uint32_t> foreign;
  uint32_t span;  // Span; of a file of several nodes stamps are calls, else they are times
  // 1: others have opened the file without those of its span (node/contest.h). Never 0 again.
  std::atomic<uint32_t> contested;
  // The layout, packed; 0 words: in a file of its own.
  uint32_t layout_words;
  uint64_t layout[kMostLayoutWords];
  RobustMutex drain_mutex;
  RobustMutex index_mutex;
  RobustMutex claim_mutex;
  std::atomic<uint64_t> floor;  // drained records with a stamp <= floor are not served from the log any more
  // Records with a later stamp may be neither merged nor drained yet: other nodes may hold older ones.
  // UINT64_MAX where all ranks are on one node, and stamps are times.
  std::atomic<uint64_t> horizon;
  // 1 from the moment that a round's records count as drained here until they do so on all nodes. Meanwhile
  // no segment may be reused, and who asks is told that they are not drained.
  std::atomic<uint32_t> closing;
  // 1 once a handle that is handed on was about to write the target. It may do so during any round, which
  // must not read what lies between its own pieces and write it again.
  std::atomic<uint32_t> written_aside;
  LargeWrites large_writes;
  // Of the file, but for what has been logged or written through since; UINT64_MAX: only the file system
  // knows, and its clients may be behind each other.
  std::atomic<uint64_t> known_size;
  // How often the target has been truncated. On a cache line that is seldom written, for every write looks at
  // it.
  alignas(64) std::atomic<uint64_t> truncations;
  std::atomic<uint32_t> log_is_lost;  // 1: some rank has found its names gone (node/lost_log.h)
  // If ranks are on several nodes:
  //   foreign_writes: how often another node has asked before it wrote past the log, or somebody has written
  //     without asking, or changed the size. At a sync that may have happened, and counts, too. Whoever hears
  //     of it counts it. It must not wait for those that make use of it, who may just be asking another node.
  //   foreign_leases: how often another node has asked before it logged independent writes.
  //   clock: of the stamps (log/call_stamp.h). Whoever hears of a later one raises it.
  //   settled_questions: how often some node has asked whether all ranks have come equally far, to rely on it
  //     until it is told (Spanning::unsettle). Counted before this node's ranks are looked at.
  //   settled_ended: no node relies on what so many questions have told, any more.
  alignas(64) WritesToSync writes_to_sync;
  Leases leases;
  std::atomic<uint64_t> foreign_writes;
  std::atomic<uint64_t> foreign_leases;
  std::atomic<uint64_t> writes_past_log;  // by ranks of this node; counted behind each
  // Of the memory by which the node's ranks read for each other (span/shared_reads.h); 0: nobody has made it.
  // index_mutex.
  std::atomic<uint64_t> shared_reads;
  RemoteSyncs remote_syncs;
  std::atomic<uint64_t> clock;
  std::atomic<uint64_t> settled_questions;
  std::atomic<uint64_t> settled_ended;
  RobustMutex settled_mutex;  // out of the lock order: taken with no other one held
  std::atomic<uint32_t> stale_count;
  StaleWindow stale[kMaxStale];
  std::atomic<uint64_t> ledger_updates;           // that have become durable
  std::atomic<uint64_t> ledger_updates_inverted;  // ~ledger_updates: recovery believes them where both agree
  // The cells and the runs say what the ledger said when it had been updated so often. Behind ledger_updates
  // only while somebody who holds index_mutex is at it, or has died at it (Drainer::count_last_round).
  std::atomic<uint64_t> updates_counted;
  std::atomic<uint64_t> evictions;     // counts detached segments; raised before their bytes may change
  std::atomic<uint32_t> index_used;    // 1 once somebody has read: drained runs are then worth keeping
  std::atomic<uint64_t> runs_version;  // which table counts: run_table
  std::atomic<uint32_t> drain_wanted;  // a process that cannot write asks those that can
  std::atomic<int32_t> error;          // errno of the last failed drain, 0 after a successful one
  std::atomic<uint64_t> error_number;  // counts failures, so that each process reports each once
  uint64_t next_run;
  RunTable run_tables[2];
  Round round;
  RankCell cells[];  // by seat, in the order of the ranks
};

size_t control_bytes(uint32_t seats);
// Initialises memory that is zeroed, or what somebody who died has left of that. ranks: that are on this
// node, ascending.
void init_control(FileControl* control, std::span<const uint32_t> ranks, uint32_t job_ranks,
                  const FileIdentity& target = {});
// The seat of a rank; nothing: it is not on this node.
std::optional<uint32_t> seat_of(const FileControl& control, uint32_t rank);

// "<device>-<inode>" in hexadecimal: how a file is named inside the job's directory.
std::string file_key(const FileIdentity& identity);
// Segment number of Entry: the rank's seat, and the index of the cell.
constexpr uint32_t segment_number(uint32_t seat, uint32_t cell) { return seat * kMaxSegments + cell; }
constexpr uint32_t segment_seat(uint32_t number) { return number / kMaxSegments; }
constexpr uint32_t segment_cell(uint32_t number) { return number % kMaxSegments; }
constexpr uint32_t kMaxSeats = UINT32_MAX / kMaxSegments + 1;  // that these can tell apart

inline RunTable& run_table(FileControl& control) PMIO_REQUIRES(control.index_mutex) {
  return control.run_tables[control.runs_version.load(std::memory_order_relaxed) % 2];
}
// Changes the table of runs at once: edit the copy, then show it. Who dies in between has changed nothing.
RunTable& copy_runs(FileControl& control) PMIO_REQUIRES(control.index_mutex);
void show_runs(FileControl& control) PMIO_REQUIRES(control.index_mutex);

// Makes RankCell::drained_records and merged_records what the cells say, whatever somebody who has died has
// made of them.
void count_records(FileControl& control) PMIO_REQUIRES(control.index_mutex);

// Some rank has closed it, and something may not be drained yet.
bool lags(const FileControl& control);

// Recovery would find something in the log. Nobody uses the file any more.
bool has_undrained(const FileControl& control);

// What the ranks' logs hold of [a, b), as far as their cells tell: never less than they hold.
Held held_by_cells(const FileControl& control, uint64_t a, uint64_t b);

// No record that has been drained so far has a later stamp.
uint64_t newest_drained(const FileControl& control);
// No drained record with a stamp <= stamp is served any more.
void stop_serving_upto(FileControl& control, uint64_t stamp) PMIO_REQUIRES(control.index_mutex);
// Nothing that has been drained so far is served any more.
void stop_serving_all(FileControl& control) PMIO_REQUIRES(control.index_mutex);
// Drained records with a stamp <= stamp are not served from the window any more.
void stop_serving_window(FileControl& control, uint64_t number, uint64_t stamp)
    PMIO_REQUIRES(control.index_mutex);
// Up to which stamp drained records of [a, b) are not served: the floor, or what stop_serving_window has made
// of it.
uint64_t unserved_stamp(const FileControl& control, uint64_t a, uint64_t b);
// The same of that of their windows where the most is served.
uint64_t unserved_stamp_throughout(const FileControl& control, uint64_t a, uint64_t b);

}  // namespace pmio
