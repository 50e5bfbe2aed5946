#include "mpi/process.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

#include "base/biased_mutex.h"
#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/pulse.h"
#include "medium/default_directory.h"
#include "mpi/agree.h"
#include "mpi/aside.h"
#include "mpi/calls.h"
#include "mpi/ends.h"
#include "mpi/errors.h"
#include "mpi/next_functions.h"
#include "mpi/roll.h"
#include "mpi/site_hints.h"
#include "mpi/straight_engine.h"
#include "mpi/summary.h"
#include "preload/names.h"
#include "preload/roll_call.h"
#include "preload/vote.h"
#include "stats/io_lines.h"

namespace pmio {
namespace {

// What was opened through a communicator of a session (MPI 4.1, 11.3) may be used after MPI_Finalize. What
// the program has forgotten to close is at least complete.
void leave_open_files_to_library() {
  for (Handle* handle : own_handles()) {
    note_closing(*handle);
    if (handle->straight) note_straight(*handle);
    (void)step_aside(*handle, nullptr);  // an error has been said
  }
  drop_handles();
}

std::string directory_of(const Hints& hints) {
  return hints.directory.empty() ? default_directory() : hints.directory;
}

JobOptions job_options(const Hints& hints, uint64_t id, int rank, int ranks, int ranks_here) {
  JobOptions options;
  options.directory = directory_of(hints);
  options.id = id;
  options.rank = static_cast<uint32_t>(rank);
  options.ranks = static_cast<uint32_t>(ranks);
  options.ranks_here = static_cast<uint32_t>(ranks_here);
  options.capacity_bytes = hints.log_bytes;
  options.index_bytes = hints.index_bytes;
  options.durability = hints.durability;
  options.background = hints.background;
  options.max_age_ns = hints.max_age_ns;
  options.keep_closed = hints.keep_closed;
  options.say = complain_once;
  return options;
}

uint64_t random_id() {
  uint64_t id = 0;
  while (getrandom(&id, sizeof id, 0) != sizeof id && errno == EINTR) {
  }
  return id;
}

// Without it several ranks of a node log nothing.
void keep(Result<std::unique_ptr<Rendezvous>> made, std::unique_ptr<Rendezvous>* into) {
  if (made.ok()) *into = std::move(made).value();
}

constexpr int kStatisticsOfCalls = 2;  // level

// MPICH_MPIIO_XSTATS: the level.
int crays_statistics() {
  const char* text = std::getenv("MPICH_MPIIO_XSTATS");
  const std::string_view value = text == nullptr ? "" : text;
  return value == "2" ? kStatisticsOfCalls : value == "1" ? 1 : 0;
}

constexpr std::chrono::seconds kPatience{PMIO_VOTE_PATIENCE_SECONDS};

// For a Pulse, whose first beat is at once.
std::function<void()> tell_of_waiting() {
  return [beats = 0]() mutable {
    if (beats++ == 0) return;
    complain_once(PMIO_VOTE_WAITS);
  };
}

}  // namespace

// Never destroyed, since other libraries' destructors may still call MPI.
Process& Process::instance() {
  static Process& process = *new Process;
  return process;
}

void Process::start() {
  start_realtime_ns_ = realtime_ns();
  start_ns_ = monotonic_ns();
  const bool bound = bind_mpi_library();
  if (!bound) {
    (void)call_roll(false);
    if (pmio_is_first_rank() == 0) return;
    complain_once(
        "this library is for another MPI than the program's, or that lacks functions that pmio needs; the "
        "program runs on without the log: see 'pmio doctor'");
    return;
  }
  mpi().Comm_rank(MPI_COMM_WORLD, &rank_);
  mpi().Comm_size(MPI_COMM_WORLD, &ranks_);
  int level = MPI_THREAD_SINGLE;
  mpi().Query_thread(&level);
  Hints hints = *site_hints(rank_ == 0);
  hints.stats = std::max(hints.stats, crays_statistics());
  can_log_ = all_agree_to_log(hints, level == MPI_THREAD_MULTIPLE) && meet_node(hints.interface);
  if (can_log_ && stats_level_ > 0) start_statistics();
}

bool Process::all_agree_to_log(const Hints& hints, bool threads_at_once) {
  // One of these ranks has pmio, mostly, where others have not and will never come.
  std::optional<Pulse> notice;
  if (ranks_ > 1 && (rank_ < 2 || rank_ == ranks_ - 1)) notice.emplace(kPatience, tell_of_waiting());
  return all_take_part(hints) && all_may_log(hints, threads_at_once);
}

bool Process::all_take_part(const Hints& hints) {
  const pmio_roll roll = call_roll(true);
  if (roll == PMIO_ROLL_UNKNOWN || roll == PMIO_ROLL_ALL) return true;
  why_not_ = "other programs of the job run without pmio";
  const bool is_asked = hints.stats > 0 || std::getenv(PMIO_ENV_COMMAND) != nullptr;
  if (roll == PMIO_ROLL_TO_SAY && hints.mode != Mode::off && is_asked) complain_once(PMIO_SOME_MISSING);
  return false;
}

bool Process::all_may_log(const Hints& hints, bool threads_at_once) {
  const bool off = hints.mode == Mode::off;
  std::array<int, PMIO_VOTES> mine{}, all{};
  mine[PMIO_VOTE_MAY_LOG] = off ? 0 : 1;
  mine[PMIO_VOTE_ACROSS_NODES] = static_cast<int>(hints.across_nodes);
  mine[PMIO_VOTE_SINGLE_CALLS] = threads_at_once ? 0 : 1;
  mine[PMIO_VOTE_LESS_STATISTICS] = -hints.stats;
  mine[PMIO_VOTE_TAKES_PART] = 1;
  mpi().Allreduce(mine.data(), all.data(), PMIO_VOTES, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  across_nodes_ = static_cast<AcrossNodes>(all[PMIO_VOTE_ACROSS_NODES]);
  threads_at_once_ = all[PMIO_VOTE_SINGLE_CALLS] == 0;
  stats_level_ = all[PMIO_VOTE_TAKES_PART] != 0 ? -all[PMIO_VOTE_LESS_STATISTICS] : 0;
  if (stats_level_ < hints.stats)
    complain_once("there are no statistics: some ranks of the job run without pmio, or with PMIO_MODE=off");
  if (stats_level_ >= kStatisticsOfCalls && !off) IoLines::start(rank_);
  const bool may_log = all[PMIO_VOTE_MAY_LOG] != 0;
  why_not_ = may_log ? "PMIO_ACROSS_NODES=off" : off ? "PMIO_MODE=off" : "other ranks run without pmio";
  return may_log;
}

// The program's MPI_COMM_WORLD has messages of its own, and an error handler that may end it. Where all ranks
// are on one node, that node's communicator has them in the same order.
bool Process::make_comm(MPI_Comm node) {
  if (spans_nodes_) {
    mpi().Comm_free(&node);
    if (mpi().Comm_dup(MPI_COMM_WORLD, &comm_) != MPI_SUCCESS) return false;
  } else {
    comm_ = node;
  }
  mpi().Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  return true;
}

bool Process::meet_node(const std::string& interface) {
  if (ranks_ == 1) {
    id_ = random_id();
    keep(Rendezvous::create_alone(), &rendezvous_);
    return true;
  }
  MPI_Comm node = MPI_COMM_NULL;
  if (mpi().Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS)
    return false;
  mpi().Comm_size(node, &ranks_here_);
  spans_nodes_ = ranks_here_ != ranks_;
  const bool can_log = !spans_nodes_ || across_nodes_ != AcrossNodes::off;
  if (!can_log) {
    mpi().Comm_free(&node);
    return false;
  }
  share_identity(interface, node);
  return make_comm(node);
}

void Process::share_identity(const std::string& interface, MPI_Comm node) {
  int rank_here = 0;
  mpi().Comm_rank(node, &rank_here);
  if (rank_ == 0) id_ = random_id();
  if (spans_nodes_) number_node(node);
  if (rank_here == 0) keep(Rendezvous::create(id_), &rendezvous_);
  mpi().Bcast(&id_, 1, MPI_UINT64_T, 0, node);
  if (rank_here != 0) keep(Rendezvous::open(id_), &rendezvous_);
  const bool all_have = on_all_ranks(rendezvous_ != nullptr, node);
  if (rank_here == 0) Rendezvous::remove_name(id_);
  if (!all_have) rendezvous_.reset();
  if (spans_nodes_) start_claims(interface, node);
}

// Where the first rank of the node has put its log, all do, or they would not see each other's.
Result<std::unique_ptr<Job>> Process::join(const Hints& hints) {
  JobOptions options = job_options(hints, id_, rank_, ranks_, ranks_here_);
  options.of_node = place_.ranks;
  options.threads_at_once = threads_at_once_;
  if (!rendezvous_) {
    if (ranks_here_ == 1) return Job::join(options);  // nobody to share it with
    return Status(
        Code::unsupported,
        "the ranks of this node share no memory in /dev/shm, by which they would learn whether they "
        "share a log directory");
  }
  options.files_logged = &rendezvous_->files_logged();
  options.loss = &rendezvous_->loss();
  if (options.loss->known.load(std::memory_order_acquire) != 0)
    return Status(Code::io, "the log directory was removed");
  options.logs_in_use = &rendezvous_->logs_in_use();
  options.files_lagging = &rendezvous_->files_lagging();
  options.files_handed_on = &rendezvous_->files_handed_on();
  std::unique_ptr<Job> job;
  PMIO_TRY(rendezvous_->with_directory(options.directory, [&](const std::string& directory) -> Status {
    options.directory = directory;
    options.suits = [this](const JobPlace& place) { return rendezvous_->agree_on(place); };
    Result<std::unique_ptr<Job>> joined = Job::join(options);
    if (!joined.ok()) return joined.status();
    job = std::move(joined).value();
    return {};
  }));
  return job;
}

Result<Job*> Process::job(const Hints& hints) {
  const LockGuard lock(mutex_);
  if (job_) return job_.get();
  if (!join_error_.ok()) return join_error_;
  Result<std::unique_ptr<Job>> joined = join(hints);
  if (!joined.ok()) {
    join_error_ = joined.status();
    return join_error_;
  }
  job_ = std::move(joined.value());
  const uint64_t log_bytes = job_->options().capacity_bytes;
  if (log_bytes < hints.log_bytes && rank_ == 0)
    complain_once("the log of each rank is " + std::to_string(log_bytes >> 20) +
                  " MiB and not pmio_log_size, by the limits of the job's memory: see 'pmio doctor'");
  hints_ = hints;
  hints_.directory = job_->options().directory;
  hints_.log_bytes = log_bytes;
  facts_ = run_facts(rank_, ranks_);
  joined_.store(job_.get(), std::memory_order_release);
  if (const auto kept_in = statistics_directory(job_.get()); kept_in.ok())  // else it is said at the end
    (void)announce_statistics(kept_in.value(), facts(job_.get()));
  watch_ends(job_->options().background);
  return job_.get();
}

std::string Process::log_directory(const Hints& hints) const {
  const Job* job = joined();
  return job != nullptr ? job->options().directory : directory_of(hints);
}

std::optional<uint64_t> Process::files_logged() const {
  if (!rendezvous_) return std::nullopt;
  // Acquire: what was logged before the count was raised is there for those who look for it now.
  return rendezvous_->files_logged().load(std::memory_order_acquire);
}

bool Process::nothing_is_logged() const {
  return rendezvous_ && !spans_nodes_ && rendezvous_->logs_in_use().load(std::memory_order_acquire) == 0;
}

bool Process::some_file_lags() {
  if (rendezvous_) return rendezvous_->files_lagging().load(std::memory_order_acquire) != 0;
  Job* job = joined();
  return job != nullptr && job->has_lagging_files();
}

void Process::note_handed_on() {
  if (rendezvous_) rendezvous_->files_handed_on().fetch_add(1, std::memory_order_acq_rel);
}

bool Process::first_to_say(const std::string& text) const {
  return !rendezvous_ || rendezvous_->first_to_say(text);
}

Job* Process::joined_or_wanted(const Hints& hints) {
  Job* known = joined();
  if (known != nullptr || (!rendezvous_ && (ranks_here_ > 1 || spans_nodes_))) return known;
  // Of files of several nodes their ranks join together, before the first logs.
  if (files_logged() == 0) return nullptr;
  const Result<Job*> job = this->job(hints);
  if (!job.ok()) {
    complain_once(job.status().message() + "; what other ranks have logged cannot be seen");
    return nullptr;
  }
  return job.value();
}

Hints Process::job_hints() {
  const LockGuard lock(mutex_);
  return hints_;
}

void Process::note_unlogged_file(const char* name) {
  if (stats_level_ > 0 && name != nullptr) files_.add(name, why_not_);
}

void Process::forget_in_child() {
  (void)history_.release();  // its thread is the parent's
  can_log_ = false;
  joined_.store(nullptr, std::memory_order_relaxed);
}

void Process::finish() {
  if (!can_log_) return report(std::exchange(stats_level_, 0));
  can_log_ = false;
  const int mine = std::max(job_hints().stats, stats_level_);
  int level = 0;
  mpi().Allreduce(&mine, &level, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  leave_open_files_to_library();
  unwatch_signals();
  if (Job* job = joined()) {
    job->stop_background();
    if (spans_nodes_) job->complete_lagging_files();
  }
  // Until all have drained, all nodes must answer.
  if (spans_nodes_) mpi().Barrier(comm_);
  claims_.reset();
  report(level);
  history_.reset();
  if (ranks_ > 1) mpi().Comm_free(&comm_);
  free_group_comms();
  const LockGuard lock(mutex_);
  joined_.store(nullptr, std::memory_order_release);
  all_.cluster.reset();
  groups_.clear();
  job_.reset();
}

// MPI libraries start threads.
static void prepare_process() {
  make_way_if_alone();
  BiasedMutex::prepare_if_alone();
  pmio_roll_count();
}

int init(int* argc, char*** argv) {
  prepare_process();
  const int code = next_functions.Init.next()(argc, argv);
  if (code == MPI_SUCCESS) Process::instance().start();
  pmio_roll_forget();
  return code;
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  prepare_process();
  const int code = next_functions.Init_thread.next()(argc, argv, required, provided);
  if (code == MPI_SUCCESS) Process::instance().start();
  pmio_roll_forget();
  return code;
}

int finalize() {
  Process::instance().finish();
  return next_functions.Finalize.next()();
}

}  // namespace pmio
