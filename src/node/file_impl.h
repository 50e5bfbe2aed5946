// What File and Job know of each other; private to the node layer.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/biased_mutex.h"
#include "base/prefetch.h"
#include "base/pulse.h"
#include "log/call_stamp.h"
#include "log/segment.h"
#include "node/drainer.h"
#include "node/ending.h"
#include "node/file.h"
#include "node/fresh_reader.h"
#include "node/index.h"
#include "node/lost_log.h"
#include "node/memory_watch.h"
#include "node/neighbours.h"
#include "node/pool.h"
#include "node/spares.h"
#include "node/survey.h"
#include "stats/call_timer.h"

namespace pmio {

class Background;

// In a job's directory: its log is to be kept.
constexpr char kKeepMark[] = "undrained";

// Lock order: File::Impl::append_mutex, then files_mutex, then other files' append_mutex: by try_lock only.
constexpr size_t kMostRangesAsked = 32768;  // in one question to other nodes

struct Job::Impl {
  JobOptions options;
  std::string directory;
  std::unique_ptr<Medium> medium;
  std::unique_ptr<Medium> dram;  // null where the log medium is DRAM itself
  int alive_fd = -1;
  bool is_noted = false;       // in the registry, by this process too
  int lock_fd = -1;            // of DirectoryLock, for which there may be no descriptor left later
  std::mutex directory_mutex;  // likewise, between this process's threads
  std::unique_ptr<SegmentPool> pool;
  std::unique_ptr<SegmentMap> map;
  std::unique_ptr<LostLog> lost_log;
  Spares spares;
  Counters counters;
  std::atomic<uint64_t> reserved_descriptors{0};
  std::mutex files_mutex;
  std::map<std::string, std::weak_ptr<File>> files;  // by file_key
  // Those whose close could not drain them, until the end of the job: whoever opens them again goes on with
  // what is only in the log. Else nobody drains them, for recovery is told to.
  std::map<std::string, std::shared_ptr<File>> unfinished;
  // Those that rest (node/resting.cpp), the last one closed last; under files_mutex, and in no other list.
  std::deque<std::shared_ptr<File>> resting;
  std::unique_ptr<MemoryWatch> memory_watch;  // the background thread's
  std::unique_ptr<Background> background;
  void start_background();  // files_mutex held
  std::unique_ptr<Ending> ending;
  // Nothing is logged any more: what is written goes to the files, behind what is in the log.
  std::atomic<bool> past_log{false};
  std::unique_ptr<Pulse> pulse;  // where a file of several nodes has been opened

  ~Impl();
  // What the log acknowledged survives a power failure, so what the drain takes out of it has to as well.
  bool spans_nodes() const;
  bool outlives_node() const;
  const int32_t process = getpid();  // that has joined
  std::vector<std::shared_ptr<File>> open_files();
  // Frees a drained segment of some file of this process whose append lock is free. The caller holds own's
  // append lock.
  bool recycle_elsewhere(const File::Impl& own);
  // files_mutex held, and the file's append lock. One that has rested for long may be let go for it.
  void rest(std::shared_ptr<File> file);
  // files_mutex held. The file that rests, with the target that has been opened for it; nullptr: none does.
  std::shared_ptr<File> wake(const std::string& key, const FileIdentity& identity,
                             std::unique_ptr<TargetFile>& target);
  bool recycle_any();      // frees one of any open file; no append lock held
  void shrink_log();       // gives back what of it is in memory and free, or can be
  bool recycle_resting();  // frees a segment of a file that rests
  // The most of this rank's log so far that was not in files, for the statistics. A file's append lock may be
  // held.
  void note_fill();
  uint32_t resting_segments();  // as far as nobody is just freeing them
  // How many of these have a segment of this rank.
  uint32_t with_segment(const std::vector<std::shared_ptr<File>>& these) const;
  Result<SegmentPool::Segment*> acquire_segment();
  // Drains all files of this process.
  Status drain_all();  // across nodes: what can be, without waiting for ranks that have not come so far
  // A File for an opened target; creates the control block and the ledger if this is the first process.
  Status attach(File::Impl& file, std::unique_ptr<TargetFile> target, const OpenOptions& how);
  Status join_control(File::Impl& file, const LayoutHints& hints);
  // Before the first process of the job logs to the file: what is left of what had the ledger's name before.
  static Status begin_ledger(Ledger& ledger, const FileIdentity& identity);
  // What is there under the name of the file's control block, if that is of this file; else it is taken away.
  Result<std::unique_ptr<Region>> control_of(const File::Impl& file, const std::string& name);
  // What the first process makes, and others open. *first: it has been made, but for its contents.
  Result<SharedParts> make_parts(const File::Impl& file, bool* first);
  bool renew(SharedParts& parts, const FileIdentity& target);
  std::optional<SharedParts> recycle(const File::Impl& file);
  bool leave_spare(File::Impl& file);   // when nobody uses the file any more
  Status note_nodes(File::Impl& file);  // that the file's ranks are on several
  void forget_nodes(File::Impl& file);  // where recovery need not know it: nothing is undrained
  // All processes have to cut a round's windows alike, or one passes over what another counts on: what the
  // first one found out is everybody's. Under the job's directory lock.
  Result<Layout> share_layout(FileControl& control, const std::string& name, const Layout& layout);
  Result<Layout> shared_layout(const FileControl& control, const std::string& name);
  void leave_file(File::Impl& file);
  // What ranks that have died had logged, all of which is drained, can not be replayed any more. False: some
  // of it still can, and the ledger has to go on saying that it is drained.
  bool invalidate_drained(const FileControl& control) const;
  // Whether what a fence has covered outlives a power failure, if the log does at all.
  bool durable_fences() const;
  // The log must outlive the job: leaves a mark that says so, as far as that can be made.
  void keep_log();
  bool log_is_kept() const;
  std::atomic<bool> kept{false};  // keep_log was called here
  bool dead_left_undrained() const;
  void remove_if_last();  // the job's directory, where nobody has the job any more and nothing is undrained
};

// While a thread that holds the append lock may wait.
class WaitsInAppend {
 public:
  explicit WaitsInAppend(std::atomic<std::thread::id>& who)
      : who_(who), before_(who.exchange(std::this_thread::get_id(), std::memory_order_relaxed)) {}
  ~WaitsInAppend() { who_.store(before_, std::memory_order_relaxed); }
  WaitsInAppend(const WaitsInAppend&) = delete;
  WaitsInAppend& operator=(const WaitsInAppend&) = delete;

 private:
  std::atomic<std::thread::id>& who_;
  const std::thread::id before_;
};

// What the hot paths count, under the lock that they hold anyway; added to the process's counters at the end.
struct AppendTally {
  uint64_t calls = 0, collective = 0, bytes = 0, records = 0;
  CallTimer timer;
};
struct ReadTally {
  uint64_t calls = 0, collective = 0, bytes = 0, log_bytes = 0, file_bytes = 0;
  CallTimer timer;
};

struct File::Impl {
  Job::Impl* job = nullptr;
  std::string key;
  std::string path;
  FileIdentity identity;
  Layout layout;
  std::unique_ptr<TargetFile> target;
  std::unique_ptr<Region> control_region;
  FileControl* control = nullptr;
  RankCell* cell = nullptr;  // this rank's
  Ledger ledger;
  TargetMark mark;
  std::unique_ptr<FileIndex> index;
  std::unique_ptr<Drainer> drainer;
  uint32_t handles = 0;                // under the job's files_mutex
  uint32_t releasing = 0;              // calls of release that have found no handle left; likewise
  bool has_left = false;               // closed: the control block is not this rank's any more
  bool leaves_spare = false;           // and is kept for another file
  bool counts_as_log = false;          // Rendezvous::logs_in_use; under append_mutex
  bool woken = false;                  // it has rested
  bool tells = false;                  // of several nodes: its times show that somebody writes
  std::atomic<bool> only_read{false};  // by all handles that there are
  FileState closed;                    // as it was left at its last close, if it has rested
  std::atomic<uint64_t> reported_errors{0};

  // Of several nodes: which drained records programs outside of the job know of, by a sync or the last close,
  // and so may write over.
  struct Known {
    CallStamp upto = 0;
    std::optional<FileState> state;  // of the file since, as long as none of them writes; nothing: unknown
    CallStamp uncertain = 0;         // those that they may have written over since they knew of them
  };
  std::mutex known_to_others_mutex;  // nothing else is locked, and no system call made, while it is held
  Known known_to_others;             // under its mutex

  // Where the ranks are on several nodes.
  Neighbours* neighbours = nullptr;
  Survey others;       // what they hold
  SurveyAnswers told;  // what they have been told of this node's log; under read_mutex
  std::atomic<uint64_t> number{0};
  std::atomic<uint64_t> only_started{0};  // the last collective call whose beginning waits for nobody
  std::atomic<uint64_t> last_waiting{0};  // the last one that may wait for all ranks
  std::mutex call_mutex;  // held from begin_call to end_call: records and ends of calls come in their order

  struct Watch {  // the background thread's
    uint64_t appended = 0;
    uint64_t changed_ns = 0;
    uint64_t retry_ns = 0;
    uint64_t mark = 0;     // so many records had been appended
    uint64_t mark_ns = 0;  // at this time, when as many as the mark before had been drained
    bool is_old(uint64_t now_appended, uint64_t drained, uint64_t now, uint64_t age_ns);
  };
  Watch watch;
  bool is_drained_here() const;      // what this rank has logged; of several nodes: the node
  uint64_t undrained_bytes() const;  // that all ranks of the node have published
  bool looks_after_it() const;       // when all are idle: the lowest rank that has the file open

  // Appending: one thread of the rank at a time.
  BiasedMutex append_mutex;
  struct Owned {
    SegmentPool::Segment* segment;
    SegmentWriter writer;
    uint32_t cell;
  };
  std::vector<Owned> owned;  // oldest first; the last one may be open
  bool open = false;         // owned.back() is not sealed
  uint64_t last_stamp = 0;
  uint64_t unpublished = 0;  // records since the last publish
  uint32_t declared = 0;     // bit per entry of the last segment's open table
  static constexpr uint32_t kNoCell = UINT32_MAX;
  std::atomic<uint32_t> table_cell{kNoCell};  // of the last segment, if it was taken for its open table alone
  uint64_t last_end = 0;                      // file byte behind the last record of the open segment
  AppendTally appends;
  std::atomic<std::thread::id> waits_in_append{};  // which holds append_mutex, and may come to LostLog
  std::atomic<bool> has_given_up{false};           // its log: nothing of it is logged any more
  std::atomic<bool> goes_past_log{false};          // of one node: something has been written past it

  // Reading: scratch memory per thread would be kept for ever; one set, one reader at a time, is enough.
  std::mutex read_mutex;
  Painter painter;
  std::vector<Entry> entries;
  std::vector<Interval> covered, gaps;
  std::unique_ptr<FreshReader> reader;  // of several nodes: fresh_reader
  uint64_t reader_changes = 0, reader_writes = 0;
  std::vector<Vector> batch;
  std::unique_ptr<std::byte[]> window, around_gaps;
  bool index_full = false;  // a merge for a read failed
  ReadTally reads;
  PrefetchSequence destinations;  // the program's buffers

  ~Impl();
  bool owns_undrained() const;  // append_mutex held
  void leave();
  void let_go();  // of all that this rank has of it; nothing is undrained
  void wake(std::unique_ptr<TargetFile> opened);
  CallStamp finished_cut() const;
  void compare();  // with what the file was like at the last close
  std::optional<FileState> state_to_know();
  bool take(const Settled& settled);  // false: nothing is left to serve
  Known known_by_others();
  bool is_as(const Known& known_then) const;  // nothing has been drained or written since
  void others_know(const std::optional<FileState>& state);
  // The tallies and the target's system calls become the process's. waits: for another thread that writes or
  // reads.
  void add_up(bool waits);
  uint64_t next_stamp();
  uint64_t begin_ns(uint64_t bytes) const;
  void tally(uint64_t bytes, uint64_t begin_ns, CallNumber call);  // ends the count of a call
  bool has_room() const;
  // append_mutex held; on return owned.back() has room. *held_up, across nodes only: it has not. Other files
  // have all of this rank's log, and cannot be drained before ranks of other nodes have come further, which
  // may, in other threads, wait for this call.
  Status make_room(bool* held_up);
  Status new_segment(bool* held_up);
  std::optional<uint32_t> free_cell() const;
  Status free_a_cell(bool* held_up);
  // The same of several nodes, without waiting for other nodes' ranks.
  Status find_room(bool* found);
  uint32_t undrained_segments() const;  // of this rank, one that is empty yet among them
  bool free_oldest_drained();           // append_mutex held
  void detach(size_t position);         // gives owned[position] back
  Status attach_segment(SegmentPool::Segment* segment);
  void note(uint64_t begin, uint64_t end);  // that a record has been appended
  static void note_begin(SegmentCell& segment, uint64_t begin);
  Status publish(uint64_t stamp, uint64_t end);  // fence, then let others see
  void seal();
  void declare(uint32_t entry);  // in the last segment's open table
  void declare_all();
  bool attach_for_table();            // false: there is no free segment
  void interrupted(CallNumber call);  // a part of it is logged, and goes on in another segment
  void finished(CallNumber call) {
    if (call.open == 0) return;
    cell->opens[call.open - 1].progress.store(progress_of(call.number, call.independent),
                                              std::memory_order_relaxed);
  }
  void finished_or_not(CallNumber call) { call.goes_on ? interrupted(call) : finished(call); }

  // What a look-up relies on: no segment is given back, nothing moves below the floor.
  struct Epoch {
    uint64_t evictions = 0, floor = 0, ledger_updates = 0;
    uint64_t begin = 0, end = 0;  // the range that was looked up
    bool complete = true;         // all that there is was found
  };
  void shorten_tail();  // merges, where reads have had to look at much
  Status end_read(std::unique_lock<std::mutex>& lock);
  // Into `entries`; not all of them where a run has more than `most`.
  Status look_up(uint64_t a, uint64_t b, size_t most, Epoch* epoch);
  Status look(uint64_t a, uint64_t b, size_t most, Epoch* epoch);
  Status drain_lost_log(bool* is_lost);
  bool is_over(const Epoch& epoch) const;                     // what was looked up and copied may be wrong
  Status read_range(uint64_t a, uint64_t b, std::byte* out);  // at most kWindowBytes; holes read as zeros
  Status try_read(uint64_t a, uint64_t b, std::byte* out, bool* stale);
  bool copy_single(uint64_t a, uint64_t b, std::byte* out);
  Status read_gaps(uint64_t a, uint64_t b, std::byte* out);
  Status read_contiguous(uint64_t offset, std::byte* data, uint64_t bytes);
  // Where nobody has logged anything: the file alone, whose end need not be looked up.
  Status read_target(uint64_t offset, std::byte* data, uint64_t bytes, uint64_t* got, bool collective);
  void find_same_shape(const Vector& wanted, const std::byte** data, uint64_t* blocks);
  Status copy_same_shape(const Vector& wanted, PatternCursor& memory, std::byte* buffer, uint64_t* blocks);
  Status read_same_shape(PatternCursor& file, uint64_t left, uint64_t size, PatternCursor& memory,
                         std::byte* buffer, uint64_t* done);
  Status read_batch(PatternCursor& memory, std::byte* buffer);
  Status read_views(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t left,
                    uint64_t size, uint64_t* got);
  // As RankCell::logged_end says; 0 where the rank has logged nothing since the file was cut, as far as it
  // knows. Over all local ranks it is never more than logged_end.
  uint64_t noted_end(uint32_t rank) const;
  uint64_t noted_end() const;
  // Over all local ranks, with a look at the logs where that is needed. What is drained meanwhile is missing:
  // who needs the size of the file asks for the target's afterwards.
  uint64_t logged_end() const;
  bool is_cut() const;
  // All that was published here before is in the target on return; room: and what is of a call that is not
  // finished.
  Status drain_log(bool room);
  Status drain_everywhere(bool will_write);  // File::drain_all_nodes; what others know of is left as it is
  // Of several nodes: without waiting for ranks that have not come so far.
  Status drain_what_can_be();
  Status raise_cut(CallStamp cut, CallStamp finished);  // File::Agreed; durably where nothing says more
  // Waits until no other node holds undrained bytes of the ranges, of those that are there by now. *end: of
  // the file.
  Status meet_nodes(std::span<const Vector> ranges, bool will_write, uint64_t* end);
  // The same for the next bytes of a cursor, before they are read.
  Status meet_nodes(PatternCursor file, uint64_t bytes, uint64_t* end);
  // How often other nodes may have changed the file; never less than before.
  uint64_t changes_seen() const;
  // For reading, read_mutex held and announced in the cell: opened since other nodes last changed the file,
  // as all others are by which this node's ranks read it now.
  Result<FreshReader*> fresh_reader();
  Status await_older_reads(uint64_t changes) const;
  bool all_drained_here() const;
  Status holds(const Vector& range, CallStamp upto, FileIndex::Which which, bool* found);
  void conceal(const Vector& range);
  Status survey(uint64_t calls, const Interval& bytes, std::vector<Vector>* held, bool* complete);
  Status answer(CallStamp upto, std::span<const Vector> ranges, bool will_write, bool* held);

  // append_mutex held.
  Status log_independent(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
                         CallNumber call, uint64_t* logged);
  std::optional<CallStamp> independent_stamp();
  bool holds_leases(const Vector& range) const;
  Status ask_for_leases(PatternCursor file, uint64_t bytes);
  // On return no rank of this node logs anything in the ranges before it has asked the other nodes.
  Status give_up_leases(std::span<const Vector> ranges);
  // For what a rank of this node has announced, which it does not wait with for anybody.
  Status await_rank(const std::function<bool()>& done) const;
  // On return what ranks of this node have logged independently, and had begun before, is published.
  Status await_announced() const;
  // The next bytes of memory to the file, not to the log: an independent write that is better not logged, and
  // what a call has left that is held up.
  Status write_through(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes);
  Status write_batch(std::span<const Vector> ranges, PatternCursor& memory, const std::byte* buffer);
  Status write_vector(const Vector& where, PatternCursor& memory, const std::byte* buffer);
  void begin_past_log();
  void give_up_log();  // LostLog::give_up
  void raise_logged_end(uint64_t end);
  void begin_logged_end();
  std::atomic<bool> used_up_stamps{false};  // and nobody has been told
  std::mutex logged_end_mutex;  // of begin_logged_end, which only across nodes has more than one thread
};

}  // namespace pmio
