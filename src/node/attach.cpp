// How a process takes its place at what the job's processes share about a file, and leaves it.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "node/file_impl.h"

namespace pmio {

constexpr uint64_t kSmallestStripe = 64 << 10;

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
  // Without the magic: of a process that died while it made it.
  const auto made = [&] { return reinterpret_cast<FileControl*>((*region)->data())->magic == kControlMagic; };
  const bool first = !region.ok() || !made();
  if (!region.ok()) region = medium->create(name, control_bytes(options.ranks), false);
  if (!region.ok()) return region.status();
  // A process that died while it made these, or while it left the file, has left some. What a ledger tells of
  // segments that are gone does no harm.
  auto ledger = Ledger::open(*medium, ledger_name, false);
  if (first && !ledger.ok())
    ledger = Ledger::create(*medium, ledger_name, size_t{options.ranks} * kMaxSegments);
  const std::string mark_name = "mark-" + file.key;
  // But where the log is kept, a mark is of what nobody looks after any more.
  if (first && !log_is_kept()) (void)medium->remove(mark_name);
  auto mark = TargetMark::open(*medium, mark_name);
  if (first && !mark.ok()) mark = TargetMark::create(*medium, mark_name);
  const std::string layout_name = "layout-" + file.key;
  auto layout =
      first ? share_layout(layout_name, useful_layout(file.target->fd(), hints)) : shared_layout(layout_name);
  if (!ledger.ok() || !mark.ok() || !layout.ok()) {
    // Not the ledger: segments may still need it.
    for (const std::string* volatile_one : {&name, &layout_name}) {
      if (first) (void)medium->remove(*volatile_one);
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
  if (log_is_kept()) return;
  (void)medium->remove("ledger-" + file.key);
  (void)medium->remove("mark-" + file.key);
  (void)medium->remove("nodes-" + file.key);
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
  file.drainer = std::make_unique<Drainer>(Drainer::Parts{
      file.control, file.index.get(), map.get(), file.target.get(), &file.ledger, &file.mark, &counters,
      file.layout, file.identity, options.rank, outlives_node() || file.neighbours != nullptr});
  return {};
}

}  // namespace pmio
