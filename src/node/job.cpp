#include "node/job.h"

#include <chrono>
#include <system_error>

#include "log/last_seen.h"
#include "node/background.h"
#include "node/catch_up.h"
#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

Job::Impl::Impl(std::unique_ptr<Membership> joined)
    : member(std::move(joined)),
      map(member->medium(), member->ranks_of_node()),
      shared_files(*member),
      files(*this),
      lost_log(*this),
      memory_watch(member->medium()),
      ending(*this) {}

Job::Impl::~Impl() {
  catch_up.reset();
  background.reset();
  pulse.reset();
}

Result<SegmentPool::Segment*> Job::Impl::acquire_segment(SegmentPool::Need need) {
  // One that has been touched, of a file that rests, rather than a new one.
  if (member->pool().free() == 0) (void)files.recycle_resting();
  return member->pool().acquire(need);
}

// If there can be no more threads, a file is drained when the log is full, and at syncs and closes.
void Job::Impl::start_background() {
  if (background != nullptr || !member->options().background) return;
  try {
    background = std::make_unique<Background>(*this);
  } catch (const std::system_error&) {
    // Perhaps at the next open.
  }
}

void Job::Impl::start_catch_up() {
  if (catch_up != nullptr || !member->options().background) return;
  try {
    catch_up = std::make_unique<CatchUp>(*this);
  } catch (const std::system_error&) {
    // Perhaps at the next close.
  }
}

void Job::Impl::start_pulse() {
  if (pulse != nullptr || !member->options().background) return;
  pulse = std::make_unique<Pulse>(std::chrono::nanoseconds(kSeenEveryNs), [this] { member->note_seen(); });
}

void Job::Impl::shrink_log() {
  constexpr uint32_t kKeep = 1;  // with which a rank can go on
  SegmentPool& pool = member->pool();
  while (pool.with_memory() > kKeep && pool.in_use() > 0 &&
         (files.recycle_resting() || files.recycle_any())) {
  }
  pool.give_back(kKeep);
}

Job::Job(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Job>> Job::join(const JobOptions& options) {
  if ((options.ranks_here != 0 ? options.ranks_here : options.ranks) > kMaxSeats)
    return Status(Code::unsupported, "more ranks on a node than pmio can number");
  auto member = Membership::join(options, dead_left_undrained);
  if (!member.ok()) return member.status();
  return std::unique_ptr<Job>(new Job(std::make_unique<Impl>(std::move(member).value())));
}

void Job::end() { impl_->ending.await(true); }
void Job::end_in_handler() { impl_->ending.await(false); }
void Job::await_others_end() const { impl_->ending.await_others(); }
void Job::go_on() { impl_->member->go_on(); }

void Job::stop_background() {
  impl_->catch_up.reset();
  impl_->background.reset();
}

Job::~Job() {
  stop_background();
  for (const auto& file : impl_->files.open_files()) {
    // A file that lags, or that the program did not close: complete it, as the end of the job is the last
    // chance.
    const Status status = file->closing().is_gone() ? file->changes().discard() : file->drain();
    if (status.ok()) continue;
    impl_->member->keep_log();
    const bool is_news = impl_->lost_log.is_known() || file->closing().lags();
    if (is_news && options().say) options().say(file->closing().kept_in_log(status).message());
  }
  impl_->files.clear();
}

static Result<std::unique_ptr<TargetFile>> open_target(const std::string& path, bool read_only) {
  // What is only read may have to be written all the same, if this process drains what others have logged.
  auto target =
      read_only ? TargetFile::open_to_read(path) : TargetFile::open(path, TargetFile::Access::read_write);
  return target.status().code() == Code::access ? TargetFile::open(path, TargetFile::Access::write_only)
                                                : std::move(target);
}

Result<std::shared_ptr<File>> Job::open(const OpenOptions& options) {
  Impl& impl = *impl_;
  if (impl.lost_log.look()) return impl.lost_log.status();
  auto target = open_target(options.path, options.read_only);
  if (!target.ok()) return target.status();
  auto identity = (*target)->identity();
  if (!identity.ok()) return identity.status();
  if (!options.read_only) PMIO_TRY(impl.member->pool().require_one());
  auto file = impl.files.open(options, *identity, std::move(target).value());
  if (file.ok()) count(impl.member->counters().files_opened);
  return file;
}

Status Job::require_descriptors() {
  Status status = impl_->member->require_descriptors();
  // Files that lag have some.
  while (!status.ok() && impl_->files.complete_oldest()) status = impl_->member->require_descriptors();
  return status;
}
Status Job::reserve_descriptors(uint64_t more) { return impl_->member->reserve_descriptors(more); }

bool Job::has_lagging_files() { return !impl_->files.lagging().empty(); }

void Job::complete_lagging_files() {
  for (const auto& file : impl_->files.lagging()) {
    const Status status = impl_->files.complete(file);
    if (status.ok()) continue;
    impl_->files.give_up(file);
    if (options().say) options().say(file->closing().kept_in_log(status).message());
  }
}

bool Job::has_lost_log() { return impl_->lost_log.look(); }

Result<std::shared_ptr<File>> Job::find(const FileIdentity& identity, const std::string& path) {
  Impl& impl = *impl_;
  const std::string key = file_key(identity);
  if (auto file = impl.files.find(key)) return file;
  // There are no names to find it by: what others have logged is in the files.
  if (impl.lost_log.look()) {
    if (impl.lost_log.await_others()) return std::shared_ptr<File>();
    return Status(Code::io, impl.lost_log.status().message() +
                                ", and what other ranks had logged may not be in their files");
  }
  if (!medium().has("file-" + key)) return std::shared_ptr<File>();
  OpenOptions options;
  options.path = path;
  options.read_only = true;  // nothing is logged through it
  auto file = open(options);
  // By ranks of another span, that of several nodes: this one is none of them, or is just closing it.
  if (file.status().code() == Code::busy) return std::shared_ptr<File>();
  if (!file.ok()) return file;
  impl.files.forget_handle(**file);  // held by the caller's pointer only
  if (same_file((*file)->identity(), identity)) return file;
  return Status(Code::invalid, "'" + path +
                                   "' is another file by now, and what other ranks log to the one that "
                                   "it was cannot be seen");
}

std::shared_ptr<File> Job::find_here(const FileIdentity& identity) {
  return impl_->files.find(file_key(identity));
}

bool Job::is_open(const FileIdentity& identity, Span span) {
  const std::string key = file_key(identity);
  if (const auto file = impl_->files.find(key); file != nullptr) return file->reach().span() == span;
  auto region = medium().open("file-" + key, true);
  if (!region.ok()) return region.status().system_errno() != ENOENT;
  // One that is only kept for the next file (node/spares.h) counts for nobody.
  const auto& control = *reinterpret_cast<const FileControl*>((*region)->data());
  return (*region)->size_bytes() < sizeof control ||
         (control.spare.load(std::memory_order_acquire) == 0 && control.span == span);
}

std::shared_ptr<File> Job::find_number(uint64_t number) { return impl_->files.find_number(number); }
std::shared_ptr<File> Job::find_inode(uint64_t inode, uint64_t birth_ns, Span span) {
  return impl_->files.find_inode(inode, birth_ns, span);
}

const JobOptions& Job::options() const { return impl_->member->options(); }
JobPlace Job::place() const { return impl_->member->place(); }
const std::string& Job::directory() const { return impl_->member->directory(); }
Medium& Job::medium() { return impl_->member->medium(); }
Counters& Job::counters() { return impl_->member->counters(); }

HistoryNumbers Job::look() {
  const auto value = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const Counters& all = counters();
  HistoryNumbers now;
  now.log_bytes = value(all.append_bytes);
  now.written_bytes = value(all.target_write_bytes);
  now.read_bytes = value(all.target_read_bytes);
  now.wait_ns = value(all.append_wait_ns);
  now.file_ns = value(all.target_write_ns) + value(all.target_read_ns);
  now.drain_ns = value(all.drain_ns);
  now.open_close_ns = value(all.open_ns) + value(all.late_open_ns) + value(all.close_ns) + value(all.sync_ns);
  for (const auto& file : impl_->files.open_files()) {
    now.log_bytes += file->parts().appender.new_bytes();
    file->target().counters().add_to(now);
  }
  return now;
}

}  // namespace pmio
