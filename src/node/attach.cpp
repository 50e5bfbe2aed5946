// How a process takes its place at what the job's processes share about a file, and leaves it.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file_system.h"
#include "log/segment.h"
#include "node/file_impl.h"

namespace pmio {

constexpr uint64_t kSmallestStripe = 64 << 10;

// Holds the flock of the directory for as long as it lives; orders attaching and leaving between processes.
class DirectoryLock {
 public:
  explicit DirectoryLock(Job::Impl& job) : fd_(job.lock_fd), of_threads_(job.directory_mutex) {
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  // By name: to close it is not enough where a process that the program has forked has it, too.
  ~DirectoryLock() { flock(fd_, LOCK_UN); }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int fd_;
  std::lock_guard<std::mutex> of_threads_;
};

static Layout useful_layout(const TargetFile& target, const LayoutHints& hints) {
  if (hints.striping_unit == 0 && hints.striping_factor == 0 && is_local(target.file_system())) return {};
  FoundLayout found = find_layout(*storage_of(target.fd()), hints);
  // Smaller ones would cost more than they give.
  return found.layout.smallest_stripe_bytes() < kSmallestStripe ? Layout{} : std::move(found.layout);
}

Result<Layout> Job::Impl::share_layout(FileControl& control, const std::string& name, const Layout& layout) {
  const std::vector<uint64_t> words = pack(layout);
  if (words.size() <= kMostLayoutWords) {
    std::copy(words.begin(), words.end(), control.layout);
    control.layout_words = static_cast<uint32_t>(words.size());
    return layout;
  }
  control.layout_words = 0;
  (void)medium->remove(name);  // left by a process that died while it left the file
  auto region = medium->create(name, words.size() * sizeof(uint64_t), false);
  if (!region.ok()) return region.status();
  std::memcpy((*region)->data(), words.data(), words.size() * sizeof(uint64_t));
  return layout;
}

Result<Layout> Job::Impl::shared_layout(const FileControl& control, const std::string& name) {
  std::unique_ptr<Region> region;
  std::span<const uint64_t> words(control.layout, std::min(control.layout_words, kMostLayoutWords));
  if (words.empty()) {
    auto opened = medium->open(name, true);
    if (!opened.ok()) return opened.status();
    region = std::move(opened).value();
    words = {reinterpret_cast<const uint64_t*>(region->data()), region->size_bytes() / sizeof(uint64_t)};
  }
  auto layout = unpack(words);
  if (!layout)
    return Status(Code::corrupt, "'" + directory + "/" + name + "' is damaged; open the file again");
  return std::move(*layout);
}

// Nobody who lives uses the file: what was cached may be old, as anybody may have written it since.
static void take_over(FileControl& control) {
  for (uint32_t rank = 0; rank < control.ranks; rank++) {
    const RankCell& cell = control.cells[rank];
    if (cell.attached.load(std::memory_order_acquire) != 0 && !cell.died()) return;
  }
  control.users.store(0, std::memory_order_relaxed);
  RobustLock lock(control.index_mutex);
  conceal_all(control);
  if (has_undrained(control)) return;
  control.truncations.fetch_add(1, std::memory_order_acq_rel);
}

Result<std::unique_ptr<Region>> Job::Impl::control_of(const File::Impl& file, const std::string& name) {
  auto region = medium->open(name, false);
  if (!region.ok()) return region;
  auto& control = *reinterpret_cast<FileControl*>((*region)->data());
  if (control.magic != kControlMagic) {
    // Of a process that died while it made it. Others may have it mapped together with another mark.
    (void)medium->remove(name);
    return Status(Code::invalid, "'" + name + "' was not finished");
  }
  if (same_file(control.target, file.identity) && control.spare.load(std::memory_order_relaxed) == 0) {
    take_over(control);
    return region;
  }
  // Of a file that is gone, whose number this one has got: what a process that died has logged of it is
  // recovery's. Or kept by a process for the next file.
  if (has_undrained(control)) keep_log();
  if (control.spare.load(std::memory_order_relaxed) != 0) (void)medium->remove("ledger-" + file.key);
  control.retired.store(1, std::memory_order_relaxed);
  for (const char* kind : {"file-", "layout-", "mark-", "nodes-"}) (void)medium->remove(kind + file.key);
  return Status(Code::invalid, "'" + name + "' was of another file");
}

// The segments that it tells of are gone, or are told apart by their salts. A cut is of calls that were
// counted from another beginning: recovery on other nodes would take what they log now for drained.
Status Job::Impl::begin_ledger(Ledger& ledger, const FileIdentity& identity) {
  LedgerState state = ledger.read();
  const bool same = same_file(state.target, identity);
  if (state.round == 0 || (same && !state.cut)) return {};
  state.cut.reset();
  state.target = identity;
  if (!same) state.flags = 0;
  return ledger.update(state);
}

Result<SharedParts> Job::Impl::make_parts(const File::Impl& file, bool* first) {
  const std::string name = "file-" + file.key;
  const std::string ledger_name = "ledger-" + file.key;
  const std::string mark_name = "mark-" + file.key;
  if (auto spare = recycle(file)) {
    *first = true;
    return std::move(*spare);
  }
  auto region = control_of(file, name);
  *first = !region.ok();
  if (*first) region = medium->create(name, control_bytes(options.ranks), false);
  if (!region.ok()) return region.status();
  // A process that died while it made these, or while it left the file, has left some.
  auto ledger = Ledger::open(*medium, ledger_name, false);
  if (*first && !ledger.ok())
    ledger = Ledger::create(*medium, ledger_name, size_t{options.ranks} * kMaxSegments);
  if (*first && ledger.ok())
    if (Status status = begin_ledger(*ledger, file.identity); !status.ok()) ledger = std::move(status);
  // But where the log is kept, a mark is of what nobody looks after any more.
  if (*first && !log_is_kept()) (void)medium->remove(mark_name);
  auto mark = TargetMark::open(*medium, mark_name);
  if (*first && !mark.ok()) mark = TargetMark::create(*medium, mark_name);
  if (ledger.ok() && mark.ok())
    return SharedParts{std::move(region).value(), std::move(ledger).value(), std::move(mark).value()};
  // Not the ledger: segments may still need it.
  if (*first) (void)medium->remove(name);
  return ledger.ok() ? mark.status() : ledger.status();
}

Status Job::Impl::join_control(File::Impl& file, const LayoutHints& hints) {
  DirectoryLock lock(*this);
  bool first = false;
  std::optional<SharedParts> parts = spares.of(file.identity);
  if (parts && parts->control().spare.load(std::memory_order_relaxed) == 0) {
    take_over(parts->control());
  } else if (parts && renew(*parts, file.identity)) {
    first = true;
  } else {
    auto made = make_parts(file, &first);
    if (!made.ok()) return made.status();
    parts = std::move(made).value();
  }
  FileControl* control = &parts->control();
  const std::string layout_name = "layout-" + file.key;
  auto layout = first ? share_layout(*control, layout_name, useful_layout(*file.target, hints))
                      : shared_layout(*control, layout_name);
  if (!layout.ok()) {
    if (first) (void)medium->remove("file-" + file.key);
    return layout.status();
  }
  if (first) init_control(control, options.ranks, file.identity);
  PMIO_ASSERT(control->magic == kControlMagic && control->ranks == options.ranks);
  control->users.fetch_add(1, std::memory_order_relaxed);
  control->holders.fetch_add(1, std::memory_order_relaxed);
  file.ledger = std::move(parts->ledger);
  file.mark = std::move(parts->mark);
  file.layout = std::move(layout).value();
  file.control_region = std::move(parts->region);
  file.control = control;
  file.cell = &control->cells[options.rank];
  file.cell->process.store(process, std::memory_order_relaxed);
  file.cell->attached.store(1, std::memory_order_release);
  file.reported_errors = control->error_number.load(std::memory_order_relaxed);
  return {};
}

bool Job::Impl::invalidate_drained(const FileControl& control) const {
  for (uint32_t rank = 0; rank < control.ranks; rank++) {
    for (const SegmentCell& cell : control.cells[rank].segments) {
      const uint64_t salt = cell.salt.load(std::memory_order_acquire);
      if (salt == 0) continue;
      auto region =
          medium->open(SegmentPool::segment_name(rank, cell.slot.load(std::memory_order_relaxed)), false);
      if (!region.ok() && region.status().system_errno() == ENOENT) continue;
      if (!region.ok()) return false;
      auto reader = SegmentReader::open({(*region)->data(), (*region)->size_bytes()});
      // Else it has been given back, and may be of another file by now.
      if (reader.ok() && reader->header().salt == salt && !SegmentWriter::invalidate(**region).ok())
        return false;
    }
  }
  return true;
}

void Job::Impl::leave_file(File::Impl& file) {
  DirectoryLock lock(*this);
  // Not before: who opens the file now would find that nobody has it, and count anew.
  file.cell->attached.store(0, std::memory_order_release);
  if (file.control->users.fetch_sub(1, std::memory_order_relaxed) > 1) return;
  // That is what tells the job's last process, and recovery, where no mark could be made.
  if (has_undrained(*file.control)) return;
  // While the control block is there: the next ledger tells only of what the control block does.
  if (!invalidate_drained(*file.control)) return;
  {
    RobustLock index_lock(file.control->index_mutex);
    file.index->remove_all_locked();
  }
  // A file that has got this one's inode number may have all these names by now (control_of).
  if (file.control->retired.load(std::memory_order_relaxed) != 0) return;
  if (leave_spare(file)) return;
  file.control->retired.store(1, std::memory_order_relaxed);
  (void)medium->remove("file-" + file.key);
  if (file.control->layout_words == 0) (void)medium->remove("layout-" + file.key);
  // Without its segments the ledger has nothing to say; with them recovery needs it.
  if (log_is_kept()) return;
  (void)medium->remove("ledger-" + file.key);
  (void)medium->remove("mark-" + file.key);
  if (spans_nodes()) (void)medium->remove("nodes-" + file.key);
}

void Job::Impl::forget_nodes(File::Impl& file) {
  DirectoryLock lock(*this);
  if (!has_undrained(*file.control)) (void)medium->remove("nodes-" + file.key);
}

// The first process of the node does it; nobody writes before all have opened.
Status Job::Impl::note_nodes(File::Impl& file) {
  DirectoryLock lock(*this);
  // Other nodes change the file whenever they like.
  PMIO_TRY(file.mark.writing());
  const std::string name = "nodes-" + file.key;
  if (auto known = medium->open(name, true); known.ok()) {
    const auto note = parse_nodes_note({(*known)->data(), (*known)->size_bytes()});
    if (note && same_file(note->target, file.identity)) return {};
    (void)medium->remove(name);  // of another file, or of a process that died while it made it
  }
  return write_nodes_note(*medium, name, {file.neighbours->place(), file.identity, file.path});
}

Status Job::Impl::attach(File::Impl& file, std::unique_ptr<TargetFile> target, const OpenOptions& how) {
  file.job = this;
  file.neighbours = how.neighbours;
  file.path = target->path();
  // Recovery never creates a file: a log that outlives the node needs a file that does.
  // The first process does it; nobody writes before all have opened.
  if (outlives_node() && target->access() != TargetFile::Access::read_only &&
      access((directory + "/file-" + file.key).c_str(), F_OK) != 0)
    PMIO_TRY(target->sync_name());
  file.target = std::move(target);
  PMIO_TRY(join_control(file, how.layout));
  // Before anything may fail: leave_file needs them.
  FileIndex::Places places{dram != nullptr ? dram.get() : medium.get(), medium.get(), file.key,
                           options.index_bytes};
  file.index = std::make_unique<FileIndex>(file.control, map.get(), std::move(places), &counters);
  file.drainer = std::make_unique<Drainer>(Drainer::Parts{
      file.control, file.index.get(), map.get(), file.target.get(), &file.ledger, &file.mark, &counters,
      lost_log.get(), file.layout, file.identity, options.rank, outlives_node() || file.neighbours != nullptr,
      file.neighbours == nullptr && is_local(file.target->file_system()), options.say});
  if (file.neighbours != nullptr) {
    // Until the first round nothing is drained.
    uint64_t none = UINT64_MAX;
    file.control->cut.compare_exchange_strong(none, 0);
    PMIO_TRY(note_nodes(file));
  }
  return {};
}

}  // namespace pmio
