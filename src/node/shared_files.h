// Makes what the processes of a job share of a file, attaches this process to it, and takes it away when the
// last one leaves.
//
// In the job's directory (job/membership.h), for each file; key: device and inode in hexadecimal (file_key):
//   ledger-<key>       what of a file has been drained (log/ledger.h)
//   mark-<key>         what the file looked like when the job last wrote it (log/target_mark.h)
//   file-<key>         the control block of an open file (node/control.h), volatile
//   layout-<key>       its layout, if that is too large for the control block, volatile
//   nodes-<key>        on which nodes its ranks are, if on several (log/nodes_note.h)
//   run-<key>-<number> shared runs (drain/run.h), volatile
//   reads-<key>        what ranks of a node read for each other (span/shared_reads.h), volatile
// The control block, ledger and mark of a file that was closed may stay for the next one (node/spares.h).
//
// Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "job/membership.h"
#include "layout/provider.h"
#include "log/nodes_note.h"
#include "node/shared_file.h"
#include "node/spares.h"

namespace pmio {

// Membership::LeftUndrained: a control block that is still there is that of a file which a process had open
// when it died.
bool dead_left_undrained(Medium& medium);

class SharedFiles {
 public:
  explicit SharedFiles(Membership& member) : member_(member) {}

  // Fills in all of `file` but its job, key and identity. busy: it is open by ranks of another span.
  Status attach(SharedFile& file, std::unique_ptr<TargetFile> target, const LayoutHints& hints, Span span);
  // This process does not use the control block any more.
  void leave(SharedFile& file);
  // What of a file that is going may serve another one.
  void keep(SharedFile& file);

  // Recovery will know that the file's ranks are on several nodes, of which this is one. The first process of
  // the node does it; nobody writes before all have opened.
  Status note_nodes(SharedFile& file, const NodePlace& place);
  static std::string reads_name(const SharedFile& file) { return "reads-" + file.key; }
  void forget_nodes(SharedFile& file);  // recovery need not know it: nothing is undrained

 private:
  Status join(SharedFile& file, const LayoutHints& hints, Span span);
  Result<std::unique_ptr<Region>> control_of(const SharedFile& file, const std::string& name);
  Result<SharedParts> make_parts(const SharedFile& file, bool several_nodes, bool* first);
  static bool renew(SharedParts& parts, const FileIdentity& target);
  std::optional<SharedParts> recycle(const SharedFile& file);
  bool leave_spare(SharedFile& file);
  Result<Layout> share_layout(FileControl& control, const std::string& name, const Layout& layout);
  Result<Layout> shared_layout(const FileControl& control, const std::string& name);
  bool invalidate_drained(const FileControl& control) const;

  Membership& member_;
  Spares spares_;
};

}  // namespace pmio
