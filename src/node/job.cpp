#include "node/job.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "medium/job_name.h"
#include "medium/registry.h"
#include "node/background.h"
#include "node/file_impl.h"

namespace pmio {

constexpr char kKeepMark[] = "undrained";
constexpr uint64_t kLargestDefault = uint64_t{1} << 30;
constexpr uint64_t kSmallestDefault = 16 << 20;
constexpr uint64_t kSmallestStripe = 64 << 10;

static uint64_t memory_bytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t default_capacity(const MediumFacts& facts, uint32_t ranks) {
  uint64_t all = facts.free_bytes / 2;
  if (facts.kind == MediumKind::tmpfs) all = std::min(all, memory_bytes() / 10);
  return std::clamp(all / std::max(1u, ranks), kSmallestDefault, kLargestDefault);
}

static std::string job_directory(const std::string& directory, uint64_t id) {
  return directory + "/" + job_name(id);
}

// Holds the flock of a file for as long as it lives; orders attaching and leaving between processes.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory) {
    fd_ = open((directory + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~DirectoryLock() {
    if (fd_ >= 0) close(fd_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  bool held() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Shared flock on `alive`. A recovery that sees the directory before the lock is there may remove it again,
// so the file that was locked must still be the one in the directory.
static Result<int> declare_alive(const std::string& directory) {
  const std::string path = directory + "/alive";
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
  // Not worth an error: it only helps to find the log of a job that is killed. `pmio doctor` says why it
  // fails.
  if (auto registry = Registry::create(); registry.ok())
    (void)registry->add(options.id, options.directory, impl.outlives_node());
  if (impl.options.capacity_bytes == 0) {
    auto facts = probe_medium(impl.directory);
    if (!facts.ok()) return facts.status();
    impl.options.capacity_bytes =
        default_capacity(*facts, options.ranks_here != 0 ? options.ranks_here : options.ranks);
  }
  if (impl.medium->kind() != MediumKind::tmpfs) {
    // Runs are scratch: they go to memory where there is some, to the log medium otherwise.
    const std::string root = "/dev/shm/pmio-index-" + std::to_string(geteuid());
    if (open_medium(root, Durability::none).ok()) {
      auto dram = open_medium(job_directory(root, options.id), Durability::none);
      if (dram.ok() && (*dram)->kind() == MediumKind::tmpfs) impl.dram = std::move(dram).value();
    }
  }
  impl.pool = std::make_unique<SegmentPool>(*impl.medium, options.rank, impl.options.capacity_bytes);
  impl.map = std::make_unique<SegmentMap>(*impl.medium, options.ranks);
  return job;
}

// Removes what a job leaves when all its files are complete.
static void remove_job_directory(Medium& medium) {
  if (auto names = medium.list(); names.ok()) {
    for (const std::string& name : *names) (void)medium.remove(name);
  }
  rmdir(medium.directory().c_str());
}

Job::Impl::~Impl() {
  background.reset();
  map.reset();
  pool.reset();
  if (alive_fd < 0) return;
  // Turning the shared lock into an exclusive one succeeds for the last process only.
  if (flock(alive_fd, LOCK_EX | LOCK_NB) == 0 && access((directory + "/" + kKeepMark).c_str(), F_OK) != 0) {
    if (dram != nullptr) remove_job_directory(*dram);
    remove_job_directory(*medium);
    if (auto registry = Registry::find(); registry.ok()) (void)registry->remove(options.id);
  }
  close(alive_fd);
}

Job::~Job() {
  for (const auto& file : impl_->open_files()) {
    // A file that the program did not close: complete it, as the end of the job is the last chance.
    if (Status status = file->drain(); !status.ok()) impl_->keep_log();
  }
}

bool Job::Impl::durable_fences() const {
  return medium->kind() != MediumKind::disk || options.durability == Durability::always;
}

void Job::Impl::keep_log() { std::ofstream(directory + "/" + kKeepMark).flush(); }

std::vector<std::shared_ptr<File>> Job::Impl::open_files() {
  std::vector<std::shared_ptr<File>> open;
  std::lock_guard lock(files_mutex);
  for (auto at = files.begin(); at != files.end();) {
    if (auto file = at->second.lock()) {
      open.push_back(std::move(file));
      ++at;
    } else {
      at = files.erase(at);
    }
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

Status Job::Impl::drain_all() {
  for (const auto& file : open_files()) PMIO_TRY(file->drain());
  return {};
}

static Layout useful_layout(int fd, const LayoutHints& hints) {
  FoundLayout found = find_layout(*storage_of(fd), hints);
  // Smaller ones would cost more than they give.
  return found.layout.smallest_stripe_bytes() < kSmallestStripe ? Layout{} : std::move(found.layout);
}

Result<Layout> Job::Impl::share_layout(const std::string& name, const Layout& layout) {
  const std::vector<uint64_t> words = pack(layout);
  (void)medium->remove(name);  // left by a process that died while it left the file
  auto region = medium->create(name, words.size() * sizeof(uint64_t), false);
  if (!region.ok()) return region.status();
  std::memcpy((*region)->data(), words.data(), words.size() * sizeof(uint64_t));
  return layout;
}

Result<Layout> Job::Impl::shared_layout(const std::string& name) {
  auto region = medium->open(name, true);
  if (!region.ok()) return region.status();
  const std::span<const uint64_t> words(reinterpret_cast<const uint64_t*>((*region)->data()),
                                        (*region)->size_bytes() / sizeof(uint64_t));
  auto layout = unpack(words);
  if (!layout)
    return Status(Code::corrupt, "'" + directory + "/" + name + "' is damaged; open the file again");
  return std::move(*layout);
}

Status Job::Impl::join_control(File::Impl& file, const LayoutHints& hints) {
  DirectoryLock lock(directory);
  if (!lock.held()) return Status::from_errno(errno, "cannot lock '" + directory + "'");
  const std::string name = "file-" + file.key;
  const std::string ledger_name = "ledger-" + file.key;
  auto region = medium->open(name, false);
  const bool first = !region.ok();
  if (first) region = medium->create(name, control_bytes(options.ranks), false);
  if (!region.ok()) return region.status();
  auto ledger = first ? Ledger::create(*medium, ledger_name, size_t{options.ranks} * kMaxSegments)
                      : Ledger::open(*medium, ledger_name, false);
  const std::string mark_name = "mark-" + file.key;
  auto mark = first ? TargetMark::create(*medium, mark_name) : TargetMark::open(*medium, mark_name);
  const std::string layout_name = "layout-" + file.key;
  auto layout =
      first ? share_layout(layout_name, useful_layout(file.target->fd(), hints)) : shared_layout(layout_name);
  if (!ledger.ok() || !mark.ok() || !layout.ok()) {
    for (const std::string* made : {&name, &ledger_name, &mark_name, &layout_name}) {
      if (first) (void)medium->remove(*made);
    }
    return !ledger.ok() ? ledger.status() : !mark.ok() ? mark.status() : layout.status();
  }
  auto* control = reinterpret_cast<FileControl*>((*region)->data());
  if (first) init_control(control, options.ranks);
  PMIO_ASSERT(control->magic == kControlMagic && control->ranks == options.ranks);
  control->users.fetch_add(1, std::memory_order_relaxed);
  file.ledger = std::move(ledger).value();
  file.mark = std::move(mark).value();
  file.layout = std::move(layout).value();
  file.control_region = std::move(region).value();
  file.control = control;
  file.cell = &control->cells[options.rank];
  file.cell->process.store(getpid(), std::memory_order_relaxed);
  file.cell->attached.store(1, std::memory_order_release);
  file.reported_errors = control->error_number.load(std::memory_order_relaxed);
  return {};
}

void Job::Impl::leave_file(File::Impl& file) {
  DirectoryLock lock(directory);
  if (file.control->users.fetch_sub(1, std::memory_order_relaxed) > 1) return;
  {
    RobustLock index_lock(file.control->index_mutex);
    file.index->remove_all_locked();
  }
  (void)medium->remove("file-" + file.key);
  (void)medium->remove("layout-" + file.key);
  // Without its segments the ledger has nothing to say; with them recovery needs it.
  if (access((directory + "/" + kKeepMark).c_str(), F_OK) == 0) return;
  (void)medium->remove("ledger-" + file.key);
  (void)medium->remove("mark-" + file.key);
  (void)medium->remove("nodes-" + file.key);
}

bool Job::Impl::spans_nodes() const { return options.ranks_here != 0 && options.ranks_here < options.ranks; }

bool Job::Impl::outlives_node() const {
  return medium->kind() == MediumKind::dax ||
         (medium->kind() == MediumKind::disk && options.durability != Durability::none);
}

// The first process of the node does it; nobody writes before all have opened.
Status Job::Impl::note_nodes(File::Impl& file) {
  DirectoryLock lock(directory);
  if (!lock.held()) return Status::from_errno(errno, "cannot lock '" + directory + "'");
  // Other nodes change the file whenever they like.
  PMIO_TRY(file.mark.writing());
  const std::string name = "nodes-" + file.key;
  if (access((directory + "/" + name).c_str(), F_OK) == 0) return {};
  return write_nodes_note(*medium, name, {file.neighbours->place(), file.identity, file.path});
}

Status Job::Impl::attach(File::Impl& file, std::unique_ptr<TargetFile> target, const OpenOptions& how) {
  file.job = this;
  file.neighbours = how.neighbours;
  file.path = target->path();
  // Recovery never creates a file: a log that outlives the node needs a file that does.
  // The first process does it; nobody writes before all have opened.
  const bool first = access((directory + "/file-" + file.key).c_str(), F_OK) != 0;
  if (first && outlives_node() && target->access() != TargetFile::Access::read_only)
    PMIO_TRY(target->sync_name());
  file.target = std::move(target);
  PMIO_TRY(join_control(file, how.layout));
  if (file.neighbours != nullptr) {
    // Until the first round nothing is drained.
    uint64_t none = UINT64_MAX;
    file.control->cut.compare_exchange_strong(none, 0);
    PMIO_TRY(note_nodes(file));
  }
  FileIndex::Places places{dram != nullptr ? dram.get() : medium.get(), medium.get(), file.key,
                           options.index_bytes};
  file.index = std::make_unique<FileIndex>(file.control, map.get(), std::move(places), &counters);
  file.drainer = std::make_unique<Drainer>(
      Drainer::Parts{file.control, file.index.get(), map.get(), file.target.get(), &file.ledger, &file.mark,
                     &counters, file.layout, file.identity, outlives_node() || file.neighbours != nullptr});
  return {};
}

static Result<std::unique_ptr<TargetFile>> open_target(const std::string& path, bool read_only) {
  // For both even where the program only reads: what others have logged may have to be drained by this
  // process.
  auto target = TargetFile::open(path, TargetFile::Access::read_write);
  if (target.ok()) return target;
  if (read_only) {
    auto readable = TargetFile::open(path, TargetFile::Access::read_only);
    if (readable.ok()) return readable;
  }
  return target.status().code() == Code::access ? TargetFile::open(path, TargetFile::Access::write_only)
                                                : std::move(target);
}

Result<std::shared_ptr<File>> Job::open(const OpenOptions& options) {
  Impl& impl = *impl_;
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
    if (file == nullptr) {
      file.reset(new File);
      file->impl_->key = key;
      file->impl_->identity = *identity;
      PMIO_TRY(impl.attach(*file->impl_, std::move(target).value(), options));
      impl.files[key] = file;
    }
    file->impl_->handles++;
    if (impl.background == nullptr && impl.options.background)
      impl.background = std::make_unique<Background>(&impl);
  }
  if (impl.background != nullptr && !options.read_only) impl.background->wake();
  count(impl.counters.files_opened);
  return file;
}

Status Job::require_descriptors() const {
  rlimit limit{};
  const int lowest_free = fcntl(impl_->alive_fd, F_DUPFD_CLOEXEC, 0);
  if (lowest_free >= 0) close(lowest_free);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      (lowest_free >= 0 && static_cast<rlim_t>(lowest_free) < limit.rlim_cur / 4)) {
    return {};
  }
  return {Code::no_space,
          "a quarter of the " + std::to_string(limit.rlim_cur) +
              " file descriptors that a process may have is in use: raise 'ulimit -n' to log more "
              "files at once"};
}

Result<std::shared_ptr<File>> Job::find(const FileIdentity& identity, const std::string& path) {
  Impl& impl = *impl_;
  const std::string key = file_key(identity);
  {
    std::lock_guard lock(impl.files_mutex);
    if (auto at = impl.files.find(key); at != impl.files.end()) {
      if (auto file = at->second.lock()) return file;
    }
  }
  // Across nodes all ranks have it open, or are just closing it.
  if (impl.spans_nodes() || access((impl.directory + "/file-" + key).c_str(), F_OK) != 0)
    return std::shared_ptr<File>();
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
const std::string& Job::directory() const { return impl_->directory; }
Medium& Job::medium() { return *impl_->medium; }
Counters& Job::counters() { return impl_->counters; }

}  // namespace pmio
