// The shared index of one file: runs of entries (drain/run.h) in mapped files, listed in FileControl. The
// merge of the drain and the search of the reads are the same thing, so a program that never reads pays for
// no index.
//
// Until `index_bytes` the runs of a file lie in DRAM; beyond it the largest ones move to the log medium.
// Threads: functions named *_locked need FileControl::index_mutex held by the caller, and check it; refresh
// and find are for one thread of the process at a time, the others for any.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "drain/run.h"
#include "node/control.h"
#include "node/segment_map.h"
#include "stats/counters.h"

namespace pmio {

class FileIndex {
 public:
  struct Places {
    Medium* dram;     // where runs go first
    Medium* log;      // where they go beyond the bound
    std::string key;  // file_key
    uint64_t dram_bytes;
  };
  FileIndex(FileControl* control, SegmentMap* map, Places places, Counters* counters)
      : control_(control), map_(map), places_(std::move(places)), counters_(counters) {}

  // How many records of a cell are merged once some entries have found their place.
  struct Mark {
    uint32_t seat;
    uint32_t cell;
    uint32_t merged;
  };
  // Entries for which no run could be made, or that are too few for one, and the marks that are due when they
  // are in the target.
  struct Leftover {
    std::vector<Entry> entries;
    std::vector<Mark> marks;
  };
  // Puts every published record into runs, up to FileControl::horizon and up to a stamp. Where no run can be
  // made (medium full, run table full): with `leftover` the entries go there, without it the reason is
  // returned; in both cases they stay unmerged. Without it, nothing is merged while a round with a leftover
  // goes on.
  Status merge_locked(Leftover* leftover, uint64_t upto);
  void apply_marks_locked(const std::vector<Mark>& marks, size_t records);
  // Drops runs that nobody may read any more and merges small ones.
  void tidy_locked();
  void remove_run_locked(uint32_t position);
  // Removes the files of all runs: the last user is leaving.
  void remove_all_locked();

  // The names of runs are gone. What they hold is taken from the segments again, as far as it is not drained,
  // and from the target. drain_mutex held, too.
  void forget_runs_locked();

  // Records that are published and not in runs yet.
  uint64_t unmerged() const;
  // Appends the unmerged records that cross [a, b). Call before refresh, so that none is missed in between.
  Status scan_unmerged(uint64_t a, uint64_t b, std::vector<Entry>* found);
  // The end of the last byte that a rank has published and that is not in the target yet; 0: of none. It is
  // not looked for beyond one that is `enough`.
  uint64_t undrained_end(uint32_t seat, uint64_t enough = UINT64_MAX) const;
  // Whether to merge first costs no more than the calls of scan_unmerged, one after each of this, since it
  // was last true. What a rank wrote in ascending order is searched, not scanned.
  bool merge_is_due();
  // Takes note of the runs that are there now. Call before find.
  Status refresh();
  // Appends the entries that cross [a, b), but for drained ones at or below floor. False, and not all of
  // them, where a run has more than `most`.
  enum class Which { all, drained, undrained };
  bool find(uint64_t a, uint64_t b, uint64_t floor, size_t most, std::vector<Entry>* found,
            Which which = Which::all);

  struct Mapping {
    std::unique_ptr<Region> region;
    RunView view;
    size_t hint = 0;
  };
  // Maps runs by number, for a drain round.
  Result<std::vector<std::shared_ptr<Mapping>>> open_runs(std::span<const uint64_t> numbers);

 private:
  bool needs_no_run(const std::vector<Entry>& entries) const;
  Status flush_locked(std::vector<Entry>& entries, std::vector<Mark>& marks, Leftover* leftover)
      PMIO_REQUIRES(control_->index_mutex);
  Status add_run_locked(std::vector<Entry>& entries, uint32_t flags) PMIO_REQUIRES(control_->index_mutex);
  Result<std::shared_ptr<Mapping>> open_run(uint64_t number);
  std::string run_name(uint64_t number) const;
  Result<std::unique_ptr<Region>> create_run_locked(uint64_t number, size_t bytes, uint32_t* flags)
      PMIO_REQUIRES(control_->index_mutex);
  void remove_name(const RunRef& ref);
  void remove_unserved_locked() PMIO_REQUIRES(control_->index_mutex);
  void spill_locked(size_t bytes) PMIO_REQUIRES(control_->index_mutex);
  bool compact_locked(uint32_t drained) PMIO_REQUIRES(control_->index_mutex);

  FileControl* control_;
  SegmentMap* map_;
  Places places_;
  Counters* counters_;

  struct Listed {
    RunRef ref;
    std::shared_ptr<Mapping> mapping;
  };
  // Where the last search of a cell ended, by rank and cell.
  std::vector<uint32_t> unmerged_hints_;
  // Records and cells since a merge was due.
  uint64_t scanned_ = 0, searched_ = 0;
  // This process's picture of the run table.
  uint64_t seen_version_ = 0;
  std::vector<Listed> listed_;
};

}  // namespace pmio
