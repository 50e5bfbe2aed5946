// The consistent cut of a file: the last collective write call that all ranks have finished. And what of the
// log, and of the file, lies behind it.
//
// Every open of a file (MPI_File_open) has a cut of its own, because every handle counts its calls from 1.
// Call N is complete when each rank of the open has finished it. A rank that gave it no byte has noted that
// in the open table (log/format.h). An open that is closed is complete, and has no cut. Behind the cut lie
// the records of later calls, and independent writes that their rank began after it had finished call N. An
// open without collective write calls has no cut: nothing of it lies behind.
//
// It trusts what the scan has validated. Threads: values.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "extent/pattern.h"

namespace pmio {

struct FileInfo;

constexpr uint64_t kUnknownOpen = UINT64_MAX;  // of records that an older pmio wrote

// A rank of an open that has no log of the file here. Nothing tells which bytes it wrote.
struct MissingRank {
  enum class Reason {
    no_files,      // none of its segments is there at all, and every rank that opens a file has one: lost
    segment_gone,  // the ledger or the control block names segments of it that are not there: lost
    unknown,       // it had made no call yet, or its space was used again, or its log is lost
  };
  uint32_t rank;  // in MPI_COMM_WORLD if of_world, else in the communicator of the open
  bool of_world;
  Reason reason;
};

struct OpenCut {
  uint64_t open = kUnknownOpen;      // number within the job
  uint32_t ranks = 0;                // of its communicator; 0: not known
  uint32_t complete = 0;             // the last collective write call that all ranks have finished; 0: none
  uint32_t latest = 0;               // the last call that any rank is known to have begun
  std::vector<MissingRank> missing;  // if any, nothing counts as complete; at most kMostMissing
};
constexpr size_t kMostMissing = 1024;

struct Cut {
  std::vector<OpenCut> opens;                 // those with collective write calls, ascending
  std::vector<std::vector<bool>> behind;      // [segment][record]
  uint64_t left_records = 0, left_bytes = 0;  // behind the cut, and only in the log
  std::vector<Vector> in_file;                // behind the cut, and drained: cannot be undone
  std::vector<Vector> perhaps_in_file;        // likewise, if a drain that was under way got there
  std::set<uint32_t> untold;  // ranks of which more may be in the file from behind the cut; no record tells

  uint32_t complete_call() const { return opens.empty() ? 0 : opens.back().complete; }
  // Whether the file is known to have the state of the cut, or to be able to get it.
  bool reached() const;
};

// What the job's other files tell.
struct CutContext {
  uint32_t world = 0;                  // ranks of the job
  std::set<uint32_t> here;             // of them on this node, if there are others; empty: all
  std::set<uint32_t> with_segments;    // of which any segment is there, whatever it holds
  std::set<uint32_t> with_unreadable;  // of which one is there that does not tell what it is
};

Cut find_cut(const FileInfo& file, const CutContext& context);

}  // namespace pmio
