#include "node/shared_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file_system.h"
#include "log/segment.h"
#include "node/job_impl.h"

namespace pmio {

constexpr uint64_t kSmallestStripe = 64 << 10;

static Layout useful_layout(const TargetFile& target, const LayoutHints& hints) {
  if (hints.striping_unit == 0 && hints.striping_factor == 0 && is_local(target.file_system())) return {};
  FoundLayout found = find_layout(*storage_of(target.fd()), hints);
  // Smaller ones would cost more than they give.
  return found.layout.smallest_stripe_bytes() < kSmallestStripe ? Layout{} : std::move(found.layout);
}

Result<Layout> SharedFiles::share_layout(FileControl& control, const std::string& name,
                                         const Layout& layout) {
  const std::vector<uint64_t> words = pack(layout);
  if (words.size() <= kMostLayoutWords) {
    std::copy(words.begin(), words.end(), control.layout);
    control.layout_words = static_cast<uint32_t>(words.size());
    return layout;
  }
  control.layout_words = 0;
  (void)member_.medium().remove(name);  // left by a process that died while it left the file
  auto region = member_.medium().create(name, words.size() * sizeof(uint64_t), false);
  if (!region.ok()) return region.status();
  std::memcpy((*region)->data(), words.data(), words.size() * sizeof(uint64_t));
  return layout;
}

Result<Layout> SharedFiles::shared_layout(const FileControl& control, const std::string& name) {
  std::unique_ptr<Region> region;
  std::span<const uint64_t> words(control.layout, std::min(control.layout_words, kMostLayoutWords));
  if (words.empty()) {
    auto opened = member_.medium().open(name, true);
    if (!opened.ok()) return opened.status();
    region = std::move(opened).value();
    words = {reinterpret_cast<const uint64_t*>(region->data()), region->size_bytes() / sizeof(uint64_t)};
  }
  auto layout = unpack(words);
  if (!layout)
    return Status(Code::corrupt,
                  "'" + member_.directory() + "/" + name + "' is damaged; open the file again");
  return std::move(*layout);
}

// Nobody who lives uses the file: what was cached may be old, as anybody may have written it since.
static void take_over(FileControl& control) {
  for (uint32_t seat = 0; seat < control.seats; seat++) {
    const RankCell& cell = control.cells[seat];
    if (cell.attached.load(std::memory_order_acquire) != 0 && !cell.died()) return;
  }
  control.users.store(0, std::memory_order_relaxed);
  RobustLock lock(control.index_mutex);
  stop_serving_all(control);
  if (has_undrained(control)) return;
  control.truncations.fetch_add(1, std::memory_order_acq_rel);
}

Result<std::unique_ptr<Region>> SharedFiles::control_of(const SharedFile& file, const std::string& name) {
  auto region = member_.medium().open(name, false);
  if (!region.ok()) return region;
  auto& control = *reinterpret_cast<FileControl*>((*region)->data());
  if (control.magic != kControlMagic) {
    // Of a process that died while it made it. Others may have it mapped together with another mark.
    (void)member_.medium().remove(name);
    return Status(Code::invalid, "'" + name + "' was not finished");
  }
  if (same_file(control.target, file.identity) && control.spare.load(std::memory_order_relaxed) == 0) {
    take_over(control);
    return region;
  }
  // Of a file that is gone, whose number this one has got: what a process that died has logged of it is
  // recovery's. Or kept by a process for the next file.
  if (has_undrained(control)) member_.keep_log();
  if (control.spare.load(std::memory_order_relaxed) != 0) (void)member_.medium().remove("ledger-" + file.key);
  control.retired.store(1, std::memory_order_relaxed);
  for (const char* kind : {"file-", "layout-", "mark-", "nodes-"})
    (void)member_.medium().remove(kind + file.key);
  return Status(Code::invalid, "'" + name + "' was of another file");
}

// The segments that it tells of are gone, or are told apart by their salts. A horizon is of calls that were
// counted from another beginning: recovery on other nodes would take what they log now for drained.
static Status begin_ledger(Ledger& ledger, const FileIdentity& identity) {
  LedgerState state = ledger.read();
  const bool same = same_file(state.target, identity);
  if (state.round == 0 || (same && !state.horizon)) return {};
  state.horizon.reset();
  state.target = identity;
  if (!same) state.flags = 0;
  return ledger.update(state);
}

Result<SharedParts> SharedFiles::make_parts(const SharedFile& file, bool several_nodes, bool* first) {
  const auto seats = static_cast<uint32_t>(member_.ranks_of_node().size());
  const std::string name = "file-" + file.key;
  const std::string ledger_name = "ledger-" + file.key;
  const std::string mark_name = "mark-" + file.key;
  if (auto spare = several_nodes ? std::nullopt : recycle(file)) {
    *first = true;
    return std::move(*spare);
  }
  auto region = control_of(file, name);
  *first = !region.ok();
  if (*first) region = member_.medium().create(name, control_bytes(seats), false);
  if (!region.ok()) return region.status();
  // A process that died while it made these, or while it left the file, has left some.
  auto ledger = Ledger::open(member_.medium(), ledger_name, false);
  if (*first && !ledger.ok())
    ledger = Ledger::create(member_.medium(), ledger_name, size_t{seats} * kMaxSegments);
  if (*first && ledger.ok())
    if (Status status = begin_ledger(*ledger, file.identity); !status.ok()) ledger = std::move(status);
  // But where the log is kept, a mark is of what nobody looks after any more.
  if (*first && !member_.log_is_kept()) (void)member_.medium().remove(mark_name);
  auto mark = TargetMark::open(member_.medium(), mark_name);
  if (*first && !mark.ok()) mark = TargetMark::create(member_.medium(), mark_name);
  if (ledger.ok() && mark.ok())
    return SharedParts{std::move(region).value(), std::move(ledger).value(), std::move(mark).value()};
  // Not the ledger: segments may still need it.
  if (*first) (void)member_.medium().remove(name);
  return ledger.ok() ? mark.status() : ledger.status();
}

Status SharedFiles::join(SharedFile& file, const LayoutHints& hints, Span span) {
  const bool several_nodes = span != kThisNode;
  DirectoryLock lock(member_);
  bool first = false;
  std::optional<SharedParts> parts = several_nodes ? std::nullopt : spares_.of(file.identity);
  if (parts && parts->control().spare.load(std::memory_order_relaxed) == 0) {
    take_over(parts->control());
  } else if (parts && renew(*parts, file.identity)) {
    first = true;
  } else {
    auto made = make_parts(file, several_nodes, &first);
    if (!made.ok()) return made.status();
    parts = std::move(made).value();
  }
  FileControl* control = &parts->control();
  const std::string layout_name = "layout-" + file.key;
  auto layout = first ? share_layout(*control, layout_name, useful_layout(*file.target, hints))
                      : shared_layout(*control, layout_name);
  if (!layout.ok()) {
    if (first) (void)member_.medium().remove("file-" + file.key);
    return layout.status();
  }
  if (first) {
    init_control(control, member_.ranks_of_node(), member_.options().ranks, file.identity);
    control->span = span;
  }
  if (control->span != span) return Status(Code::busy, "'" + file.path + "' is open by other ranks, too");
  PMIO_ASSERT(control->magic == kControlMagic && control->seats == member_.ranks_of_node().size());
  control->users.fetch_add(1, std::memory_order_relaxed);
  control->holders.fetch_add(1, std::memory_order_relaxed);
  file.ledger = std::move(parts->ledger);
  file.mark = std::move(parts->mark);
  file.layout = std::move(layout).value();
  file.control_region = std::move(parts->region);
  file.control = control;
  file.cell = &control->cells[member_.seat()];
  file.cell->process.store(member_.process(), std::memory_order_relaxed);
  file.cell->attached.store(kAttached, std::memory_order_release);
  file.reported_errors = control->error_number.load(std::memory_order_relaxed);
  return {};
}

bool SharedFiles::invalidate_drained(const FileControl& control) const {
  for (uint32_t seat = 0; seat < control.seats; seat++) {
    const RankCell& of_rank = control.cells[seat];
    for (const SegmentCell& cell : of_rank.segments) {
      const uint64_t salt = cell.salt.load(std::memory_order_acquire);
      if (salt == 0) continue;
      auto region = member_.medium().open(
          SegmentPool::segment_name(of_rank.rank, cell.slot.load(std::memory_order_relaxed)), false);
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

void SharedFiles::leave(SharedFile& file) {
  DirectoryLock lock(member_);
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
  (void)member_.medium().remove("file-" + file.key);
  if (file.control->layout_words == 0) (void)member_.medium().remove("layout-" + file.key);
  if (const uint64_t reads = file.control->shared_reads.load(); reads != 0 && reads != kNoSharedReads)
    (void)member_.scratch().remove(reads_name(file));
  // Without its segments the ledger has nothing to say; with them recovery needs it.
  if (member_.log_is_kept()) return;
  (void)member_.medium().remove("ledger-" + file.key);
  (void)member_.medium().remove("mark-" + file.key);
  if (member_.spans_nodes()) (void)member_.medium().remove("nodes-" + file.key);
}

void SharedFiles::forget_nodes(SharedFile& file) {
  DirectoryLock lock(member_);
  if (!has_undrained(*file.control)) (void)member_.medium().remove("nodes-" + file.key);
}

// The first process of the node does it; nobody writes before all have opened.
Status SharedFiles::note_nodes(SharedFile& file, const NodePlace& place) {
  DirectoryLock lock(member_);
  // Other nodes change the file whenever they like.
  PMIO_TRY(file.mark.writing());
  const std::string name = "nodes-" + file.key;
  if (auto known = member_.medium().open(name, true); known.ok()) {
    const auto note = parse_nodes_note({(*known)->data(), (*known)->size_bytes()});
    const bool same = note && same_file(note->target, file.identity);
    if (same && note->place.span == place.span) return {};
    // Recovery of what other ranks of the job have left would not know of theirs any more.
    if (same && member_.log_is_kept())
      return {Code::busy, "'" + file.path + "' has a log that other ranks have left"};
    // Of another file or other ranks, or of a process that died while it made it.
    (void)member_.medium().remove(name);
  }
  return write_nodes_note(member_.medium(), name, {place, file.identity, file.path});
}

// As it was when it was made, but for its name. Nobody uses it. False: it cannot be used.
bool SharedFiles::renew(SharedParts& parts, const FileIdentity& target) {
  // The magic first: whoever finds it in between makes it anew.
  std::atomic_ref<uint64_t>(parts.control().magic).store(0, std::memory_order_release);
  std::memset(parts.region->data(), 0, parts.region->size_bytes());
  parts.mark.clear();
  LedgerState state = parts.ledger.read();
  if (state.round == 0) return true;
  state.target = target;
  state.flags = 0;
  state.entries.clear();
  return parts.ledger.update(state).ok();
}

// Each step leaves what a process that died while it made these, or left a file, may have left. The ledger
// tells of no segment, as none of the file that it was of can be replayed any more.
std::optional<SharedParts> SharedFiles::recycle(const SharedFile& file) {
  std::optional<SharedParts> parts = spares_.free_one();
  if (!parts) return {};
  const std::string old = file_key(parts->control().target);
  const auto rename = [&](const char* kind) {
    return member_.medium().rename(kind + old, kind + file.key).ok();
  };
  // The magic first: whoever finds it in between makes it anew.
  const std::atomic_ref<uint64_t> magic(parts->control().magic);
  magic.store(0, std::memory_order_release);
  if (!rename("ledger-")) {  // somebody has the file open, or has died with it
    magic.store(kControlMagic, std::memory_order_release);
    spares_.put_back(std::move(*parts));
    return {};
  }
  if (renew(*parts, file.identity) && rename("mark-") && rename("file-")) return parts;
  for (const char* kind : {"file-", "mark-"}) (void)member_.medium().remove(kind + old);
  return {};
}

bool SharedFiles::leave_spare(SharedFile& file) {
  if (member_.medium().kind() != MediumKind::tmpfs || file.control->span != kThisNode ||
      file.control->layout_words == 0 || !spares_.reserve(file.control_region->size_bytes()))
    return false;
  file.leaves_spare = true;
  file.control->spare.store(1, std::memory_order_relaxed);
  return true;
}

bool dead_left_undrained(Medium& medium) {
  auto names = medium.list();
  if (!names.ok()) return true;
  return std::any_of(names->begin(), names->end(), [&medium](const std::string& name) {
    if (!name.starts_with("file-")) return false;
    auto region = medium.open(name, true);
    if (!region.ok() || (*region)->size_bytes() < sizeof(FileControl)) return true;
    const auto& control = *reinterpret_cast<const FileControl*>((*region)->data());
    return (*region)->size_bytes() < control_bytes(control.seats) || has_undrained(control);
  });
}

Status SharedFiles::attach(SharedFile& file, std::unique_ptr<TargetFile> target, const LayoutHints& hints,
                           Span span) {
  file.path = target->path();
  Medium& medium = member_.medium();
  // Recovery never creates a file: a log that outlives the node needs a file that does.
  // The first process does it; nobody writes before all have opened.
  if (member_.outlives_node() && target->access() != TargetFile::Access::read_only &&
      access((member_.directory() + "/file-" + file.key).c_str(), F_OK) != 0)
    PMIO_TRY(target->sync_name());
  file.target = std::move(target);
  PMIO_TRY(join(file, hints, span));
  if (FileStatistics::on()) file.target->count_servers(file.layout);
  // Before anything may fail: leave needs them.
  const JobOptions& options = member_.options();
  Job::Impl& job = *file.job;
  FileIndex::Places places{&member_.scratch(), &medium, file.key, options.index_bytes};
  file.index = std::make_unique<FileIndex>(file.control, &job.map, std::move(places), &member_.counters());
  file.drainer = std::make_unique<Drainer>(
      Drainer::Parts{file.control, file.index.get(), &job.map, file.target.get(), &file.ledger, &file.mark,
                     &member_.counters(), &job.lost_log, file.layout, file.identity, member_.seat(),
                     member_.outlives_node() || span != kThisNode,
                     !member_.spans_nodes() && is_local(file.target->file_system()), options.say});
  return {};
}

void SharedFiles::keep(SharedFile& file) {
  file.drainer.reset();
  file.index.reset();
  spares_.keep({std::move(file.control_region), std::move(file.ledger), std::move(file.mark)},
               file.leaves_spare);
}

}  // namespace pmio
