// Reading the target of a file of several nodes, past what this node's client of the file system may have
// kept of it.
#include "span/spanning.h"

namespace pmio {

// Rounds that all nodes have written, changes of the size and the like, and independent writes.
uint64_t Spanning::changes_seen() const {
  const FileControl& control = *file_.control;
  return control.ledger_updates.load(std::memory_order_seq_cst) +
         control.foreign_writes.load(std::memory_order_seq_cst) + control.remote_syncs.changes();
}

Status Spanning::await_older_reads(uint64_t changes) const {
  for (uint32_t rank = 0; rank < file_.control->ranks; rank++) {
    const std::atomic<uint64_t>& reading = file_.control->cells[rank].reading;
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

Status Spanning::read_target(uint64_t offset, std::byte* to, uint64_t bytes, uint64_t* got) {
  return file_.only_read ? file_.target->read(offset, to, bytes, got) : reader_->read(offset, to, bytes, got);
}

}  // namespace pmio
