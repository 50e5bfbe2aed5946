// Says of a file's log that other nodes have logs of the same file: recovery has to heed them
// (docs/format.md, "nodes note"). Written before the first record, read by recovery. Trusts nothing when
// parsing.
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

// Where a node stands in its job.
struct NodePlace {
  uint32_t node = 0, nodes = 1;
  std::vector<uint32_t> ranks;  // of MPI_COMM_WORLD that are on it, ascending
};

struct NodesNote {
  NodePlace place;
  FileIdentity target;
  std::string path;  // absolute, at open
};

constexpr uint64_t kNodesNoteMagic = 0x31444f4e4f494d50;  // "PMIONOD1"
struct NodesNoteHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t crc;  // crc32c(0, bytes [16, sizeof(NodesNoteHeader) + ranks * 4 + path_length))
  FileIdentity target;
  uint32_t node;
  uint32_t nodes;
  uint32_t ranks;        // uint32_t[ranks] follow, then the path
  uint32_t path_length;  // bytes
};
static_assert(sizeof(NodesNoteHeader) == 56);

// Durable on return.
Status write_nodes_note(Medium& medium, std::string_view name, const NodesNote& note);
std::optional<NodesNote> parse_nodes_note(std::span<const std::byte> bytes);

}  // namespace pmio
