#include "node/job.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/atomic_max.h"
#include "base/file_descriptor.h"
#include "base/forked.h"
#include "log/last_seen.h"
#include "medium/job_name.h"
#include "medium/registry.h"
#include "node/background.h"
#include "node/capacity.h"
#include "node/file_impl.h"

namespace pmio {

constexpr uint64_t kDescriptorsOfTheProgram = 256;  // at least

static std::string job_directory(const std::string& directory, uint64_t id) {
  return directory + "/" + job_name(id);
}

// Shared flock on `alive`. A recovery that sees the directory before the lock is there may remove it again,
// so the file that was locked must still be the one in the directory.
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

Job::Job() : impl_(std::make_unique<Impl>()) {}

Result<std::unique_ptr<Job>> Job::join(const JobOptions& options) {
  if (options.ranks > kMaxRanks) return Status(Code::unsupported, "more ranks than pmio can number");
  std::unique_ptr<Job> job(new Job);
  Impl& impl = *job->impl_;
  impl.options = options;
  impl.directory = job_directory(options.directory, options.id);
  // The directory itself must be safe before anything is put below it.
  if (auto root = open_medium(options.directory, options.durability); !root.ok()) return root.status();
  for (int attempt = 0; impl.alive_fd < 0; attempt++) {
    auto medium = options.open_log(impl.directory, options.durability);
    if (!medium.ok()) return medium.status();
    impl.medium = std::move(medium).value();
    auto alive = declare_alive(impl.directory);
    if (alive.ok())
      impl.alive_fd = *alive;
    else if (attempt == 10)
      return alive.status();
  }
  keep_from_children(impl.alive_fd);
  if (options.suits) PMIO_TRY(options.suits(job->place()));
  impl.lock_fd = ::open((impl.directory + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (impl.lock_fd < 0) return Status::from_errno(errno, "cannot create '" + impl.directory + "/lock'");
  keep_from_children(impl.lock_fd);
  // Not worth an error: it only helps to find the log of a job that is killed. `pmio doctor` says why it
  // fails.
  if (auto registry = Registry::create(); registry.ok())
    (void)registry->add(options.id, options.directory, impl.outlives_node());
  impl.is_noted = true;
  const std::vector<MemoryLimit> limits = impl.medium->limits();
  const uint32_t ranks_here = options.ranks_here != 0 ? options.ranks_here : options.ranks;
  if (options.capacity_bytes == 0) {
    auto facts = probe_medium(impl.directory);
    if (!facts.ok()) return facts.status();
    impl.options.capacity_bytes = default_capacity(*facts, ranks_here, limits);
  } else {
    impl.options.capacity_bytes = bounded_capacity(options.capacity_bytes, ranks_here, limits);
  }
  if (impl.medium->kind() != MediumKind::tmpfs) {
    // Runs are scratch: they go to memory where there is some, to the log medium otherwise.
    const std::string root = "/dev/shm/pmio-index-" + std::to_string(geteuid());
    if (open_medium(root, Durability::none).ok()) {
      auto dram = open_medium(job_directory(root, options.id), Durability::none);
      if (dram.ok() && (*dram)->kind() == MediumKind::tmpfs) impl.dram = std::move(dram).value();
    }
  }
  impl.pool = std::make_unique<SegmentPool>(*impl.medium, options.rank, impl.options.capacity_bytes,
                                            largest_file_bytes());
  impl.memory_watch = std::make_unique<MemoryWatch>(*impl.medium);
  impl.map = std::make_unique<SegmentMap>(*impl.medium, options.ranks);
  impl.lost_log = std::make_unique<LostLog>(impl);
  impl.ending = std::make_unique<Ending>(impl);
  return job;
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

// Nobody else is in the job any more. A control block that is still there is that of a file which a process
// had open when it died.
bool Job::Impl::dead_left_undrained() const {
  auto names = medium->list();
  if (!names.ok()) return true;
  return std::any_of(names->begin(), names->end(), [this](const std::string& name) {
    if (!name.starts_with("file-")) return false;
    auto region = medium->open(name, true);
    if (!region.ok() || (*region)->size_bytes() < sizeof(FileControl)) return true;
    const auto& control = *reinterpret_cast<const FileControl*>((*region)->data());
    return (*region)->size_bytes() < control_bytes(control.ranks) || has_undrained(control);
  });
}

Job::Impl::~Impl() {
  background.reset();
  pulse.reset();
  map.reset();
  pool.reset();
  forget_descriptor(lock_fd);
  if (lock_fd >= 0) close(lock_fd);
  if (alive_fd < 0) return;
  remove_if_last();
  flock(alive_fd, LOCK_UN);  // a process that the program has forked may have the descriptor, too
  forget_descriptor(alive_fd);
  close(alive_fd);
}

// Where there can be no more threads, a file is drained when the log is full, and at syncs and closes.
void Job::Impl::start_background() {
  try {
    background = std::make_unique<Background>(this);
  } catch (const std::system_error&) {
    // Perhaps at the next open.
  }
}

void Job::Impl::remove_if_last() {
  // Turning the shared lock into an exclusive one succeeds for the last process only.
  if (flock(alive_fd, LOCK_EX | LOCK_NB) != 0 || log_is_kept() || dead_left_undrained()) return;
  if (dram != nullptr) {
    remove_files(*dram);
    remove_directory(*dram);
  }
  // A process that is killed here leaves what recovery removes, or an empty directory: never a note of a
  // log that is gone.
  remove_files(*medium);
  // Else another process of the job may have its log elsewhere.
  if (auto registry = Registry::find(); is_noted && registry.ok()) (void)registry->remove(options.id);
  remove_directory(*medium);
}

void Job::end() { impl_->ending->await(true); }
void Job::end_in_handler() { impl_->ending->await(false); }
void Job::go_on() { flock(impl_->alive_fd, LOCK_SH | LOCK_NB); }

void Job::stop_background() { impl_->background.reset(); }

Job::~Job() {
  stop_background();
  for (const auto& file : impl_->open_files()) {
    // A file that the program did not close: complete it, as the end of the job is the last chance.
    const Status status = file->drain();
    if (status.ok()) continue;
    impl_->keep_log();
    if (impl_->lost_log->is_known() && impl_->options.say) impl_->options.say(status.message());
  }
  impl_->unfinished.clear();
  impl_->resting.clear();
}

bool Job::Impl::durable_fences() const {
  return medium->kind() != MediumKind::disk || options.durability == Durability::always;
}

void Job::Impl::keep_log() {
  kept.store(true, std::memory_order_relaxed);
  std::ofstream(directory + "/" + kKeepMark).flush();
}

bool Job::Impl::log_is_kept() const {
  return kept.load(std::memory_order_relaxed) || access((directory + "/" + kKeepMark).c_str(), F_OK) == 0;
}

std::vector<std::shared_ptr<File>> Job::Impl::open_files() {
  std::vector<std::shared_ptr<File>> open;
  std::lock_guard lock(files_mutex);
  for (auto at = files.begin(); at != files.end();) {
    auto file = at->second.lock();
    if (file == nullptr) {
      at = files.erase(at);
      continue;
    }
    const bool held_by_none = unfinished.contains(at->first) && file.use_count() == 2;
    if (!held_by_none) open.push_back(std::move(file));
    ++at;
  }
  return open;
}

bool Job::Impl::recycle_elsewhere(const File::Impl& own) {
  for (const auto& file : open_files()) {
    if (file->impl_.get() == &own) continue;
    std::unique_lock lock(file->impl_->append_mutex, std::try_to_lock);
    if (lock.owns_lock() && file->impl_->free_oldest_drained()) return true;
  }
  return false;
}

void Job::Impl::note_fill() {
  uint64_t segments = 0;
  for (const auto& file : open_files()) segments += file->impl_->undrained_segments();
  raise_to(counters.log_peak_bytes, segments * pool->segment_bytes());
  raise_to(counters.log_capacity_bytes, uint64_t{pool->limit()} * pool->segment_bytes());
}

Status Job::Impl::drain_all() {
  for (const auto& file : open_files())
    PMIO_TRY(file->spans_nodes() ? file->impl_->drain_what_can_be() : file->drain());
  return {};
}

bool Job::Impl::spans_nodes() const { return options.ranks_here != 0 && options.ranks_here < options.ranks; }

bool Job::Impl::outlives_node() const {
  return medium->kind() == MediumKind::dax ||
         (medium->kind() == MediumKind::disk && options.durability != Durability::none);
}

static Result<std::unique_ptr<TargetFile>> open_target(const std::string& path, bool read_only) {
  // What is only read may have to be written all the same, where this process drains what others have logged.
  auto target =
      read_only ? TargetFile::open_to_read(path) : TargetFile::open(path, TargetFile::Access::read_write);
  return target.status().code() == Code::access ? TargetFile::open(path, TargetFile::Access::write_only)
                                                : std::move(target);
}

Result<std::shared_ptr<File>> Job::open(const OpenOptions& options) {
  Impl& impl = *impl_;
  if (impl.lost_log->look()) return impl.lost_log->status();
  auto target = open_target(options.path, options.read_only);
  if (!target.ok()) return target.status();
  auto identity = (*target)->identity();
  if (!identity.ok()) return identity.status();
  if (!options.read_only) PMIO_TRY(impl.pool->require_one());
  const std::string key = file_key(*identity);
  std::shared_ptr<File> file;
  {
    std::lock_guard lock(impl.files_mutex);
    if (auto at = impl.files.find(key); at != impl.files.end()) file = at->second.lock();
    if (file != nullptr && !options.read_only && !file->target().open_to_write().ok())
      return Status(Code::access, "'" + options.path + "' is open already, and could only be read then");
    if (file == nullptr) {
      file = impl.wake(key, *identity, target.value());
      if (file != nullptr) impl.files[key] = file;
    }
    if (file == nullptr) {
      file.reset(new File);
      file->impl_->key = key;
      file->impl_->identity = *identity;
      PMIO_TRY(impl.attach(*file->impl_, std::move(target).value(), options));
      impl.files[key] = file;
    }
    if (impl.unfinished.erase(key) > 0) file->forgive_errors();
    const bool first = file->impl_->handles++ == 0;
    file->impl_->only_read = options.read_only && (first || file->impl_->only_read);
    if (impl.background == nullptr && impl.options.background) impl.start_background();
    if (impl.pulse == nullptr && impl.options.background && options.neighbours != nullptr)
      impl.pulse = std::make_unique<Pulse>(std::chrono::nanoseconds(kSeenEveryNs),
                                           [fd = impl.alive_fd] { static_cast<void>(note_seen(fd)); });
  }
  count(impl.counters.files_opened);
  return file;
}

Status Job::require_descriptors() const {
  rlimit limit{};
  const int lowest_free = fcntl(impl_->alive_fd, F_DUPFD_CLOEXEC, 0);
  if (lowest_free >= 0) close(lowest_free);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const uint64_t reserved = impl_->reserved_descriptors;
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

Status Job::reserve_descriptors(uint64_t more) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return Status::from_errno(errno, "cannot ask for 'ulimit -n'");
  if (limit.rlim_max < more + kDescriptorsOfTheProgram)
    return {Code::no_space, std::to_string(more) +
                                " connections to the job's other ranks need 'ulimit -Hn' to be " +
                                std::to_string(more + kDescriptorsOfTheProgram) + " at least; it is " +
                                std::to_string(limit.rlim_max)};
  limit.rlim_cur += std::min<rlim_t>(more, limit.rlim_max - limit.rlim_cur);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return Status::from_errno(errno, "cannot raise 'ulimit -n'");
  impl_->reserved_descriptors = more;
  return {};
}

bool Job::has_lost_log() { return impl_->lost_log->look(); }

Result<std::shared_ptr<File>> Job::find(const FileIdentity& identity, const std::string& path) {
  Impl& impl = *impl_;
  const std::string key = file_key(identity);
  {
    std::lock_guard lock(impl.files_mutex);
    if (auto at = impl.files.find(key); at != impl.files.end()) {
      if (auto file = at->second.lock()) return file;
    }
  }
  // There are no names to find it by: what others have logged is in the files.
  if (impl.lost_log->look()) {
    if (impl.lost_log->await_others()) return std::shared_ptr<File>();
    return Status(Code::io, impl.lost_log->status().message() +
                                ", and what other ranks had logged may not be in their files");
  }
  // Across nodes all ranks have it open, or are just closing it.
  if (impl.spans_nodes() || !impl.medium->has("file-" + key)) return std::shared_ptr<File>();
  OpenOptions options;
  options.path = path;
  options.read_only = true;  // nothing is logged through it
  auto file = open(options);
  if (!file.ok()) return file;
  {
    std::lock_guard lock(impl.files_mutex);
    (*file)->impl_->handles--;  // held by the caller's pointer only
  }
  if (same_file((*file)->identity(), identity)) return file;
  return Status(Code::invalid, "'" + path +
                                   "' is another file by now, and what other ranks log to the one that "
                                   "it was cannot be seen");
}

std::shared_ptr<File> Job::find_number(uint64_t number) {
  for (auto& file : impl_->open_files()) {
    if (file->number() == number) return file;
  }
  return nullptr;
}

const JobOptions& Job::options() const { return impl_->options; }

JobPlace Job::place() const {
  JobPlace place;
  struct stat facts {};
  if (fstat(impl_->alive_fd, &facts) == 0) {
    place.device = facts.st_dev;
    place.inode = facts.st_ino;
  }
  if (stat("/proc/self/ns/pid", &facts) == 0) place.processes = facts.st_ino;
  return place;
}

const std::string& Job::directory() const { return impl_->directory; }
Medium& Job::medium() { return *impl_->medium; }
Counters& Job::counters() { return impl_->counters; }

}  // namespace pmio
