// Reads a file through the logs of this node's ranks: bytes that are in any log come from there, the rest
// from the target.
//
// A read takes no lock that a writer needs. It notes the count of evictions and the floor, copies, and looks
// again. If a segment was given back meanwhile, what was copied may be another generation's. Then the read is
// repeated.
//
// Threads: any; one reads at a time. Scratch memory per thread would be kept for ever.
#pragma once

#include <memory>
#include <vector>

#include "base/file_buffer.h"
#include "base/mutex.h"
#include "base/prefetch.h"
#include "drain/paint.h"
#include "extent/pattern.h"
#include "node/logged_end.h"
#include "node/reach.h"
#include "node/shared_file.h"
#include "stats/call_timer.h"

namespace pmio {

class LogReader {
 public:
  LogReader(SharedFile& file, Reach& reach, LoggedEnd& logged_end)
      : file_(file), reach_(reach), logged_end_(logged_end) {}

  // File::read. ever_logged: of the file.
  Status read(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got, bool collective,
              bool ever_logged);
  Status read(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes, uint64_t* got,
              bool collective);
  // The size of the file, as far as this node knows, and of all nodes.
  Result<uint64_t> size_bytes_here() const;
  Result<uint64_t> size_bytes();

  // Whether some local rank's log holds bytes of the range that are not in the target. It may say so if the
  // logs change meanwhile.
  Status holds_undrained(const Vector& range, bool* holds);

  // The tally becomes the process's. waits: for a thread that reads.
  void add_up(bool waits);
  struct Calls {
    uint64_t calls = 0, bytes = 0;
  };
  Calls calls();
  // Gives its scratch memory back. Nobody reads.
  void rest();
  // For who looks the index up beside it: FileIndex::refresh and find are one thread's at a time.
  Mutex& mutex() PMIO_RETURN_CAPABILITY(mutex_) { return mutex_; }

 private:
  // Counted under the lock that a read holds anyway.
  struct Tally {
    uint64_t calls = 0, collective = 0, bytes = 0, log_bytes = 0, file_bytes = 0;
    CallTimer timer;
  };
  class ReadCount;
  // What a look-up relies on: no segment is given back, nothing moves below the floor.
  struct Epoch {
    uint64_t evictions = 0, floor = 0, ledger_updates = 0;
    uint64_t begin = 0, end = 0;  // the range that was looked up
    bool complete = true;         // all that there is was found
  };
  void merge_if_due() PMIO_REQUIRES(mutex_);  // merges, if reads have had to look at much
  // After a read. index_full: a merge failed in it.
  Status end_read(bool index_full);
  // Into `entries_`; not all of them if a run has more than `most`.
  Status look_up(uint64_t a, uint64_t b, size_t most, Epoch* epoch) PMIO_REQUIRES(mutex_);
  Status look(uint64_t a, uint64_t b, size_t most, Epoch* epoch) PMIO_REQUIRES(mutex_);
  Result<bool> drain_lost_log();
  bool is_over(const Epoch& epoch) const;  // what was looked up and copied may be wrong
  // At most kWindowBytes. Holes read as zeros.
  Status read_range(uint64_t a, uint64_t b, std::byte* out) PMIO_REQUIRES(mutex_);
  Status try_read(uint64_t a, uint64_t b, std::byte* out, bool* stale) PMIO_REQUIRES(mutex_);
  bool copy_single(uint64_t a, uint64_t b, std::byte* out) PMIO_REQUIRES(mutex_);
  Status read_gaps(uint64_t a, uint64_t b, std::byte* out) PMIO_REQUIRES(mutex_);
  Status fill_gap(const Interval& bytes, std::byte* to, bool sparse, uint64_t* end) PMIO_REQUIRES(mutex_);
  Status read_contiguous(uint64_t offset, std::byte* data, uint64_t bytes) PMIO_REQUIRES(mutex_);
  // Nobody has logged anything: the file alone, whose end need not be looked up.
  Status read_file(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got, bool collective);
  void find_same_shape(const Vector& wanted, const std::byte** data, uint64_t* blocks) PMIO_REQUIRES(mutex_);
  Status read_same_shape(const Vector& wanted, PatternCursor& memory, std::byte* buffer, uint64_t* done)
      PMIO_REQUIRES(mutex_);
  void scatter_batch(PatternCursor& memory, std::byte* buffer, const std::byte* image, int64_t begin,
                     uint64_t bytes) const PMIO_REQUIRES(mutex_);
  Status read_batch(PatternCursor& memory, std::byte* buffer) PMIO_REQUIRES(mutex_);
  void count_in_part(uint64_t bytes, uint64_t span, uint64_t file_bytes) PMIO_REQUIRES(mutex_);
  uint64_t covered_bytes_of_batch() const PMIO_REQUIRES(mutex_);
  Status read_views(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t left,
                    uint64_t size, uint64_t* got) PMIO_REQUIRES(mutex_);

  static constexpr uint64_t kSieveBytes = 256 << 10;  // at most, of gaps that are read at once

  SharedFile& file_;
  Reach& reach_;
  LoggedEnd& logged_end_;
  Mutex mutex_;
  Painter painter_ PMIO_GUARDED_BY(mutex_);
  std::vector<Entry> entries_ PMIO_GUARDED_BY(mutex_);
  std::vector<Interval> covered_ PMIO_GUARDED_BY(mutex_), gaps_ PMIO_GUARDED_BY(mutex_);
  std::vector<Vector> batch_ PMIO_GUARDED_BY(mutex_);
  FileBuffer window_ PMIO_GUARDED_BY(mutex_){kWindowBytes};
  FileBuffer around_gaps_ PMIO_GUARDED_BY(mutex_){kSieveBytes};
  bool index_full_ PMIO_GUARDED_BY(mutex_) = false;      // a merge for a read failed
  bool wanted_in_part_ PMIO_GUARDED_BY(mutex_) = false;  // of what is read, a part is thrown away
  Tally tally_ PMIO_GUARDED_BY(mutex_);
  PrefetchSequence destinations_ PMIO_GUARDED_BY(mutex_);  // the program's buffers
};

}  // namespace pmio
