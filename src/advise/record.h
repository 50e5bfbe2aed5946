// What a job did, as the advice looks at it: the numbers of its statistics that say where the time went.
//
// All times are of one rank, the one that waited longest for its I/O. Units are in the names; a job that did
// none of something has 0 there. Threads: values.
#pragma once

#include <string>
#include <vector>

namespace pmio::advise {

// By which way a file's bytes went.
enum class Way { log, independent, two_phase, library };

struct FileRecord {
  std::string path;
  Way way = Way::library;
  std::string reason;        // if it was not logged: why, in the words of the statistics
  std::string direct_from;   // pmio_direct_from in force; empty: not known
  double writers = 0;        // ranks that wrote
  double opens = 0;          // of the rank that wrote most often
  double calls = 0;          // that wrote, of that rank
  double bytes = 0;          // written by all ranks
  double write_seconds = 0;  // in these calls, of the rank that was longest in them

  // Of a rank, in a call, on average; 0: nothing was written.
  double call_bytes() const { return writers * calls > 0 ? bytes / (writers * calls) : 0; }
};

// A stretch of the run. What the rank did in it, one after the other: a close, computing, writing, a close.
struct Step {
  double compute_seconds = 0;
  double write_seconds = 0;  // of bytes, without waiting
  double bytes = 0;          // that it logged
  bool closes_first = false, closes_last = false;
};

struct JobRecord {
  double ranks = 1;
  double nodes = 1;
  double wall_seconds = 0;  // from MPI_Init to the end
  // Phases of logged files; they do not overlap.
  double open_seconds = 0;
  double write_seconds = 0;  // to the log or past it, without waiting for room
  double wait_seconds = 0;   // for room in the log
  double read_seconds = 0;
  double sync_seconds = 0;
  double close_seconds = 0;
  double straight_seconds = 0;  // writes and reads of files without a log
  // The log.
  std::string medium;           // "tmpfs", "disk", "dax", "pmem"; empty: nothing was logged
  bool has_huge_pages = false;  // the log's memory
  double appended_bytes = 0;    // of the rank that logged most
  double append_records = 0;    // of the same rank
  double append_calls = 0;
  double capacity_bytes = 0;  // of a rank's log
  double touched_bytes = 0;   // of a node's logs, at most in use at the same time
  double drain_bytes = 0;     // of a node
  double drain_seconds = 0;   // in which they were drained
  double sync_calls = 0;
  double logged_opens = 0;  // of logged files, by one rank
  // Settings in force.
  bool closes_in_background = false;
  bool drains_in_background = true;
  bool flushes_each_write = false;  // pmio_durability=always
  bool syncs_log = false;           // sync or always: it outlives a power failure if it is on a disk
  std::vector<FileRecord> files;
  std::vector<Step> steps;  // the whole run

  // What the program waited for its I/O.
  double io_seconds() const {
    return open_seconds + write_seconds + wait_seconds + read_seconds + sync_seconds + close_seconds +
           straight_seconds;
  }
  // The rest of the run: computing, messages.
  double compute_seconds() const { return wall_seconds > io_seconds() ? wall_seconds - io_seconds() : 0; }
  double ranks_of_node() const { return ranks / nodes; }
};

}  // namespace pmio::advise
