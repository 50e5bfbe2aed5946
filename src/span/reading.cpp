// Reading the target of a file of several nodes, past what this node's client of the file system may have
// kept of it.
#include <algorithm>

#include "base/clock.h"
#include "node/job_impl.h"
#include "span/spanning.h"

namespace pmio {

constexpr uint32_t kFewestStretches = 16, kMostStretches = 64;

// Rounds that all nodes have written, changes of the size and the like, and independent writes.
uint64_t Spanning::changes_seen() const {
  const FileControl& control = *file_.control;
  return control.ledger_updates.load(std::memory_order_seq_cst) +
         control.foreign_writes.load(std::memory_order_seq_cst) + control.remote_syncs.changes();
}

Status Spanning::await_older_reads(uint64_t changes) const {
  for (uint32_t seat = 0; seat < file_.control->seats; seat++) {
    const std::atomic<uint64_t>& reading = file_.control->cells[seat].reading;
    PMIO_TRY(file_.await_rank([&] { return reading.load(std::memory_order_seq_cst) - 1 >= changes; }));
  }
  return {};
}

// A file system's client may keep what it has read, and read ahead, for each open file: MooseFS's for
// seconds. The kernel keeps pages for all of them: what is read by an old one is there for the new ones too.
// A file that nobody can write is read as without pmio.
Status Spanning::begin_reading_target() {
  if (file_.only_read) return {};
  uint64_t changes = changes_seen();
  for (;;) {
    file_.cell->reading.store(changes + 1, std::memory_order_seq_cst);
    const uint64_t now = changes_seen();
    if (now == changes) break;
    changes = now;
  }
  if (reader_ == nullptr || changes != reader_changes_) {
    reader_.reset();
    auto opened = file_.target->reopen_past_cache();
    if (!opened.ok()) return opened.status();
    if (!(*opened)->past_cache()) PMIO_TRY(await_older_reads(changes));
    reader_ = std::make_unique<FreshReader>(std::move(opened.value()));
    reader_changes_ = changes;
  }
  if (const uint64_t writes = file_.control->writes_past_log.load(std::memory_order_seq_cst);
      writes != reader_writes_) {
    reader_->forget_ahead();
    reader_writes_ = writes;
  }
  return {};
}

void Spanning::end_reading_target() { file_.cell->reading.store(0, std::memory_order_release); }

// index_mutex is held. Of an earlier control block of the file there may be another one.
Result<std::unique_ptr<Region>> Spanning::make_shared_reads(uint64_t number) {
  Medium& memory = file_.job->member->scratch();
  if (memory.kind() != MediumKind::tmpfs) return Status(Code::unsupported, "there is no memory to share");
  const auto ranks = static_cast<uint32_t>(file_.job->member->ranks_of_node().size());
  const uint32_t stretches = std::clamp(2 * ranks, kFewestStretches, kMostStretches);
  (void)memory.remove(SharedFiles::reads_name(file_));
  auto made = memory.create(SharedFiles::reads_name(file_), SharedReads::memory_bytes(stretches), false);
  if (made.ok()) SharedReads::init((*made)->data(), stretches, number);
  return made;
}

// The first rank of the node that needs it makes the memory. Where that fails nobody tries again.
bool Spanning::has_shared_reads() {
  if (reads_tried_) return reads_.has_value();
  reads_tried_ = true;
  std::atomic<uint64_t>& number = file_.control->shared_reads;
  const RobustLock lock(file_.control->index_mutex);
  const bool first = number.load(std::memory_order_relaxed) == 0;
  const uint64_t wanted = first ? monotonic_ns() : number.load(std::memory_order_relaxed);
  if (wanted == kNoSharedReads) return false;
  auto region = first ? make_shared_reads(wanted)
                      : file_.job->member->scratch().open(SharedFiles::reads_name(file_), false);
  if (region.ok()) reads_ = SharedReads::attach((*region)->data(), (*region)->size_bytes(), wanted);
  if (first) number.store(reads_ ? wanted : kNoSharedReads, std::memory_order_relaxed);
  if (reads_) reads_region_ = std::move(region).value();
  return reads_.has_value();
}

Status Spanning::read_shared(uint64_t offset, std::byte* to, uint64_t bytes, uint64_t* got) {
  const auto fetch = [this](uint64_t at, std::byte* into, uint64_t n, uint64_t* fetched) {
    return reader_->fetch(at, into, n, fetched);
  };
  uint32_t fetches = 0;
  reader_->forget_ahead();  // it does not see which bytes are read again
  PMIO_TRY(reads_->read({{reader_changes_, reader_writes_}, habit_.since_ns()}, offset, to, bytes, fetch, got,
                        &fetches));
  habit_.shared(fetches);
  return {};
}

Status Spanning::read_target(uint64_t offset, std::byte* to, uint64_t bytes, bool sparse, uint64_t* got) {
  if (file_.only_read) return file_.target->read(offset, to, bytes, got);
  *got = 0;
  // A handle that is handed on tells before it writes, and not when it has written.
  const bool aside = file_.control->written_aside.load(std::memory_order_seq_cst) != 0;
  if (habit_.suits_sharing(offset, bytes, sparse) && !aside && has_shared_reads())
    PMIO_TRY(read_shared(offset, to, bytes, got));
  if (*got == bytes) return {};
  uint64_t rest = 0;
  PMIO_TRY(reader_->read(offset + *got, to + *got, bytes - *got, &rest));
  *got += rest;
  return {};
}

}  // namespace pmio
