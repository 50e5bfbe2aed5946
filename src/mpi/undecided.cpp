#include "mpi/undecided.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/device_memory.h"
#include "medium/medium.h"
#include "mpi/aside.h"
#include "mpi/errors.h"
#include "mpi/group_files.h"
#include "mpi/library_engine.h"
#include "mpi/memory.h"
#include "mpi/names.h"
#include "mpi/next_functions.h"
#include "mpi/process.h"
#include "mpi/start_logging.h"
#include "recover/recover.h"

namespace pmio {
namespace {

constexpr uint32_t kRow = 8;         // so many small ones, and the next is expected to be small
constexpr uint32_t kLookAgain = 32;  // of those of all ranks, one of so many is not
constexpr uint32_t kFewCalls = 4;
constexpr uint64_t kFewBytes = 64 << 10;
constexpr size_t kManyOpen = 32;      // so many are logged and open, the last of them small: likewise
constexpr size_t kTooManyOpen = 128;  // so many, of whatever size: likewise, as the log is divided by then

// A file that one rank opens alone is expected to be small from the first on. One that is not tells so by its
// first large write, before it. Files of several ranks have to show it.
SeenFiles& seen(const Handle& handle) {
  static SeenFiles alone(kRow), together(0);
  if (handle.group != nullptr) return handle.group->files;
  return handle.opener == Opener::alone ? alone : together;
}

// The same on all ranks: who opens the file, as the handle has it from now on.
void note_opener(Handle& handle, Opening& ranks) {
  Process& process = Process::instance();
  if (process.threads_at_once()) return;
  if (ranks.ranks() == 1) {
    if (!process.spans_nodes() || process.claims() != nullptr) handle.opener = Opener::alone;
  } else if (!process.spans_nodes()) {
    if (ranks.all_in_order()) handle.opener = Opener::together;
  } else if (handle.group = process.known_group(ranks); handle.group != nullptr) {
    handle.opener = Opener::together;
  }
}

// Where the log of a file is, or would be.
struct ExpectedLog {
  SharedHints hints;
  Job* job = nullptr;
  std::string directory;
  bool outlives_power = false;
};

ExpectedLog find_expected_log(const SharedHints& hints) {
  Process& process = Process::instance();
  ExpectedLog log{hints, process.joined(), process.log_directory(*hints)};
  log.outlives_power = log.job != nullptr
                           ? outlives_power(log.job->medium().kind(), log.job->medium().durability())
                           : may_outlive_power(log.directory, hints->durability);
  return log;
}

// Most files have the hints of the one before. Not where threads may be in MPI at the same time.
const ExpectedLog& expected_log(const Handle& handle) {
  static ExpectedLog last;
  if (!last.hints.are(handle.hints) || last.job != Process::instance().joined())
    last = find_expected_log(handle.hints);
  return last;
}

bool log_outlives_power(const Handle& handle) {
  const bool threads = Process::instance().threads_at_once();
  return threads ? find_expected_log(handle.hints).outlives_power : expected_log(handle).outlives_power;
}

// Not where the log outlives a power failure, which then every write that returned is to do. Of one that
// appends only the library knows where its shared pointer begins.
bool may_wait_and_see(const Handle& handle) {
  return handle.hints->mode == Mode::automatic &&
         (handle.amode & (MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND)) == 0 && !log_outlives_power(handle);
}

// Of a file of several nodes: whether it was used in ways that some network file systems are not right for
// without the log. One node's client does not see what another one writes, or two have the same shared
// pointer.
bool needs_log(const Handle& handle) {
  return handle.group != nullptr &&
         (handle.file->usage().was_read() || handle.uses_shared.load(std::memory_order_relaxed));
}

// As far as this rank has written and read it.
bool has_shown_to_be_small(const Handle& handle) {
  return !handle.in_library() && !handle.was_aside && !handle.file->usage().has_few_calls(0, 0, false) &&
         !needs_log(handle) &&
         handle.file->usage().has_few_calls(kFewCalls, kFewBytes, handle.opener == Opener::together);
}

bool open_ones_are_small(const std::vector<const Handle*>& logged) {
  if (logged.size() >= kTooManyOpen) return true;
  return std::all_of(logged.end() - kManyOpen, logged.end(),
                     [](const Handle* handle) { return has_shown_to_be_small(*handle); });
}

// Collective, the same on all ranks: what is known of closed files is, and how many are open. Hints need not
// be, nor what each rank has written to those that are open.
bool all_expect_small(const Handle& handle, const Opening& ranks) {
  if (handle.opener == Opener::other) return false;
  SeenFiles& all = seen(handle);
  const bool in_a_row = all.small.load(std::memory_order_relaxed) >= kRow;
  if (!in_a_row && all.logged.size() < kManyOpen) return false;
  const bool mine = may_wait_and_see(handle) && (in_a_row || open_ones_are_small(all.logged));
  if (handle.opener == Opener::alone) return mine;
  if (all.opened.fetch_add(1, std::memory_order_relaxed) % kLookAgain == 0) return false;
  return ranks.on_all_ranks(mine);
}

// Nobody writes before all have come to the library's open, and this rank has not yet.
Status bring_in_before(Handle& handle, const char* filename) {
  const bool leads = handle.group != nullptr ? handle.group->cluster->leads_node() : handle.rank == 0;
  if (!leads) return {};
  const Process& process = Process::instance();
  handle.looked_in = expected_log(handle).directory;
  if (!has_other_jobs(handle.looked_in, process.id())) return {};
  const std::string path = absolute_path(filename);
  const std::optional<FileIdentity> identity = identity_at(path);
  return identity ? bring_in_pending(handle.looked_in, *identity, path) : Status();
}

// Collective. Open MPI's sync fails at once on a rank with a nonblocking call under way, while others wait
// for it.
bool all_sync_in_library(Handle& handle, const Opening& ranks) {
  return ranks.on_all_ranks(!library_may_write_later()) &&
         ranks.on_all_ranks(sync_in_library(handle) == MPI_SUCCESS);
}

void start(Handle& handle) {
  MPI_Offset position = 0;
  if (next_functions.File_get_position.next()(handle.real, &position) != MPI_SUCCESS)
    handle.against = "its pointer cannot be told";
  if (handle.against.empty()) handle.path = absolute_path(handle.name);
  Opening ranks(handle.opener == Opener::alone ? MPI_COMM_SELF
                : handle.group != nullptr      ? handle.group->comm
                                               : Process::instance().comm());
  // Other nodes read by the log what was written before.
  if (handle.group != nullptr && handle.can_write() && !all_sync_in_library(handle, ranks))
    handle.against = "small, and not synced";
  start_logging(handle, ranks, true);
  if (!handle.file) go_without_log(handle, ranks, handle.path);
  if (handle.in_library()) return;
  handle.position = position;
  note_logged(handle);
}

// If the file were logged, a contiguous write of so many bytes would go straight to it all the same.
uint64_t straight_from(const Handle& handle) {
  const DirectFrom from = direct_from(*handle.hints, closes_in_background(handle));
  return std::max(from.cold, from.warm);
}

// Before a call. may_wait: for the other ranks, which come to it too; else a later call decides.
void decide_for(Handle& handle, const Transfer& transfer, bool may_wait) {
  const bool alone = handle.opener == Opener::alone;
  const bool all_come = alone || transfer.collective;
  if (transfer.pointer == Pointer::shared) {
    // The library's pointer has moved, which pmio's would have to follow.
    if (!all_come) handle.against = "small, and its shared pointer used";
    return all_come ? decide(handle) : void();
  }
  // One that the library does meanwhile would look like a write past MPI-IO, if the handle logged by then.
  if (!may_wait && alone) return decide(handle);
  if (!may_wait && !all_come) handle.against = "small, and written or read by nonblocking calls";
  if (!all_come) return;
  const uint64_t bytes = alone ? bytes_of(transfer) : 0;
  if (may_wait && alone && bytes >= straight_from(handle)) return;
  handle.calls_undecided++;
  const bool large = handle.calls_undecided > kFewCalls || bytes > kFewBytes;
  if (large && may_wait) decide(handle);
}

void note_undecided(const Handle& handle) {
  Process& process = Process::instance();
  process.note_file(handle.path.empty() ? handle.name : handle.path,
                    handle.against.empty() ? "small" : handle.against);
  if (Job* job = process.joined()) count(job->counters().files_passed_through);
}

class UndecidedEngine final : public LibraryEngine {
 public:
  Moved transfer(Handle& handle, const Transfer& transfer, Completion completion) override {
    decide_for(handle, transfer, completion != Completion::nonblocking);
    return goes_on(handle) ? LibraryEngine::transfer(handle, transfer, completion)
                           : handle.engine().transfer(handle, transfer, completion);
  }
  Outcome preallocate(Handle& handle, MPI_Offset size) override {
    decide(handle);
    return goes_on(handle) ? LibraryEngine::preallocate(handle, size)
                           : handle.engine().preallocate(handle, size);
  }
  int close(Handle& handle) override {
    note_undecided(handle);
    return MPI_SUCCESS;
  }

 private:
  bool goes_on(const Handle& handle) const { return &handle.engine() == this; }
};
constinit UndecidedEngine the_undecided_engine;

}  // namespace

Engine& undecided_engine() { return the_undecided_engine; }

bool begin_undecided(Handle& handle, Opening& ranks, const char* filename) {
  note_opener(handle, ranks);
  if (!all_expect_small(handle, ranks)) return false;
  handle.set_engine(undecided_engine());
  const Status brought = bring_in_before(handle, filename);
  if (brought.ok()) return true;
  complain_once(brought.message() + "; the program runs on without the log");
  handle.against = "a dead job's log of it is left";
  return true;
}

void go_on_undecided(Handle& handle, const Opening& ranks, bool opened) {
  if (opened) {
    // As the program gave it, where that needs no question to the file system.
    handle.path = handle.name.starts_with('/') ? handle.name : absolute_path(handle.name);
    handle.identity = identity_at(handle.path);
    claim_undecided(handle);
  }
  // One of them has claimed it for all: nobody relies on it before.
  if (handle.group != nullptr) (void)ranks.on_all_ranks(true);
}

void decide(Handle& handle) {
  if (&handle.engine() != &undecided_engine() || handle.split_in_library) return;
  handle.set_engine(library_engine());
  handle.decided_late = true;
  const auto begin = monotonic_ns();
  DeviceMemory::look_for_libraries();
  start(handle);
  Process& process = Process::instance();
  process.note_file(handle.path.empty() ? handle.name : handle.path, handle.why_not);
  if (Job* job = process.joined()) {
    count(job->counters().late_opens);
    count(job->counters().late_open_ns, monotonic_ns() - begin);
  }
}

void note_logged(const Handle& handle) {
  if (handle.opener != Opener::other && handle.file) seen(handle).logged.push_back(&handle);
}

void forget_logged(const Handle& handle) {
  if (handle.opener != Opener::other) std::erase(seen(handle).logged, &handle);
}

void note_size(const Handle& handle, bool small) {
  if (handle.opener == Opener::other) return;
  std::atomic<uint32_t>& row = seen(handle).small;
  row.store(small ? row.load(std::memory_order_relaxed) + 1 : 0, std::memory_order_relaxed);
}

bool is_small(const Handle& handle) {
  if (handle.decided_late || handle.was_aside || handle.in_library() || !may_wait_and_see(handle) ||
      needs_log(handle))
    return false;
  return handle.file->usage().has_few_calls(kFewCalls, kFewBytes, handle.opener == Opener::together);
}

}  // namespace pmio
