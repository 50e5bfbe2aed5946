#include "recover/recover_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <new>

#include "base/pulse.h"
#include "log/last_seen.h"
#include "medium/job_name.h"
#include "medium/registry.h"
#include "node/control.h"
#include "recover/journal.h"
#include "recover/replay.h"
#include "recover/spanning.h"
#include "recover/target_state.h"

namespace pmio {
namespace {

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// A ledger that can hold `entries` entries: the job's, or a new one if the job left none that can.
Result<Ledger> ledger_for(const LogDirectory& job, Medium& medium, const FileInfo& file, size_t entries) {
  const size_t needed = sizeof(LedgerSlot) + entries * sizeof(LedgerEntry);
  for (const std::string& name : file.ledgers) {
    auto mapping = job.map(name);
    if (mapping.ok() && (*mapping)->bytes().size() / 2 >= needed) return Ledger::open(medium, name, false);
  }
  std::string name = "ledger-" + file_key(file.target) + "-recover";
  while (job.has(name)) name += "r";
  return Ledger::create(medium, name, entries);
}

// Durably says that every valid record is in the file.
Status mark_drained(const LogDirectory& job, const FileInfo& file, const MediumOpener& open_log) {
  auto medium = open_log(job.path(), Durability::always);
  if (!medium.ok()) return medium.status();
  auto ledger = ledger_for(job, **medium, file, file.segments.size());
  if (!ledger.ok()) return ledger.status();
  LedgerState state;
  state.target = file.target;
  if (file.nodes) {
    state.flags = kRecovered;
    state.horizon = file.ledger_horizon;
  }
  for (const SegmentInfo& segment : file.segments) {
    state.entries.push_back({segment.rank, segment.slot, segment.salt, segment.records});
  }
  return ledger->update(state);
}

// Segments first and the ledger last: a segment without its ledger would be replayed again.
Status remove_log(const LogDirectory& job, const FileInfo& file, const std::function<void()>& removed) {
  for (const SegmentInfo& segment : file.segments) {
    if (segment.damage && !file.discarded) continue;
    PMIO_TRY(job.remove(segment.name));
    removed();
  }
  auto names = job.names();
  if (!names.ok()) return names.status();
  const std::string key = file_key(file.target);
  for (const std::string& name : *names) {
    // The control block is evidence of the damage, for the next time too.
    if (name == "file-" + key && file.damaged() && !file.discarded) continue;
    if (name == "file-" + key || name == "layout-" + key || name == "reads-" + key ||
        starts_with(name, "run-" + key + "-"))
      PMIO_TRY(job.remove(name));
  }
  PMIO_TRY(job.sync());
  if (file.damaged() && !file.discarded) return {};
  // Without the note the log says nothing of other nodes; the ledger says that there is nothing left to do.
  PMIO_TRY(job.remove("nodes-" + key));
  for (const std::string& ledger : file.ledgers) PMIO_TRY(job.remove(ledger));
  PMIO_TRY(job.remove(mark_name(file)));
  PMIO_TRY(job.remove(seen_name(file)));
  for (const std::string& name : *names) {
    if (starts_with(name, "ledger-" + key + "-recover")) PMIO_TRY(job.remove(name));
  }
  removed();
  return {};
}

class Recovery {
 public:
  Recovery(const LogDirectory& job, const FileInfo& file, const FileRecovery& options)
      : job_(job), file_(file), options_(options), total_bytes_(file.undrained_bytes()) {}

  Status replay_and_mark(FileOutcome* outcome) {
    auto target = find_target(file_, options_.paths);
    if (!target.ok()) return target.status();
    outcome->path = (*target)->path();
    if (options_.dry_run) return {};
    PMIO_TRY(replay(file_, **target, options_.consistent, [this](uint64_t bytes) {
      done_bytes_ += bytes;
      tell(RecoverStep::window);
    }));
    PMIO_TRY((*target)->sync());
    tell(RecoverStep::synced);
    if (options_.consistent && file_.cut.left_records > 0) return {};
    PMIO_TRY(mark_drained(job_, file_, options_.open_log));
    tell(RecoverStep::marked);
    return {};
  }

  // The file itself is only read, and need not be what its job left, nor be there.
  Status replay_to(FileCopy& copy, FileOutcome* outcome) {
    if (options_.dry_run) return {};
    auto original = find_target(file_, options_.paths, false);
    if (!original.ok()) {
      const Status& why = original.status();
      if (why.code() != Code::invalid && why.system_errno() != ENOENT) return why;
      outcome->note = why.message() + "; so the copy has nothing but what the log holds";
    }
    auto target = copy.open(original.ok() ? original->get() : nullptr);
    if (!target.ok()) return target.status();
    Status written = replay(file_, **target, options_.consistent, [this](uint64_t bytes) {
      done_bytes_ += bytes;
      tell(RecoverStep::window);
    });
    if (!written.ok()) copy.abandon();
    return written;
  }

  // Of a file whose ranks were on several nodes.
  Status replay_beside_others(uint64_t job, FileOutcome* outcome) {
    outcome->nodes = file_.nodes->nodes;
    const bool replays = needs_journal(file_);
    if (!replays && (file_.paths.empty() || options_.dry_run)) return {};
    auto target = find_target(file_, options_.paths, replays);
    if (!target.ok()) {
      // Of a file that is gone nobody waits for anything; of one that cannot be reached now others do.
      const bool gone = target.status().code() == Code::invalid || is_gone(file_, file_.paths);
      return gone && !replays ? Status() : target.status();
    }
    outcome->path = (*target)->path();
    if (options_.dry_run) return {};
    const std::string name =
        Journal::path_of((*target)->path(), {job, file_.nodes->span}, file_.target.inode);
    // A node with nothing to bring in says so, too: each has to say that it is done, for another may wait.
    const auto base = file_.recovered ? std::nullopt : std::optional(file_.ledger_horizon);
    auto journal = Journal::open(name, *file_.nodes, base);
    if (!journal.ok()) return journal.status();
    if (!journal->has_value()) return {};
    Journal& shared = **journal;
    if (replays) PMIO_TRY(replay_and_claim(shared, **target, outcome));
    if (!file_.recovered) {
      PMIO_TRY(mark_drained(job_, file_, options_.open_log));
      tell(RecoverStep::marked);
    }
    PMIO_TRY(shared.finish(file_.nodes->node));
    if (!replays) shared.note_no_change();
    outcome->waits_for = shared.waits_for();
    return {};
  }

  Status remove() {
    if (options_.dry_run) return {};
    return remove_log(job_, file_, [this] { tell(RecoverStep::removed); });
  }

 private:
  Status replay_and_claim(Journal& shared, TargetFile& target, FileOutcome* outcome) {
    FileInfo file = file_;
    PMIO_TRY(count_from(shared.base(), &file));
    outcome->records = file.undrained_records();
    outcome->bytes = file.undrained_bytes();
    const auto note = [&] {
      shared.note_change();
      options_.note_at_work();
    };
    Status written;
    {
      const Pulse pulse(std::chrono::nanoseconds(kSeenEveryNs), note);
      written =
          replay_beside(file, target, shared.claims_of_others(file.nodes->node), [this](uint64_t bytes) {
            done_bytes_ += bytes;
            tell(RecoverStep::window);
          });
      if (written.ok()) written = target.sync();
    }
    note();
    PMIO_TRY(std::move(written));
    tell(RecoverStep::synced);
    return shared.add_claims(file.nodes->node, claims_of(file, shared.base()));
  }

  void tell(RecoverStep step) const {
    if (options_.progress) options_.progress({step, &file_, done_bytes_, total_bytes_});
  }
  const LogDirectory& job_;
  const FileInfo& file_;
  const FileRecovery& options_;
  const uint64_t total_bytes_;
  uint64_t done_bytes_ = 0;
};

FileResult wanted_result(const FileInfo& file, bool consistent) {
  if (file.discarded) return FileResult::discarded;
  if (consistent && file.cut.left_records > 0) return FileResult::cut;
  return file.undrained_records() == 0 ? FileResult::clean : FileResult::restored;
}

Status recover_checked(const LogDirectory& job, const FileInfo& file, const FileRecovery& options,
                       FileOutcome* outcome) {
  const FileResult wanted = wanted_result(file, options.consistent);
  const bool replays = wanted == FileResult::restored || wanted == FileResult::cut;
  if (file.ledger_damaged && replays) {
    return Status(Code::corrupt,
                  "its ledger is damaged, so nobody knows what of the log the file has already");
  }
  if (file.of_nodes && !file.nodes && replays)
    return Status(Code::corrupt, "its ranks were on several nodes, and the note that tells which is lost");
  Recovery recovery(job, file, options);
  if (options.copy != nullptr) {
    if (file.nodes && file.nodes->nodes > 1 && replays)
      return Status(Code::unsupported, "its ranks were on " + std::to_string(file.nodes->nodes) +
                                           " nodes, and --to brings in what one of them has: recover the "
                                           "file itself, on each, and copy it");
    if (replays) PMIO_TRY(recovery.replay_to(*options.copy, outcome));
    outcome->result = wanted;
    return {};
  }
  if (file.nodes && file.nodes->nodes > 1 && !file.discarded) {
    if (options.consistent && needs_journal(file))
      return Status(Code::unsupported,
                    "its ranks were on " + std::to_string(file.nodes->nodes) +
                        " nodes, and the log of one does not tell which calls the others had finished: "
                        "repeat without --consistent");
    PMIO_TRY(recovery.replay_beside_others(options.job, outcome));
    outcome->result = wanted;
    return recovery.remove();
  }
  if (replays) PMIO_TRY(recovery.replay_and_mark(outcome));
  outcome->result = wanted;
  return wanted == FileResult::cut ? Status() : recovery.remove();
}

}  // namespace

bool belongs_to_a_job(const std::string& entry) {
  static const std::string prefixes[] = {"seg-",    "ledger-", "mark-",  "file-", "run-",
                                         "layout-", "shared-", "nodes-", "seen-", "reads-"};
  return entry == kAlive || entry == "lock" || entry == "undrained" ||
         std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](const std::string& prefix) { return starts_with(entry, prefix); });
}

void remove_scratch(const std::string& job_name) {
  auto root = LogDirectory::open("/dev/shm/pmio-index-" + std::to_string(geteuid()));
  if (!root.ok()) return;
  auto scratch = root->open_below(job_name);
  if (!scratch.ok()) return;
  auto names = scratch->names();
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (starts_with(name, "run-") || starts_with(name, "reads-")) static_cast<void>(scratch->remove(name));
  }
  static_cast<void>(root->remove_directory(job_name));
}

const char* file_result_name(FileResult result) {
  switch (result) {
    case FileResult::restored:
      return "restored";
    case FileResult::cut:
      return "cut";
    case FileResult::clean:
      return "clean";
    case FileResult::discarded:
      return "discarded";
    case FileResult::kept:
      return "kept";
  }
  return "unknown";
}

FileOutcome describe_file(const LogDirectory& job, const FileInfo& file) {
  FileOutcome outcome;
  outcome.path = file.name();
  outcome.records = file.undrained_records();
  outcome.bytes = file.undrained_bytes();
  outcome.ranks = file.ranks();
  if (file.nodes) outcome.span = file.nodes->span;
  outcome.cut = file.cut;
  outcome.cut.behind.clear();
  outcome.gone = file.gone_segments;
  outcome.misses_ranks = file.misses_ranks();
  if (file.discarded) return outcome;
  for (const SegmentInfo& segment : file.segments) {
    if (segment.damage)
      outcome.damaged.push_back({job.path() + "/" + segment.name, segment.rank, false, *segment.damage});
  }
  for (const LostSegment& segment : file.lost_segments) {
    const Damage all{0, segment.records, {}, segment.records, segment.within};
    outcome.damaged.push_back({job.path() + "/" + segment.name, segment.rank, true, all});
  }
  return outcome;
}

FileOutcome recover_file(const LogDirectory& job, const FileInfo& file, const FileRecovery& options) {
  FileOutcome outcome = describe_file(job, file);
  Status status;
  try {
    status = recover_checked(job, file, options, &outcome);
  } catch (const std::bad_alloc&) {
    status = Status(Code::io, "not enough memory: 64 bytes are needed per record", ENOMEM);
  }
  if (!status.ok()) outcome.message = status.message() + "; its log stays in " + job.path();
  return outcome;
}

Result<bool> remove_finished_job(const LogDirectory& parent, const std::string& name,
                                 const LogDirectory& job) {
  auto names = job.names();
  if (!names.ok()) return names.status();
  for (const std::string& entry : *names) {
    if (!belongs_to_a_job(entry)) return false;
    const bool segment = starts_with(entry, "seg-");
    if (!segment && !starts_with(entry, "nodes-")) continue;
    auto mapping = job.map(entry);
    if (!mapping.ok() && mapping.status().system_errno() != ENOENT) return false;
    if (segment && (!mapping.ok() || !is_free_segment((*mapping)->bytes()))) return false;
    // Of a file that was not asked for: other nodes wait for what its recovery says.
    if (!segment && mapping.ok() && parse_nodes_note((*mapping)->bytes())) return false;
  }
  for (const std::string& entry : *names) {
    if (entry != kAlive) PMIO_TRY(job.remove(entry));
  }
  // Now. Not earlier, as whoever is killed before leaves a log that is to be found. And not later, when it
  // would be a note of one that is gone.
  const auto job_id = job_of(name);
  if (auto registry = Registry::find(); registry.ok() && job_id) static_cast<void>(registry->remove(*job_id));
  // While it is locked: a process that waits for this lock finds that the name is gone (FileLock).
  PMIO_TRY(job.remove(kAlive));
  PMIO_TRY(parent.remove_directory(name));
  remove_scratch(name);
  return true;
}

}  // namespace pmio
