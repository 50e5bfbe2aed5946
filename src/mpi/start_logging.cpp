// Whether a handle logs: all ranks of its open decide together.
#include "mpi/start_logging.h"

#include <fcntl.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/file_descriptor.h"
#include "base/file_system.h"
#include "mpi/agree.h"
#include "mpi/errors.h"
#include "mpi/process.h"
#include "node/control.h"
#include "recover/recover.h"

namespace pmio {
namespace {

constexpr int64_t kNobody = INT64_MAX;

// Whether a file may be logged by ranks on several nodes, as this one sees it.
bool seen_by_other_nodes(const std::string& path) {
  if (Process::instance().on_any_file_system()) return true;
  const FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
  return file.ok() && shows_other_nodes(file_system_of(file.get()));
}

// What one rank can say about logging a file, before all ranks agree.
struct Attempt {
  std::shared_ptr<File> file;  // null: this rank cannot
  int64_t size_bytes = 0;
  int64_t last_call = 0;  // File::last_call
  int64_t cut = 0;        // File::cut
  int64_t finished_cut = 0;
  Status misconfigured;  // a reason that the user should hear
};

Status bring_in_pending(const Job& job, const std::string& path) {
  const Result<FileIdentity> identity = identity_of(path);
  if (!identity.ok()) return {};  // the open below says why
  return recover_pending(job.options().directory, identity.value(), path, job.options().id);
}

// Whether a file that this handle has just opened is logged across nodes. Not if nobody writes it and nothing
// of it is in the log: its readers would ask the other nodes in vain. Else if its collective write calls are
// counted alike on all nodes, and nothing is written past the log that another node would not see. Threads
// that use two handles make their calls in another order on each rank, and may open the one while the other
// counts.
bool can_span_nodes(const Handle& handle, File& file) {
  if (!handle.can_write() && !file.has_other_handles()) {
    file.target().forget_cached(0, 0);  // of what others wrote before, it sees all
    return file.has_rested();
  }
  if (Process::instance().threads_at_once() && file.has_other_handles()) return false;
  return !handed_on(file.identity());
}

Attempt attempt(Handle& handle, Cluster* cluster) {
  Attempt result;
  if (handle.hints.mode == Mode::off || handle.path.empty()) return result;
  Result<Job*> job = Process::instance().job(handle.hints);
  if (!job.ok()) {
    result.misconfigured = job.status();
    return result;
  }
  if (handle.rank == 0 || (cluster != nullptr && Process::instance().leads_node())) {
    // Before anybody logs: what a dead job left for this file is older than what is written from here on.
    result.misconfigured = bring_in_pending(*job.value(), handle.path);
    if (!result.misconfigured.ok()) return result;
  }
  result.misconfigured = job.value()->require_descriptors();
  if (!result.misconfigured.ok()) return result;
  Job::OpenOptions options;
  options.path = handle.path;
  options.read_only = !handle.can_write();
  options.layout = handle.hints.layout;
  options.neighbours = cluster;
  Result<std::shared_ptr<File>> file = job.value()->open(options);
  if (!file.ok()) {
    // invalid: not a regular file, and access: writable but not readable, say; nobody needs to hear of these.
    const Code code = file.status().code();
    if (code != Code::invalid && code != Code::access) result.misconfigured = file.status();
    return result;
  }
  if (cluster != nullptr && !can_span_nodes(handle, *file.value())) {
    (void)file.value()->release();
    return result;
  }
  const Result<uint64_t> size = file.value()->size_bytes_here();
  if (!size.ok()) return result;
  if (cluster != nullptr) {
    result.last_call = static_cast<int64_t>(file.value()->last_call());
    result.cut = static_cast<int64_t>(file.value()->cut());
    result.finished_cut = static_cast<int64_t>(file.value()->finished_cut());
  }
  result.size_bytes = static_cast<int64_t>(size.value());
  result.file = std::move(file.value());
  return result;
}

// All ranks learn in one step: the lowest rank that cannot log, and the lowest that has a reason to tell; the
// size of the file, as the furthest of them saw it; a number that tells this open from all others of the job;
// the number that the file has had among the nodes since an open whose close failed on some rank, by which
// the coordinator knows whether anything of it may still be drained; and whether the name leads all of them
// to the same file.
struct Agreement {
  int64_t cannot = kNobody;
  int64_t tells = kNobody;
  int64_t minus_size = 0;
  int64_t minus_last_call = 0;
  int64_t minus_cut = 0;
  int64_t minus_finished_cut = 0;
  int64_t number = kNobody;
  int64_t file_number = kNobody;  // no two ranks have different ones
  int64_t mark = kNobody;         // of the file's identity, which all clients of a file system see alike
  int64_t minus_mark = kNobody;
  bool same_file() const { return mark == -minus_mark; }
};

Agreement agree(Handle& handle, const Attempt& mine) {
  static std::atomic<int64_t> opened{0};
  Agreement local, all;
  if (!mine.file) local.cannot = handle.rank;
  if (!mine.misconfigured.ok()) local.tells = handle.rank;
  local.minus_size = -mine.size_bytes;
  local.minus_last_call = -mine.last_call;
  local.minus_cut = -mine.cut;
  local.minus_finished_cut = -mine.finished_cut;
  if (mine.file) {
    if (const uint64_t number = mine.file->number(); number != 0)
      local.file_number = static_cast<int64_t>(number);
    const FileIdentity& identity = mine.file->identity();
    local.mark = static_cast<int64_t>((identity.inode ^ identity.birth_ns) & INT64_MAX);
    local.minus_mark = -local.mark;
  }
  if (handle.rank == 0) {
    int world = 0;
    mpi().Comm_rank(MPI_COMM_WORLD, &world);
    local.number = static_cast<int64_t>(world) << 32 | opened.fetch_add(1);
  }
  mpi().Allreduce(&local, &all, sizeof all / sizeof(int64_t), MPI_INT64_T, MPI_MIN, handle.comm);
  return all;
}

// Only all ranks together know who else has the file open.
bool all_ranks_of_the_job(MPI_Comm comm) {
  int result = MPI_UNEQUAL;
  return mpi().Comm_compare(comm, MPI_COMM_WORLD, &result) == MPI_SUCCESS && result != MPI_UNEQUAL;
}

// Ranks that were spawned, or connected to, have a world of their own, and with it a log that this job's do
// not see, if any. All ranks of the communicator find the same, without asking each other.
bool has_ranks_of_other_worlds(MPI_Comm comm) {
  int size = 0;
  mpi().Comm_size(comm, &size);
  if (size == 1) return false;
  std::vector<int> here(static_cast<size_t>(size)), in_world(here.size(), MPI_UNDEFINED);
  std::iota(here.begin(), here.end(), 0);
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  mpi().Comm_group(MPI_COMM_WORLD, &world);
  mpi().Comm_group(comm, &group);
  // Not by a difference of the groups: MPICH ends the program where one of them is a session's.
  mpi().Group_translate_ranks(group, size, here.data(), world, in_world.data());
  mpi().Group_free(&world);
  mpi().Group_free(&group);
  return std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) != in_world.end();
}

// Collective: the ranks agree on where the file's calls stand. False, on all ranks: one of them cannot note
// it.
bool all_join_nodes(const Handle& handle, File& file, const Agreement& all) {
  File::Agreed agreed{};
  agreed.number = static_cast<uint64_t>(all.file_number != kNobody ? all.file_number : all.number + 1);
  agreed.last_call = static_cast<uint64_t>(-all.minus_last_call);
  agreed.cut = static_cast<uint64_t>(-all.minus_cut);
  agreed.finished_cut = static_cast<uint64_t>(-all.minus_finished_cut);
  agreed.size = static_cast<uint64_t>(-all.minus_size);
  const Status joined = file.join_nodes(agreed);
  if (!joined.ok()) complain_once(joined.message() + "; the program runs on without the log");
  return on_all_ranks(joined.ok(), handle.comm);
}

}  // namespace

void start_logging(Handle& handle, MPI_Comm comm) {
  if (has_ranks_of_other_worlds(comm)) return;
  if (Process::instance().spans_nodes() && !all_ranks_of_the_job(comm)) return;
  if (!own_comm(comm, &handle.comm)) return;
  mpi().Comm_rank(handle.comm, &handle.rank);
  mpi().Comm_size(handle.comm, &handle.ranks);
  Cluster* cluster = nullptr;
  if (Process::instance().spans_nodes()) {
    const bool suits = handle.hints.mode != Mode::off && seen_by_other_nodes(handle.path);
    if (on_all_ranks(suits, handle.comm)) cluster = Process::instance().join_nodes(handle.hints);
    if (cluster == nullptr) {
      free_comm(&handle.comm);
      return;
    }
  }
  Attempt mine = attempt(handle, cluster);
  const Agreement all = agree(handle, mine);
  if (all.tells == handle.rank) {
    complain_once(mine.misconfigured.message() + "; the program runs on without the log");
  }
  const bool other_files = cluster != nullptr && all.cannot == kNobody && !all.same_file();
  if (other_files && handle.rank == 0) {
    complain_once("'" + handle.path +
                  "' is not the same file on all nodes; the program runs on without the log for it");
  }
  if (all.cannot != kNobody || other_files) {
    if (mine.file) (void)mine.file->release();  // nothing was logged through it
    free_comm(&handle.comm);
    if (Job* job = Process::instance().joined()) count(job->counters().files_passed_through);
    return;
  }
  if (cluster != nullptr && !all_join_nodes(handle, *mine.file, all)) {
    (void)mine.file->release();
    free_comm(&handle.comm);
    return;
  }
  handle.file = std::move(mine.file);
  if (handle.can_write()) handle.largest_bytes = handle.file->target().largest_bytes();
  handle.open = handle.file->add_open(static_cast<uint64_t>(all.number), static_cast<uint32_t>(handle.ranks),
                                      static_cast<uint32_t>(handle.rank));
  if (handle.amode & MPI_MODE_APPEND) handle.position = handle.shared_start = -all.minus_size;
  Job* job = Process::instance().joined();
  handle.number = all.number;
  handle.shared = std::make_unique<SharedPointer>(job->directory() + "/shared-" + std::to_string(all.number));
  handle.view = FileView::bytes().value();
  handle.etype = HeldType(MPI_BYTE);
  handle.filetype = HeldType(MPI_BYTE);
  handle.logs = true;
}

}  // namespace pmio
