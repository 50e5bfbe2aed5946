// What the ranks of an MPI_File_open tell each other in one message, and what follows from it for all of
// them.
//
// Knows no MPI. An agreement is a row of numbers. Of each number the smallest that a rank says counts, so
// that combine is MPI_Allreduce with MPI_MIN. A number of which the largest counts is said negated. Threads:
// values.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace pmio {

// A file that a rank has opened, for the log or to go straight to it.
struct OpenedFile {
  int64_t size_bytes = 0;
  int64_t mark = 0;         // of its identity, not negative; all clients of a file system see it alike
  int64_t file_number = 0;  // Reach::number: 0 or the same on all ranks
  // 0 on one node.
  int64_t last_call = 0;
  int64_t horizon = 0;
  int64_t finished_horizon = 0;
};

// What one rank says.
struct OpenStatement {
  int rank = 0;                    // in the communicator of the open
  int64_t mode = 0;                // a number for each that is not another's
  std::optional<OpenedFile> file;  // nothing: this rank cannot
  bool has_complaint = false;      // the user should hear why not
  bool closes_in_background = false;
  bool can_log = false;      // the file is open for the log
  int64_t open_number = 0;   // of rank 0: tells this open from all others of the job
  int64_t proposed_tag = 0;  // propose_tag
};

class Agreement {
 public:
  // Of nobody: combined with another it changes nothing.
  Agreement() { least_.fill(kNothing); }
  explicit Agreement(const OpenStatement& said) : Agreement() {
    least_[kMode] = said.mode;
    least_[kMinusMode] = -said.mode;
    if (said.has_complaint) least_[kComplains] = said.rank;
    if (said.rank == 0) least_[kOpenNumber] = said.open_number;
    least_[kMinusTag] = -said.proposed_tag;
    if (!said.can_log) least_[kCannotLog] = said.rank;
    if (!said.closes_in_background) least_[kClosesComplete] = said.rank;
    if (!said.file) {
      least_[kCannot] = said.rank;
      return;
    }
    if (said.file->file_number != 0) least_[kFileNumber] = said.file->file_number;
    least_[kMark] = said.file->mark;
    least_[kMinusMark] = -said.file->mark;
    least_[kMinusSize] = -said.file->size_bytes;
    least_[kMinusLastCall] = -said.file->last_call;
    least_[kMinusHorizon] = -said.file->horizon;
    least_[kMinusFinishedHorizon] = -said.file->finished_horizon;
  }

  // Of the ranks of both.
  static Agreement combine(const Agreement& a, const Agreement& b) {
    Agreement both;
    std::transform(a.least_.begin(), a.least_.end(), b.least_.begin(), both.least_.begin(),
                   [](int64_t x, int64_t y) { return std::min(x, y); });
    return both;
  }
  std::span<const int64_t> numbers() const { return least_; }
  std::span<int64_t> numbers() { return least_; }

  // If the message failed on this rank, which then leaves the file to the library.
  void fail(int rank) { least_[kCannot] = rank; }

  bool all_can() const { return least_[kCannot] == kNothing; }
  // Whether all ranks want the same mode.
  bool same_mode() const { return least_[kMode] == -least_[kMinusMode]; }
  // One rank complains for all that have the same reason: the lowest.
  bool complains(int rank) const { return least_[kComplains] == rank; }
  // Whether all ranks want it.
  bool closes_in_background() const { return least_[kClosesComplete] == kNothing; }
  // Whether all ranks have it open for the log.
  bool all_can_log() const { return least_[kCannotLog] == kNothing; }
  // Whether the name leads all ranks to the same file.
  bool same_file() const { return least_[kMark] == -least_[kMinusMark]; }
  int64_t open_number() const { return least_[kOpenNumber]; }
  // What some rank has kept from an open whose close failed; else a new one. By it the other nodes know
  // whether anything of the file may still be drained.
  int64_t file_number() const {
    return least_[kFileNumber] != kNothing ? least_[kFileNumber] : open_number() + 1;
  }
  // The largest of all ranks.
  int64_t tag() const { return largest(kMinusTag); }
  int64_t size_bytes() const { return largest(kMinusSize); }
  int64_t last_call() const { return largest(kMinusLastCall); }
  int64_t horizon() const { return largest(kMinusHorizon); }
  int64_t finished_horizon() const { return largest(kMinusFinishedHorizon); }

 private:
  enum Which {
    kCannot,          // lowest rank
    kComplains,       // lowest rank
    kClosesComplete,  // lowest rank
    kCannotLog,       // lowest rank
    kMode,
    kMinusMode,
    kOpenNumber,
    kFileNumber,
    kMark,
    kMinusMark,
    kMinusTag,
    kMinusSize,
    kMinusLastCall,
    kMinusHorizon,
    kMinusFinishedHorizon,
    kNumbers
  };
  static constexpr int64_t kNothing = INT64_MAX;  // nobody has said it

  // 0: nobody has said it.
  int64_t largest(Which minus) const { return least_[minus] == kNothing ? 0 : -least_[minus]; }

  std::array<int64_t, kNumbers> least_;
};

}  // namespace pmio
