// Files that fewer than all ranks open, in a job on several nodes: what the other nodes are asked, and told
// (docs/decisions/0038-files-of-groups.md).
#pragma once

#include <cstdint>
#include <string>

#include "cluster/claims.h"
#include "cluster/cluster.h"
#include "mpi/handle.h"
#include "mpi/opening.h"

namespace pmio {

// Handle::why_not.
constexpr char kOpenElsewhere[] = "opened by other nodes' ranks, too";
constexpr char kUnreachable[] = "the nodes do not reach each other";

// For the user: why nodes do not reach each other, and what to do.
Status cannot_talk(const Status& cause);

// Whether a file may be logged by ranks of a job on several nodes, as this one sees it. device: the file's,
// or 0. say: why not, where the user has asked for it or would expect it.
bool seen_by_other_nodes(const std::string& path, uint64_t device, bool say);

// Whether the handle's ranks, all on this node, may log the file that they have open. One of them asks. All
// of them have it open by then, or will be refused likewise.
Status claim_to_log(const Handle& handle, Claims& claims, const File& file, bool* granted);

// The same of ranks on several nodes, all of which have it open: their coordinator asks.
Status claim_together(const Handle& handle, Claims& claims, const Cluster& cluster, const File& file,
                      bool* granted);

// Collective over the ranks of the open, of a job on several nodes; else it does nothing. This handle does
// not log, or will not. On return nobody else logs the file who is on one node of several; what was logged is
// in the file.
void go_without_log(Handle& handle, Opening& ranks, const std::string& path);

// Of a handle of one rank, or of a group on several nodes, that may log later: as above, if other nodes'
// ranks have the file open, and then it will not.
void claim_undecided(Handle& handle);

}  // namespace pmio
