// Recovery of one node's log of a file whose other logs are on other nodes (decision 0011).
//
// Each node is recovered by itself, in any order. Stamps (log/call_stamp.h) compare across nodes, and the
// journal (journal.h) tells what others have brought in. When the job died, some nodes may have finished a
// round that others had not. The first node to be recovered decides where all begin. That is the horizon of
// its own last finished round, before which all is in the file. Nodes that had finished one round more still
// have what they drained in it, and replay it again.
#pragma once

#include <vector>

#include "recover/journal.h"
#include "recover/scan.h"

namespace pmio {

// Whether other nodes must know of this node's log: it is not all in the file, or a round may be half
// finished.
bool needs_journal(const FileInfo& file);
// Makes `drained` count what is in the file if all before `base` is, and nothing that this node alone counts
// as drained. corrupt: records that must be replayed again cannot be read.
Status count_from(uint64_t base, FileInfo* file);
// The claims of all that is not drained, and of what was drained with the base's own stamp. Another node may
// not have finished that round, and its bytes of the same call are as new.
std::vector<Journal::Claim> claims_of(const FileInfo& file, uint64_t base);

}  // namespace pmio
