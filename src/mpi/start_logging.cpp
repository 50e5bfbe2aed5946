// Whether a handle logs, or goes straight to the file: all ranks of its open agree on it.
#include "mpi/start_logging.h"

#include <atomic>
#include <cerrno>
#include <new>
#include <optional>
#include <utility>

#include "base/file_system.h"
#include "mpi/errors.h"
#include "mpi/group_files.h"
#include "mpi/names.h"
#include "mpi/process.h"
#include "mpi/start_straight.h"
#include "node/control.h"
#include "recover/recover.h"
#include "span/spanning.h"

namespace pmio {
namespace {

// Whether a file of one node may be logged where nobody has asked for it.
bool suits_automatic(const std::string& path, const std::optional<FileIdentity>& identity) {
  const std::string file_system = identity ? file_system_at(path, identity->device) : std::string();
  return !file_system.empty() && !is_untried(file_system);
}

// A file that was opened for the log. Released if it is not kept: nothing has been logged through it.
class Candidate {
 public:
  explicit Candidate(std::shared_ptr<File> file = nullptr) : file_(std::move(file)) {}
  Candidate(Candidate&& other) noexcept : file_(std::move(other.file_)) {}
  Candidate& operator=(Candidate&& other) noexcept {
    file_.swap(other.file_);
    return *this;
  }
  ~Candidate() {
    try {
      if (file_) (void)file_->closing().release();
    } catch (const std::bad_alloc&) {
      // It stays open, and has nothing logged.
    }
  }

  explicit operator bool() const { return file_ != nullptr; }
  File* operator->() const { return file_.get(); }
  File& operator*() const { return *file_; }
  std::shared_ptr<File> keep() { return std::move(file_); }

 private:
  std::shared_ptr<File> file_;
};

// What one rank can say about a file, before all ranks agree.
struct Attempt {
  Candidate file;                               // to be logged
  std::unique_ptr<StraightFile> straight = {};  // or not; neither: this rank cannot
  int64_t size_bytes = 0;
  std::string why_not = {};   // if this rank cannot: Handle::why_not
  Status misconfigured = {};  // a reason that the user should hear
};

Attempt cannot(std::string why_not, Status misconfigured = {}) {
  return {Candidate(), {}, 0, std::move(why_not), std::move(misconfigured)};
}

// Whether a file that this handle has just opened is logged across nodes. Not if nobody writes it and nothing
// of it is in the log: its readers would ask the other nodes in vain. Else if its collective write calls are
// counted alike on all nodes, and nothing is written past the log that another node would not see. Threads
// that use two handles make their calls in another order on each rank, and may open the one while the other
// counts.
bool can_span_nodes(const Handle& handle, File& file) {
  if (!handle.can_write() && !file.usage().has_other_handles()) {
    file.target().forget_cached(0, 0);  // of what others wrote before, it sees all
    return Spanning::of(file).has_rested();
  }
  if (Process::instance().threads_at_once() && file.usage().has_other_handles()) return false;
  return !others_handed_on(handle, file.identity());
}

// invalid: not a regular file. access: writable but not readable, say. Nobody needs to hear of these.
Attempt cannot_open(const Status& status) {
  if (status.code() == Code::busy) return cannot(kOpenElsewhere);
  if (status.code() == Code::invalid) return cannot("not a regular file");
  if (status.code() == Code::access) return cannot("may not be read and written");
  return cannot("cannot be opened for the log", status);
}

Attempt not_granted(Status claimed) {
  return claimed.ok() ? cannot(kOpenElsewhere) : cannot(kUnreachable, std::move(claimed));
}

// By what a file is logged in a job on several nodes; neither in one on one node.
struct Means {
  Cluster* cluster = nullptr;  // ranks of several nodes have opened it
  Claims* claims = nullptr;    // not all ranks have
};

Attempt open_for_log(const Handle& handle, Job& job, const Means& means) {
  Cluster* const cluster = means.cluster;
  Job::OpenOptions options;
  options.path = handle.path;
  options.read_only = !handle.can_write();
  options.layout = handle.hints->layout;
  options.closes_in_background = closes_in_background(handle);
  options.holds_back = holds_back(*handle.hints);
  if (!options.holds_back) options.direct_from = direct_from(*handle.hints, options.closes_in_background);
  if (cluster != nullptr) options.reach = Spanning::over(*cluster);
  Result<std::shared_ptr<File>> opened = job.open(options);
  if (!opened.ok()) return cannot_open(opened.status());
  Candidate file(std::move(opened).value());
  if (handle.decided_late && !(handle.identity && same_file(*handle.identity, file->identity())))
    return cannot("its name leads to another file by now");
  if (cluster != nullptr && !can_span_nodes(handle, *file))
    return cannot(handle.can_write() ? "open without the log, or by threads at once" : "only read");
  if (means.claims != nullptr && cluster == nullptr) {
    bool granted = true;
    Status claimed = claim_to_log(handle, *means.claims, *file, &granted);
    if (!granted || !claimed.ok()) return not_granted(std::move(claimed));
  }
  const Result<uint64_t> size = file->size_bytes_here();
  if (!size.ok()) return cannot("its size cannot be told");
  return {std::move(file), {}, static_cast<int64_t>(size.value())};
}

// Before anybody logs: what dead jobs left for this file is older than what is written from here on. A file
// that was undecided may have been written since it was opened: then nothing is brought in any more.
Status bring_in_first(const Handle& handle, const std::optional<FileIdentity>& identity,
                      const JobOptions& job) {
  if (!handle.decided_late)
    return identity ? bring_in_pending(job.directory, *identity, handle.path) : Status();
  if (handle.looked_in == job.directory || !has_other_jobs(job.directory, job.id)) return {};
  return {Code::busy, "dead jobs may have logs of '" + handle.path + "' in " + job.directory +
                          ", which was not the log directory when the file was opened"};
}

// No job of the log, or no place in it for this file.
Attempt attempt_log(const Handle& handle, const Means& means, const std::optional<FileIdentity>& identity) {
  const Result<Job*> job = Process::instance().job(*handle.hints);
  if (!job.ok()) return cannot("there is no log", job.status());
  if (job.value()->has_lost_log()) return cannot("the log directory was removed");  // which has been said
  const bool leads = handle.rank == 0 || (means.cluster != nullptr && means.cluster->leads_node());
  Status brought = leads ? bring_in_first(handle, identity, job.value()->options()) : Status();
  if (!brought.ok()) return cannot("a dead job's log of it is left", std::move(brought));
  Status descriptors = job.value()->require_descriptors();
  if (!descriptors.ok()) return cannot("too few file descriptors", std::move(descriptors));
  return open_for_log(handle, *job.value(), means);
}

Attempt attempt_straight(const Handle& handle) {
  StraightOpen opened = open_straight(handle);
  if (opened.file == nullptr) return cannot(std::move(opened.why_not), std::move(opened.misconfigured));
  const Result<uint64_t> size = opened.file->size_bytes();
  if (!size.ok()) return cannot("its size cannot be told");
  Attempt straight{Candidate(), std::move(opened.file), static_cast<int64_t>(size.value())};
  // What is held back must be seen by all, on the node's logs alone.
  if (!holds_back(*handle.hints) || Process::instance().spans_nodes()) return straight;
  Attempt logged = attempt_log(handle, {}, identity_at(handle.path));
  straight.misconfigured = std::move(logged.misconfigured);
  if (logged.file) straight.size_bytes = logged.size_bytes;
  straight.file = std::move(logged.file);
  return straight;
}

Attempt attempt(const Handle& handle, const Means& means) {
  if (handle.hints->mode == Mode::off) return cannot("pmio_mode=off");
  if (handle.path.empty()) return cannot("a name that may be two files'");
  if (!handle.against.empty()) return cannot(handle.against);
  if (goes_straight(handle.hints->mode)) return attempt_straight(handle);
  if (means.cluster == nullptr && means.claims == nullptr && Process::instance().spans_nodes())
    return cannot("other ranks do not log it");
  const std::optional<FileIdentity> identity = identity_at(handle.path);
  if (means.cluster == nullptr && handle.hints->mode == Mode::automatic &&
      !suits_automatic(handle.path, identity))
    return cannot("its file system is untried: pmio_mode=log");
  return attempt_log(handle, means, identity);
}

// If this process may have no more memory (ulimit -v), the program runs on without the log.
Attempt try_attempt(const Handle& handle, const Means& means) {
  try {
    return attempt(handle, means);
  } catch (const std::bad_alloc&) {
    return cannot("not enough memory", Status(Code::io, "not enough memory for the log", ENOMEM));
  }
}

// Collective over a group on several nodes: whether it may log the file, once all have it open.
void claim_for_group(const Handle& handle, const Opening& ranks, const Means& means, Attempt* mine) {
  if (!ranks.on_all_ranks(static_cast<bool>(mine->file))) return;
  bool granted = true;
  Status claimed = claim_together(handle, *means.claims, *means.cluster, *mine->file, &granted);
  if (!granted || !claimed.ok()) *mine = not_granted(std::move(claimed));
}

int64_t new_open_number() {
  static std::atomic<int64_t> opened{0};
  int world = 0;
  mpi().Comm_rank(MPI_COMM_WORLD, &world);
  return static_cast<int64_t>(world) << 32 | opened.fetch_add(1);
}

OpenStatement statement_of(const Handle& handle, const Cluster* cluster, const Attempt& mine) {
  OpenStatement said;
  said.rank = handle.rank;
  said.closes_in_background = closes_in_background(handle);
  said.can_log = static_cast<bool>(mine.file);
  said.has_complaint = !mine.misconfigured.ok();
  said.proposed_tag = propose_tag();
  if (handle.rank == 0) said.open_number = new_open_number();
  if (goes_straight(handle.hints->mode)) said.mode = static_cast<int64_t>(handle.hints->mode);
  if (!mine.file && !mine.straight) return said;
  const FileIdentity identity = mine.file ? mine.file->identity() : *mine.straight->target().identity();
  OpenedFile& file = said.file.emplace();
  file.size_bytes = mine.size_bytes;
  file.mark = static_cast<int64_t>((identity.inode ^ identity.birth_ns) & INT64_MAX);
  if (!mine.file) return said;
  file.file_number = static_cast<int64_t>(mine.file->reach().number());
  if (cluster == nullptr) return said;
  const Spanning& reach = Spanning::of(*mine.file);
  file.last_call = static_cast<int64_t>(reach.last_call());
  file.horizon = static_cast<int64_t>(reach.horizon());
  file.finished_horizon = static_cast<int64_t>(reach.finished_horizon());
  return said;
}

// Collective: tells the file where its calls stand, as the ranks have agreed. False, on all ranks: one of
// them cannot note it.
bool all_join_nodes(File& file, const Agreement& all, const Opening& ranks) {
  Spanning::Agreed agreed{};
  agreed.number = static_cast<uint64_t>(all.file_number());
  agreed.last_call = static_cast<uint64_t>(all.last_call());
  agreed.horizon = static_cast<uint64_t>(all.horizon());
  agreed.finished_horizon = static_cast<uint64_t>(all.finished_horizon());
  agreed.size = static_cast<uint64_t>(all.size_bytes());
  const Status joined = Spanning::of(file).join_nodes(agreed);
  if (!joined.ok()) complain_once(joined.message() + "; the program runs on without the log");
  return ranks.on_all_ranks(joined.ok());
}

// How a file may be opened in a job on several nodes.
struct AcrossNodesWay {
  bool handed_on = false;
  Means means = {};  // if it is logged
};

// Collective.
Means means_of(const Handle& handle, Opening& ranks, const char** why_not) {
  Process& process = Process::instance();
  if (ranks.all_of_the_job()) return {process.join_nodes(*handle.hints), nullptr};
  if (ranks.all_on_this_node()) return {nullptr, process.claims()};
  // Nothing of it is in their logs.
  *why_not = "only read";
  if (!handle.can_write() && process.known_group(ranks) == nullptr) return {};
  Cluster* const group = process.join_group(*handle.hints, ranks, why_not);
  return {group, group != nullptr ? process.claims() : nullptr};
}

// Collective, if the ranks are on several nodes.
AcrossNodesWay span_nodes(Handle& handle, Opening& ranks, bool opened) {
  enum { kNothing, kStraight, kLog };
  Process& process = Process::instance();
  const bool off = handle.hints->mode == Mode::off;
  const bool some = ranks.all_of_the_job() || process.claims() != nullptr;
  const bool straight = goes_straight(handle.hints->mode);
  const bool suits =
      some && opened && !off && !straight && seen_by_other_nodes(handle.path, 0, handle.rank == 0);
  const int way = ranks.least(straight ? kStraight : suits ? kLog : kNothing);
  if (way == kStraight) return {};
  AcrossNodesWay log;
  const char* no_group = kUnreachable;
  if (way == kLog) log.means = means_of(handle, ranks, &no_group);
  log.handed_on = log.means.cluster == nullptr && log.means.claims == nullptr;
  handle.why_not = !log.handed_on ? ""
                   : way == kLog  ? no_group
                   : off          ? "pmio_mode=off"
                   : !some        ? kUnreachable
                   : suits        ? ""
                                  : "file system: pmio_across_nodes";
  return log;
}

// Whether all ranks may have the file as they want; if not, handle.why_not says what this one knows of it.
bool all_can(Handle& handle, const Cluster* cluster, const Attempt& mine, const Agreement& all) {
  if (all.complains(handle.rank))
    complain_once(mine.misconfigured.message() + "; the program runs on without the log");
  if (!all.same_mode()) {
    handle.why_not = "the ranks differ in pmio_mode";
    return false;
  }
  if (!all.all_can()) {
    handle.why_not = mine.file || mine.straight ? "" : mine.why_not;
    return false;
  }
  if ((cluster == nullptr && !mine.straight) || all.same_file()) return true;
  if (handle.rank == 0) {
    complain_once("'" + handle.path +
                  "' is not the same file on all nodes; the program runs on without the log for it");
  }
  handle.why_not = "not the same file on all nodes";
  return false;
}

// With all that the ranks have agreed on: whatever becomes of the bytes, pmio keeps view and pointers.
void begin(Handle& handle, const Agreement& all) {
  if (!handle.can_write()) handle.largest_bytes = INT64_MAX;
  if (handle.amode & MPI_MODE_APPEND) handle.position = handle.shared_start = all.size_bytes();
  handle.number = all.open_number();
  handle.view = FileView::bytes().value();
  handle.etype = HeldType(MPI_BYTE);
  handle.filetype = HeldType(MPI_BYTE);
}

void begin_logging(Handle& handle, const Agreement& all) {
  const int64_t number = handle.number;
  handle.open = handle.file->opens().add(static_cast<uint64_t>(number), static_cast<uint32_t>(handle.ranks),
                                         static_cast<uint32_t>(handle.rank));
  Job* job = Process::instance().joined();
  handle.closes_in_background = all.closes_in_background();
  handle.shared = std::make_unique<SharedPointer>(job->directory() + "/shared-" + std::to_string(number));
  handle.set_engine(log_engine());
}

// pmio_cb_buffering: the aggregators' logs take what they receive, but for stripes that a call fills.
void begin_buffering(Handle& handle, const Opening& ranks) {
  handle.buffered = BufferedFile::make(handle, ranks);
  if (!handle.buffered) return;
  const uint64_t stripe_bytes = handle.buffered->engine().options().stripe_bytes;
  handle.file->set_direct_from({stripe_bytes, stripe_bytes});
  handle.set_engine(buffered_engine());
}

}  // namespace

bool closes_in_background(const Handle& handle) {
  const Job* job = Process::instance().joined();
  return handle.hints->closes_in_background &&
         (job != nullptr ? job->options().background : handle.hints->background);
}

Status bring_in_pending(const std::string& log_directory, const FileIdentity& identity,
                        const std::string& path) {
  std::vector<std::string> running;
  Status brought = recover_pending(log_directory, identity, path, Process::instance().id(), &running);
  for (const std::string& line : running) complain_once(line);
  return brought;
}

void start_logging(Handle& handle, Opening& ranks, bool opened) {
  handle.why_not = "ranks of another MPI_COMM_WORLD";
  if (!ranks.in_one_world()) return;
  handle.why_not = "";
  Means means;
  if (Process::instance().spans_nodes()) {
    const AcrossNodesWay way = span_nodes(handle, ranks, opened);
    if (way.handed_on) return;
    means = way.means;
  }
  Cluster* const cluster = means.cluster;
  Attempt mine = opened ? try_attempt(handle, means) : Attempt();
  if (cluster != nullptr && means.claims != nullptr) claim_for_group(handle, ranks, means, &mine);
  const Agreement all = ranks.agree(statement_of(handle, cluster, mine));
  if (!all_can(handle, cluster, mine, all)) {
    if (Job* job = Process::instance().joined(); job != nullptr && opened)
      count(job->counters().files_passed_through);
    return;
  }
  if (cluster != nullptr && !all_join_nodes(*mine.file, all, ranks)) {
    handle.why_not = "its nodes could not note it";
    return;
  }
  handle.team = ranks.make_team(all);
  begin(handle, all);
  if (mine.straight && !all.all_can_log()) return begin_straight(handle, ranks, std::move(mine.straight));
  handle.file = mine.file.keep();
  handle.cluster = cluster;
  begin_logging(handle, all);
  if (mine.straight) begin_buffering(handle, ranks);
}

}  // namespace pmio
