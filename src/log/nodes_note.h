// Says of a file's log that other nodes have logs of the same file: recovery has to heed them
// (docs/format.md, "nodes note"). It is written before the first record, and read by recovery. The parser
// trusts nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "log/format.h"
#include "medium/medium.h"

namespace pmio {

constexpr uint64_t kMostNodes = 1 << 16;  // the lowest bits of a job's id are the number of the node
// The same on all nodes.
constexpr uint64_t job_of_all_nodes(uint64_t id) { return id & ~(kMostNodes - 1); }

// Whose ranks have a file open: those of one node, or a set of ranks on several. A file that is open has one
// span on a node.
using Span = uint32_t;
constexpr Span kThisNode = 0;
constexpr Span kAllRanks = 1;  // of the job; greater ones are groups of fewer, each its own within the job

// A node of a job, for those who must find it.
struct NodeMembers {
  std::string host;             // its name, without a path
  std::vector<uint32_t> ranks;  // of MPI_COMM_WORLD that are on it, ascending
};

// Where a node stands among those of its job, or of a group's ranks.
struct NodePlace {
  uint32_t node = 0, nodes = 1;
  std::vector<uint32_t> ranks;       // of the span that are on it, by MPI_COMM_WORLD, ascending
  std::vector<NodeMembers> members;  // of all nodes, by node number; empty: not known
  Span span = kAllRanks;
};

struct NodesNote {
  NodePlace place;
  FileIdentity target;
  std::string path;  // absolute, at open
};

// What a note and a journal say of all nodes (docs/format.md, "members").
constexpr size_t kMaxHostName = 255;
std::vector<std::byte> pack_members(std::span<const NodeMembers> members);
// nullopt: the bytes are not the members of so many nodes. Empty bytes mean that they are not known.
std::optional<std::vector<NodeMembers>> parse_members(std::span<const std::byte> bytes, uint32_t nodes);

constexpr uint32_t kNodesNoteVersion = 3;                 // 2 has no span: it is of all ranks
constexpr uint64_t kNodesNoteMagic = 0x31444f4e4f494d50;  // "PMIONOD1"
struct NodesNoteHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t crc;  // crc32c(0, bytes [16, sizeof(NodesNoteHeader) + 8 + ranks * 4 + path_length +
                 // members_length))
  FileIdentity target;
  uint32_t node;
  uint32_t nodes;
  uint32_t ranks;           // the span follows, then uint32_t[ranks], the path, and the members
  uint32_t path_length;     // bytes
  uint64_t members_length;  // bytes
};
static_assert(sizeof(NodesNoteHeader) == 64);

// Durable on return.
Status write_nodes_note(Medium& medium, std::string_view name, const NodesNote& note);
std::optional<NodesNote> parse_nodes_note(std::span<const std::byte> bytes);

}  // namespace pmio
