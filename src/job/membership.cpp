#include "job/membership.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <numeric>
#include <vector>

#include "base/file_descriptor.h"
#include "base/forked.h"
#include "base/memory_limits.h"
#include "job/capacity.h"
#include "log/last_seen.h"
#include "medium/directory.h"
#include "medium/job_name.h"
#include "medium/registry.h"

namespace pmio {

constexpr uint64_t kDescriptorsOfTheProgram = 256;  // at least
constexpr int kMostAttempts = 10;

static std::string job_directory(const std::string& directory, uint64_t id) {
  return directory + "/" + job_name(id);
}

// Shared flock on `alive`. A recovery that sees the directory before the lock is there may remove it again.
// So the file that was locked must still be the one in the directory.
static Result<int> declare_alive(const std::string& directory) {
  const std::string path = directory + "/" + kAlive;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Status::from_errno(errno, "cannot create '" + path + "'");
  struct stat here {};
  struct stat there {};
  if (flock(fd, LOCK_SH) == 0 && fstat(fd, &here) == 0 && stat(path.c_str(), &there) == 0 &&
      here.st_ino == there.st_ino) {
    return fd;
  }
  close(fd);
  return Status(Code::busy, "the job directory '" + directory + "' vanished while it was made; try again");
}

static std::vector<uint32_t> ranks_of_node(const JobOptions& options) {
  if (!options.of_node.empty()) return options.of_node;
  std::vector<uint32_t> lowest(options.ranks_here != 0 ? options.ranks_here : options.ranks);
  std::iota(lowest.begin(), lowest.end(), 0);
  return lowest;
}

static uint32_t seat_of(const std::vector<uint32_t>& ranks, uint32_t rank) {
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
  PMIO_ASSERT(at != ranks.end() && *at == rank);
  return static_cast<uint32_t>(at - ranks.begin());
}

Membership::Membership(const JobOptions& options, LeftUndrained left_undrained)
    : options_(options),
      of_node_(pmio::ranks_of_node(options)),
      seat_(seat_of(of_node_, options.rank)),
      left_undrained_(left_undrained),
      directory_(job_directory(options.directory, options.id)) {}

Status Membership::enter_directory() {
  for (int attempt = 0; alive_fd_ < 0; attempt++) {
    auto medium = options_.open_log(directory_, options_.durability);
    if (!medium.ok()) return medium.status();
    medium_ = std::move(medium).value();
    auto alive = declare_alive(directory_);
    if (alive.ok())
      alive_fd_ = *alive;
    else if (attempt == kMostAttempts)
      return alive.status();
  }
  keep_from_children(alive_fd_);
  return {};
}

Status Membership::choose_capacity() {
  const std::vector<MemoryLimit> limits = medium_->limits();
  const auto ranks_here = static_cast<uint32_t>(of_node_.size());
  if (options_.capacity_bytes != 0) {
    options_.capacity_bytes = bounded_capacity(options_.capacity_bytes, ranks_here, limits);
    return {};
  }
  const auto free = free_bytes_in(directory_);
  if (!free.ok()) return free.status();
  options_.capacity_bytes = default_capacity(free.value(), ranks_here, limits);
  return {};
}

// Runs are scratch: they go to memory if there is some, and to the log medium otherwise.
void Membership::find_scratch() {
  if (medium_->kind() == MediumKind::tmpfs) return;
  const std::string root = "/dev/shm/pmio-index-" + std::to_string(geteuid());
  if (!open_medium(root, Durability::none).ok()) return;
  auto dram = open_medium(job_directory(root, options_.id), Durability::none);
  if (dram.ok() && (*dram)->kind() == MediumKind::tmpfs) dram_ = std::move(dram).value();
}

Result<std::unique_ptr<Membership>> Membership::join(const JobOptions& options,
                                                     LeftUndrained left_undrained) {
  std::unique_ptr<Membership> member(new Membership(options, left_undrained));
  // The directory itself must be safe before anything is put below it.
  auto root = Directory::open(options.directory);
  if (!root.ok()) return root.status();
  PMIO_TRY(member->enter_directory());
  if (member->outlives_node()) PMIO_TRY(root->sync_new_name());
  if (options.suits) PMIO_TRY(options.suits(member->place()));
  const std::string lock = member->directory_ + "/lock";
  member->lock_fd_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (member->lock_fd_ < 0) return Status::from_errno(errno, "cannot create '" + lock + "'");
  keep_from_children(member->lock_fd_);
  // Not worth an error: it only helps to find the log of a job that is killed. `pmio doctor` says why it
  // fails.
  if (auto registry = Registry::create(); registry.ok())
    (void)registry->add(options.id, options.directory, member->outlives_node());
  member->is_noted_ = true;
  PMIO_TRY(member->choose_capacity());
  member->find_scratch();
  member->pool_ = std::make_unique<SegmentPool>(*member->medium_, options.rank,
                                                member->options_.capacity_bytes, largest_file_bytes());
  return member;
}

Membership::~Membership() {
  pool_.reset();
  forget_descriptor(lock_fd_);
  if (lock_fd_ >= 0) close(lock_fd_);
  if (alive_fd_ < 0) return;
  remove_if_last();
  flock(alive_fd_, LOCK_UN);  // a process that the program has forked may have the descriptor, too
  forget_descriptor(alive_fd_);
  close(alive_fd_);
}

// Removes what a job leaves when all its files are complete.
static void remove_files(Medium& medium) {
  auto names = medium.list();
  if (!names.ok()) return;
  for (const std::string& name : *names)
    if (name != kAlive) (void)medium.remove(name);
}

static void remove_directory(Medium& medium) {
  (void)medium.remove(kAlive);
  rmdir(medium.directory().c_str());
}

void Membership::remove_if_last() {
  // Turning the shared lock into an exclusive one succeeds for the last process only.
  if (flock(alive_fd_, LOCK_EX | LOCK_NB) != 0 || log_is_kept() || left_undrained_(*medium_)) return;
  if (dram_ != nullptr) {
    remove_files(*dram_);
    remove_directory(*dram_);
  }
  // A process that is killed here leaves what recovery removes, or an empty directory: never a note of a
  // log that is gone.
  remove_files(*medium_);
  // Else another process of the job may have its log elsewhere.
  if (auto registry = Registry::find(); is_noted_ && registry.ok()) (void)registry->remove(options_.id);
  remove_directory(*medium_);
}

void Membership::go_on() { flock(alive_fd_, LOCK_SH | LOCK_NB); }

// Not if this process has taken the directory away itself, when it was about to end (node/ending.h). Some
// file systems count no names.
bool Membership::names_are_gone() const {
  struct stat held {};
  struct stat named {};
  if (past_log_.load(std::memory_order_acquire) || fstat(alive_fd_, &held) != 0 || held.st_nlink != 0)
    return false;
  return stat((directory_ + "/" + kAlive).c_str(), &named) != 0 || named.st_ino != held.st_ino ||
         named.st_dev != held.st_dev;
}

void Membership::note_seen() const { static_cast<void>(pmio::note_seen(alive_fd_)); }

bool Membership::spans_nodes() const { return of_node_.size() < options_.ranks; }

bool Membership::outlives_node() const { return outlives_power(medium_->kind(), options_.durability); }

bool Membership::durable_fences() const {
  return medium_->kind() != MediumKind::disk || options_.durability == Durability::always;
}

void Membership::keep_log() {
  kept_.store(true, std::memory_order_relaxed);
  std::ofstream(directory_ + "/" + kKeepMark).flush();
}

bool Membership::log_is_kept() const {
  return kept_.load(std::memory_order_relaxed) || access((directory_ + "/" + kKeepMark).c_str(), F_OK) == 0;
}

JobPlace Membership::place() const {
  JobPlace place;
  struct stat facts {};
  if (fstat(alive_fd_, &facts) == 0) {
    place.device = facts.st_dev;
    place.inode = facts.st_ino;
  }
  if (stat("/proc/self/ns/pid", &facts) == 0) place.processes = facts.st_ino;
  return place;
}

Status Membership::require_descriptors() const {
  rlimit limit{};
  const int lowest_free = fcntl(alive_fd_, F_DUPFD_CLOEXEC, 0);
  if (lowest_free >= 0) close(lowest_free);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const uint64_t reserved = reserved_descriptors_;
  // Most of those that are reserved are out of the way, as far as there is room.
  const uint64_t high = limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, FD_SETSIZE);
  const uint64_t among_low = reserved - std::min(reserved, high);
  if (lowest_free >= 0 && static_cast<rlim_t>(lowest_free) < among_low + (limit.rlim_cur - reserved) / 4)
    return {};
  return {Code::no_space,
          "a quarter of the " + std::to_string(limit.rlim_cur) +
              " file descriptors that a process may have is in use: raise 'ulimit -n' to log more "
              "files at once"};
}

Status Membership::reserve_descriptors(uint64_t more) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return Status::from_errno(errno, "cannot ask for 'ulimit -n'");
  const std::lock_guard lock(directory_mutex_);
  const uint64_t all = reserved_descriptors_ + more;
  if (limit.rlim_max < all + kDescriptorsOfTheProgram)
    return {Code::no_space, std::to_string(all) +
                                " connections to the job's other ranks need 'ulimit -Hn' to be " +
                                std::to_string(all + kDescriptorsOfTheProgram) + " at least; it is " +
                                std::to_string(limit.rlim_max)};
  limit.rlim_cur += std::min<rlim_t>(more, limit.rlim_max - limit.rlim_cur);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return Status::from_errno(errno, "cannot raise 'ulimit -n'");
  reserved_descriptors_ = all;
  return {};
}

DirectoryLock::DirectoryLock(Membership& member)
    : fd_(member.lock_fd_), of_threads_(member.directory_mutex_) {
  while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

// By name: to close the descriptor is not enough if a process that the program has forked has it, too.
DirectoryLock::~DirectoryLock() { flock(fd_, LOCK_UN); }

}  // namespace pmio
