// What a process is given when it joins a job on its node.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "medium/medium.h"

namespace pmio {

// What the processes of a job must have in common, so that they see each other's logs and know who lives.
struct JobPlace {
  uint64_t device = 0, inode = 0;  // of a file in the job's directory
  uint64_t processes = 0;          // which process numbers mean the same
  bool operator==(const JobPlace&) const = default;
};

// What the job's processes on this node know together of a log whose directory has been removed.
struct SharedLoss {
  std::atomic<uint32_t> known;  // 1: one has found that out
  std::atomic<uint32_t> dirty;  // so many of them may have something in the log that is in no file
};

// Contiguous pieces of at least so many bytes go straight to the file (node/large_pieces.h).
struct DirectFrom {
  uint64_t warm = UINT64_MAX;  // if the log has room whose memory was touched before, or is of huge pages
  uint64_t cold = UINT64_MAX;  // if it has not: each page of it would be cleared first; or has no room
  bool unless_hidden = false;  // none if it is warm, and the program's pauses hide the drain (node/pauses.h)
  bool operator==(const DirectFrom&) const = default;
};
// Measured: docs/decisions/0025-large-pieces.md.
constexpr DirectFrom kDirectFrom{32 << 10, 8 << 10, true};
// The same of a file that is memory itself: what the log takes is touched, and cleared, twice.
constexpr DirectFrom kDirectFromInMemory{32 << 10, 2 << 10, true};
// The same of a file that nobody waits for when it is closed: what a warm log takes costs the program less.
constexpr DirectFrom kDirectFromInBackground{UINT64_MAX, 32 << 10};

constexpr uint64_t kDefaultMaxAgeNs = 2'000'000'000;

struct JobOptions {
  std::string directory;               // the log directory (not the job's own)
  uint64_t id = 0;                     // the same in all processes of the job
  uint32_t rank = 0;                   // world rank; of those on this node, whose ranks share the id
  uint32_t ranks = 1;                  // of the job
  uint32_t ranks_here = 0;             // of them on this node; 0: all
  std::vector<uint32_t> of_node = {};  // which these are, ascending; empty: the lowest
  uint64_t capacity_bytes = 0;  // of this rank's log; 0: choose (default_capacity); else at most so much
  uint64_t index_bytes =
      256 << 20;  // bound of a file's runs in DRAM; beyond it they are placed on the log medium
  bool threads_at_once = false;  // of some rank: their calls come in no order that all ranks know
  Durability durability = Durability::none;
  bool background = true;  // drain while the program does something else
  // By the background thread: what has been in the log for so long, while the program goes on writing; 0: not
  // for its age.
  uint64_t max_age_ns = kDefaultMaxAgeNs;
  bool keep_closed = true;              // files may rest after a close (span/resting.cpp)
  MediumOpener open_log = open_medium;  // for the job's own directory
  // Asked when the job's directory is there; an error is join's. Empty: any place will do.
  std::function<Status(const JobPlace&)> suits = {};
  // For what the user should hear; by any thread. Empty: nobody does.
  std::function<void(const std::string&)> say = {};
  // Rendezvous::files_logged; outlives the job. nullptr: nobody counts.
  std::atomic<uint64_t>* files_logged = nullptr;
  std::atomic<uint64_t>* files_lagging = nullptr;  // Rendezvous::files_lagging, likewise
  // Rendezvous::files_handed_on, likewise; nullptr: some may be.
  std::atomic<uint64_t>* files_handed_on = nullptr;
  SharedLoss* loss = nullptr;                    // Rendezvous::loss, likewise
  std::atomic<uint64_t>* logs_in_use = nullptr;  // Rendezvous::logs_in_use, likewise
};

}  // namespace pmio
