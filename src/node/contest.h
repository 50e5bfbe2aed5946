// A file that fewer than all ranks of a job on several nodes have open: others may open it, too, without
// these. Then it is contested (docs/decisions/0038-files-of-groups.md): from then on each write is in the
// file when it returns, and nothing is served from the log.
//
// Order: who declares the contest raises FileControl::contested, and drains then. A write is published, and
// looks at that then. So either the drain finds the write's records, or the write finds the contest and
// drains itself. Of ranks on several nodes it is declared on all their nodes before any drain. What a rank
// has written in collective calls to which others have not come yet is drained when they come.
//
// Threads: any. No append lock is held.
#pragma once

#include <atomic>

#include "base/status.h"
#include "extent/pattern.h"
#include "log/segment.h"
#include "node/reach.h"
#include "node/shared_file.h"

namespace pmio {

class Appender;
class LargePieces;

class Contest {
 public:
  Contest(SharedFile& file, Reach& reach, LargePieces& large_pieces, Appender& appender, bool possible)
      : file_(file), reach_(reach), large_pieces_(large_pieces), appender_(appender), possible_(possible) {}

  // Whether others can come at all.
  bool possible() const { return possible_; }
  bool declared() const { return file_.control->contested.load(std::memory_order_relaxed) != 0; }
  // They have come, or are about to. The caller drains afterwards.
  void declare();
  // Whether writes go past the log: by `write`.
  bool ends_log() const { return possible_ && declared() && reach_.spans_nodes(); }
  // What the log still has comes into the file, too, as far as all ranks have come.
  Status write(PatternCursor& file, PatternCursor& memory, const std::byte* buffer, uint64_t bytes,
               CallNumber call);
  // Around each append.
  void before_append();
  Status after_append();

 private:
  SharedFile& file_;
  Reach& reach_;
  LargePieces& large_pieces_;
  Appender& appender_;
  const bool possible_;
  std::atomic<bool> straight_{false};  // this process's pieces go straight to the file
};

}  // namespace pmio
