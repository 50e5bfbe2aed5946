// Recovery of one node's log of a file whose other logs are on other nodes (decision 0011).
//
// Each node is recovered by itself, in any order. Stamps (log/call_stamp.h) compare across nodes; the journal
// (journal.h) tells what others have brought in. A round may have been finished by some nodes and not by
// others when the job died. Whoever is recovered first settles where all begin, its own last finished cut:
// before it all is in the file. Those that had finished one round more still have what they drained in it,
// and replay it again.
#pragma once

#include <vector>

#include "recover/journal.h"
#include "recover/scan.h"

namespace pmio {

// Whether other nodes have to know of this one's log: it is not all in the file, or a round may be half
// finished.
bool needs_journal(const FileInfo& file);
// Makes `drained` count what the file has if all before `base` is in it, and nothing that this node alone
// counts as drained. corrupt: what has to be replayed again cannot be read.
Status count_from(uint64_t base, FileInfo* file);
// Of all that is not drained, and of what has been drained with the base's own stamp: another node may not
// have finished that round, and its bytes of the same call are as new.
std::vector<Journal::Claim> claims_of(const FileInfo& file, uint64_t base);

}  // namespace pmio
