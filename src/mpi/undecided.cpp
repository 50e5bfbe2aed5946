#include "mpi/undecided.h"

#include <atomic>
#include <utility>

#include "base/device_memory.h"
#include "mpi/errors.h"
#include "mpi/library_engine.h"
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

// What has been seen of the files of one kind. Of those of all ranks: the same on each.
struct Seen {
  std::atomic<uint32_t> small{0};  // one behind the other
  std::atomic<uint32_t> opened{0};
};

Seen& seen(Opener opener) {
  static Seen alone, together;
  return opener == Opener::alone ? alone : together;
}

// The same on all ranks.
Opener opener_of(Opening& ranks) {
  const Process& process = Process::instance();
  if (process.spans_nodes() || process.threads_at_once()) return Opener::other;
  if (ranks.ranks() == 1) return Opener::alone;
  return ranks.all_in_order() ? Opener::together : Opener::other;
}

// Not where the log outlives a power failure, which then every write that returned is to do. Of one that
// appends only the library knows where its shared pointer begins.
bool may_wait_and_see(const Handle& handle) {
  Job* job = Process::instance().joined();
  return job != nullptr && job->medium().kind() == MediumKind::tmpfs &&
         handle.hints.mode == Mode::automatic &&
         (handle.amode & (MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND)) == 0;
}

// Collective, the same on all ranks: what is known of earlier files is, and hints need not be.
bool all_expect_small(const Handle& handle, const Opening& ranks) {
  if (handle.opener == Opener::other) return false;
  Seen& all = seen(handle.opener);
  if (all.small.load(std::memory_order_relaxed) < kRow) return false;
  const bool mine = may_wait_and_see(handle);
  if (handle.opener == Opener::alone) return mine;
  if (all.opened.fetch_add(1, std::memory_order_relaxed) % kLookAgain == 0) return false;
  return ranks.on_all_ranks(mine);
}

// Nobody writes before all have come to the library's open, and this rank has not yet.
Status bring_in_before(const Handle& handle, const char* filename) {
  const Job* job = Process::instance().joined();
  if (handle.rank != 0 || job == nullptr) return {};
  const JobOptions& options = job->options();
  if (!has_other_jobs(options.directory, options.id)) return {};
  const std::string path = absolute_path(filename);
  const std::optional<FileIdentity> identity = identity_at(path);
  return identity ? bring_in_pending(*job, *identity, path) : Status();
}

uint64_t bytes_of(const Transfer& transfer) {
  MPI_Count size = 0;
  if (transfer.count <= 0 || transfer.datatype == MPI_DATATYPE_NULL ||
      mpi().Type_size_x(transfer.datatype, &size) != MPI_SUCCESS || size < 0)
    return 0;
  return static_cast<uint64_t>(size) * static_cast<uint64_t>(transfer.count);
}

void start(Handle& handle) {
  MPI_Offset position = 0;
  if (next_functions.File_get_position.next()(handle.real, &position) != MPI_SUCCESS)
    handle.against = "its pointer cannot be told";
  if (handle.against.empty()) handle.path = absolute_path(handle.name);
  Opening ranks(handle.opener == Opener::alone ? MPI_COMM_SELF : Process::instance().comm());
  start_logging(handle, ranks, true);
  if (!handle.in_library()) handle.position = position;
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
  if (!all_come) return;
  handle.calls_undecided++;
  const bool large = handle.calls_undecided > kFewCalls || (alone && bytes_of(transfer) > kFewBytes);
  if (large && (alone || may_wait)) decide(handle);
}

void note_undecided(const Handle& handle) {
  Process& process = Process::instance();
  process.note_file(handle.path.empty() ? handle.name : handle.path,
                    handle.against.empty() ? "small, like those before" : handle.against);
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
constinit UndecidedEngine engine;

}  // namespace

Engine& undecided_engine() { return engine; }

bool begin_undecided(Handle& handle, Opening& ranks, const char* filename) {
  handle.opener = opener_of(ranks);
  if (!all_expect_small(handle, ranks)) return false;
  handle.set_engine(undecided_engine());
  const Status brought = bring_in_before(handle, filename);
  if (brought.ok()) return true;
  complain_once(brought.message() + "; the program runs on without the log");
  handle.against = "a dead job's log of it is left";
  return true;
}

void go_on_undecided(Handle& handle) {
  // As the program gave it, where that needs no question to the file system.
  handle.path = handle.name.starts_with('/') ? handle.name : absolute_path(handle.name);
  handle.identity = identity_at(handle.path);
}

void decide(Handle& handle) {
  if (&handle.engine() != &undecided_engine() || handle.split_in_library) return;
  handle.set_engine(library_engine());
  handle.decided_late = true;
  DeviceMemory::look_for_libraries();
  start(handle);
  Process::instance().note_file(handle.path.empty() ? handle.name : handle.path, handle.why_not);
}

void note_size(const Handle& handle, bool small) {
  if (handle.opener == Opener::other) return;
  std::atomic<uint32_t>& row = seen(handle.opener).small;
  row.store(small ? row.load(std::memory_order_relaxed) + 1 : 0, std::memory_order_relaxed);
}

bool is_small(const Handle& handle) {
  if (handle.decided_late || handle.in_library() || !may_wait_and_see(handle)) return false;
  return handle.file->has_few_calls(kFewCalls, kFewBytes, handle.opener == Opener::together);
}

}  // namespace pmio
