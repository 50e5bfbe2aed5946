// Whether a handle logs: all ranks of its open decide together.
#include "mpi/start_logging.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/file_system.h"
#include "mpi/agree.h"
#include "mpi/errors.h"
#include "mpi/names.h"
#include "mpi/process.h"
#include "node/control.h"
#include "recover/recover.h"

namespace pmio {
namespace {

constexpr int64_t kNobody = INT64_MAX;

// Whether a file may be logged by ranks on several nodes, as this one sees it. Says why not, on one rank,
// where the user has asked for it or would expect it.
bool seen_by_other_nodes(const Handle& handle) {
  const FileDescriptor file(open(handle.path.c_str(), O_PATH | O_CLOEXEC));
  if (!file.ok()) return false;
  if (!Process::instance().on_any_file_system() && !shows_other_nodes(file_system_of(file.get())))
    return false;
  const std::optional<Mount> mount = mount_of(file.get());
  const Status locks = mount ? locks_hold_on_all_nodes(*mount) : Status();
  if (!locks.ok() && handle.rank == 0)
    complain_once(locks.message() + "; the program runs on without the log");
  return locks.ok();
}

// Whether a file of one node may be logged where nobody has asked for it.
bool suits_automatic(const std::string& path, const std::optional<FileIdentity>& identity) {
  const std::string file_system = identity ? file_system_at(path, identity->device) : std::string();
  return !file_system.empty() && !is_untried(file_system);
}

// What one rank can say about logging a file, before all ranks agree.
struct Attempt {
  std::shared_ptr<File> file;  // null: this rank cannot
  int64_t size_bytes = 0;
  int64_t last_call = 0;  // File::last_call
  int64_t cut = 0;        // File::cut
  int64_t finished_cut = 0;
  Status misconfigured;  // a reason that the user should hear
  std::string why_not;   // where this rank cannot: Handle::why_not
};

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
  result.why_not = handle.hints.mode == Mode::off ? "pmio_mode=off" : "a name that may be two files'";
  if (handle.hints.mode == Mode::off || handle.path.empty()) return result;
  result.why_not = handle.against;
  if (!handle.against.empty()) return result;
  const std::optional<FileIdentity> identity = identity_at(handle.path);
  if (cluster == nullptr && handle.hints.mode == Mode::automatic && !suits_automatic(handle.path, identity)) {
    result.why_not = "its file system is untried: pmio_mode=log";
    return result;
  }
  Result<Job*> job = Process::instance().job(handle.hints);
  if (!job.ok()) {
    result.why_not = "there is no log";
    result.misconfigured = job.status();
    return result;
  }
  result.why_not = "the log directory was removed";  // which has been said
  if (job.value()->has_lost_log()) return result;
  const bool leads = handle.rank == 0 || (cluster != nullptr && Process::instance().leads_node());
  if (leads && !handle.was_undecided) {
    // Before anybody logs: what a dead job left for this file is older than what is written from here on.
    result.why_not = "a dead job's log of it is left";
    if (identity) result.misconfigured = bring_in_pending(*job.value(), *identity, handle.path);
    if (!result.misconfigured.ok()) return result;
  }
  result.why_not = "too few file descriptors";
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
    result.why_not = code == Code::invalid  ? "not a regular file"
                     : code == Code::access ? "may not be read and written"
                                            : "cannot be opened for the log";
    if (code != Code::invalid && code != Code::access) result.misconfigured = file.status();
    return result;
  }
  if (handle.was_undecided && !(handle.identity && same_file(*handle.identity, file.value()->identity()))) {
    (void)file.value()->release();
    result.why_not = "its name leads to another file by now";
    return result;
  }
  if (cluster != nullptr && !can_span_nodes(handle, *file.value())) {
    (void)file.value()->release();
    result.why_not = handle.can_write() ? "open without the log, or by threads at once" : "only read";
    return result;
  }
  result.why_not = "its size cannot be told";
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

// Where this process may have no more memory (ulimit -v), the program runs on without the log.
Attempt try_attempt(Handle& handle, Cluster* cluster) {
  try {
    return attempt(handle, cluster);
  } catch (const std::bad_alloc&) {
    Attempt none;
    none.why_not = "not enough memory";
    none.misconfigured = Status(Code::io, "not enough memory for the log", ENOMEM);
    return none;
  }
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
  int64_t minus_tag = 0;          // propose_tag
  int64_t mark = kNobody;         // of the file's identity, which all clients of a file system see alike
  int64_t minus_mark = kNobody;
  bool same_file() const { return mark == -minus_mark; }
};

Agreement agree(const Handle& handle, MPI_Comm comm, const Attempt& mine) {
  static std::atomic<int64_t> opened{0};
  Agreement local, all;
  if (!mine.file) local.cannot = handle.rank;
  if (!mine.misconfigured.ok()) local.tells = handle.rank;
  local.minus_size = -mine.size_bytes;
  local.minus_last_call = -mine.last_call;
  local.minus_cut = -mine.cut;
  local.minus_finished_cut = -mine.finished_cut;
  local.minus_tag = -propose_tag();
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
  if (handle.ranks == 1) return local;
  // Until the ranks have a team this is a part of the program's own collective call on its communicator.
  const int code = mpi().Allreduce(&local, &all, sizeof all / sizeof(int64_t), MPI_INT64_T, MPI_MIN, comm);
  if (code != MPI_SUCCESS) all.cannot = handle.rank;
  return all;
}

// Only all ranks together know who else has the file open.
bool all_ranks_of_the_job(MPI_Comm comm) {
  return members_in_world(comm).size() == static_cast<size_t>(Process::instance().ranks());
}

Team::Members members_of(const std::vector<int>& in_world, int rank) {
  const int ranks = static_cast<int>(in_world.size());
  Team::Members members{rank, ranks, {}, {}};
  for (int distance = 1; distance < ranks; distance *= 2) {
    members.ahead.push_back(in_world[static_cast<size_t>((rank + distance) % ranks)]);
    members.behind.push_back(in_world[static_cast<size_t>((rank - distance + ranks) % ranks)]);
  }
  return members;
}

// Collective: proposed is the largest number that a rank has proposed.
Team gather(Team::Members members, MPI_Comm comm, int64_t proposed) {
  Process& process = Process::instance();
  if (members.ranks == 1) return {};
  int tag = take_tag(proposed);
  while (tags_may_clash(proposed, process.threads_at_once()) && !on_all_ranks(tag >= 0, comm)) {
    give_tag_back(tag);
    const int64_t mine = propose_tag();
    mpi().Allreduce(&mine, &proposed, 1, MPI_INT64_T, MPI_MAX, comm);
    tag = take_tag(proposed);
  }
  return {std::move(members), process.comm(), tag};
}

// Collective: the ranks agree on where the file's calls stand. False, on all ranks: one of them cannot note
// it.
bool all_join_nodes(File& file, const Agreement& all, MPI_Comm comm) {
  File::Agreed agreed{};
  agreed.number = static_cast<uint64_t>(all.file_number != kNobody ? all.file_number : all.number + 1);
  agreed.last_call = static_cast<uint64_t>(-all.minus_last_call);
  agreed.cut = static_cast<uint64_t>(-all.minus_cut);
  agreed.finished_cut = static_cast<uint64_t>(-all.minus_finished_cut);
  agreed.size = static_cast<uint64_t>(-all.minus_size);
  const Status joined = file.join_nodes(agreed);
  if (!joined.ok()) complain_once(joined.message() + "; the program runs on without the log");
  return on_all_ranks(joined.ok(), comm);
}

// Collective, where the ranks are on several nodes. False: the file is not logged.
bool span_nodes(Handle& handle, MPI_Comm comm, bool opened, Cluster** cluster) {
  handle.why_not = "not opened by all ranks, of several nodes";
  if (!all_ranks_of_the_job(comm)) return false;
  const bool off = handle.hints.mode == Mode::off;
  const bool suits = opened && !off && seen_by_other_nodes(handle);
  const bool all_suit = on_all_ranks(suits, comm);
  if (all_suit) *cluster = Process::instance().join_nodes(handle.hints);
  handle.why_not = *cluster != nullptr ? ""
                   : all_suit          ? "the nodes do not reach each other"
                   : off               ? "pmio_mode=off"
                   : suits             ? ""
                                       : "file system: pmio_across_nodes";
  return *cluster != nullptr;
}

// With all that the ranks have agreed on.
void begin_logging(Handle& handle, const Agreement& all) {
  if (!handle.can_write()) handle.largest_bytes = INT64_MAX;
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

}  // namespace

Status bring_in_pending(const Job& job, const FileIdentity& identity, const std::string& path) {
  std::vector<std::string> running;
  Status brought = recover_pending(job.options().directory, identity, path, job.options().id, &running);
  for (const std::string& line : running) complain_once(line);
  return brought;
}

void start_logging(Handle& handle, MPI_Comm comm, bool opened) {
  const std::vector<int> in_world = handle.ranks == 1 ? std::vector<int>(1) : members_in_world(comm);
  handle.why_not = "ranks of another MPI_COMM_WORLD";
  if (in_world.empty()) return;
  handle.why_not = "";
  Cluster* cluster = nullptr;
  if (Process::instance().spans_nodes() && !span_nodes(handle, comm, opened, &cluster)) return;
  Attempt mine = opened ? try_attempt(handle, cluster) : Attempt();
  const Agreement all = agree(handle, comm, mine);
  if (all.tells == handle.rank) {
    complain_once(mine.misconfigured.message() + "; the program runs on without the log");
  }
  const bool other_files = cluster != nullptr && all.cannot == kNobody && !all.same_file();
  if (other_files && handle.rank == 0) {
    complain_once("'" + handle.path +
                  "' is not the same file on all nodes; the program runs on without the log for it");
  }
  if (all.cannot != kNobody || other_files) {
    handle.why_not = other_files ? "not the same file on all nodes" : mine.file ? "" : mine.why_not;
    if (mine.file) (void)mine.file->release();  // nothing was logged through it
    if (Job* job = Process::instance().joined(); job != nullptr && opened)
      count(job->counters().files_passed_through);
    return;
  }
  if (cluster != nullptr && !all_join_nodes(*mine.file, all, comm)) {
    handle.why_not = "its nodes could not note it";
    (void)mine.file->release();
    return;
  }
  handle.team = gather(members_of(in_world, handle.rank), comm, -all.minus_tag);
  handle.file = std::move(mine.file);
  begin_logging(handle, all);
}

}  // namespace pmio
