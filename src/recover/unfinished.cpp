#include "recover/unfinished.h"

#include "drain/target.h"
#include "log/nodes_note.h"

namespace pmio {
namespace {

// What this node has of the file's log, and said of it.
FileOutcome* told(RecoverReport& report, const Journal::Of& whose) {
  for (JobOutcome& one : report.jobs) {
    if (job_of_all_nodes(one.id) != whose.job || one.files.empty()) continue;
    if (const Span span = one.files.front().span; span == whose.span || span == kThisNode)
      return &one.files.front();
  }
  return nullptr;
}

}  // namespace

Status find_unfinished(const std::string& path, bool give_up, RecoverReport* report) {
  auto identity = identity_of(path);
  if (!identity.ok()) return {};
  for (const Journal::Of& whose : Journal::all_beside(path, identity->inode)) {
    const uint64_t job = whose.job;
    FileOutcome* here = told(*report, whose);
    const bool ends = give_up && (here == nullptr || here->result != FileResult::kept);
    if (here != nullptr && !ends) continue;
    auto journal = Journal::look(Journal::path_of(path, whose, identity->inode));
    // Somebody else's. It stops only a request to give up, and no report.
    if (journal.status().code() == Code::access && !give_up) {
      report->unfinished.push_back({.path = path, .job = job, .refused = journal.status().message()});
      continue;
    }
    if (!journal.ok()) return journal.status();
    if (!journal->has_value()) continue;
    if (ends) PMIO_TRY((**journal).give_up());
    if (here != nullptr) here->waits_for.clear();
    report->unfinished.push_back({path, job, (**journal).base(), (**journal).waits_for(), ends, {}});
  }
  return {};
}

}  // namespace pmio
