// What tells damage from a torn tail: how many records of each segment were certainly acknowledged.
//
// Three things tell it. A record tells how many records before it had been fenced. A seal tells it of all
// records. The control block of the file (node/control.h) tells exactly what had been published, as long as
// the machine has not been started anew. After a power failure nothing tells it of the last call in an open
// segment. There a rotten record looks like one that never got there as a whole. docs/recovery.md says so.
//
// Trusts nothing. Threads: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "log/segment.h"

namespace pmio {

// The control block of one file.
struct ControlEvidence {
  struct Cell {
    uint32_t rank, slot;
    uint64_t salt;
    uint32_t published;   // records that were acknowledged, or just about to be
    uint64_t begin, end;  // they lie in these bytes of the file; begin >= end: not known
  };
  // An open that lasted to the end (OpenCell).
  struct Open {
    uint32_t world;  // rank in MPI_COMM_WORLD
    uint64_t number;
    uint32_t ranks, rank;  // of its communicator
    uint32_t calls;        // collective write calls finished
    bool later;            // something was logged behind them
    // Of the last call that has a piece in the file and not in the log; 0 and false: of none.
    uint32_t straight_call;
    bool straight_later;
  };
  uint64_t ledger_updates = 0;  // the ledger has at least this round; 0 also where that is not known
  bool closing = false;         // FileControl::closing
  bool is_open = false;         // some rank has it open, if its job lives
  std::vector<Cell> cells;      // of segments in use
  std::vector<Open> opens;

  // nullopt: the bytes are no control block, or one of an earlier start of the machine.
  static std::optional<ControlEvidence> read(std::span<const std::byte> bytes);
  const Cell* find(uint32_t rank, uint64_t salt) const;  // null: nothing is known
};

// Records that are not valid although they were acknowledged, or that come after such a record.
struct Damage {
  uint32_t first = 0;         // record
  uint32_t acknowledged = 0;  // records [first, acknowledged) are lost
  std::vector<Vector> lost;   // the ranges of those that tell them, at most kMostRanges
  uint32_t unknown = 0;       // so many of them tell no range
  // These lie in this extent of the file, in which other records of the segment may lie, too; nullopt: not
  // known.
  std::optional<Vector> within = {};
};
constexpr size_t kMostRanges = 64;

// valid: the number of valid records of a dead job's segment. same_boot: the machine runs since its job did.
// cell: of the segment, if the control block has one.
std::optional<Damage> find_damage(const SegmentReader& reader, uint32_t valid,
                                  const ControlEvidence::Cell* cell, bool same_boot);
// The bytes of the file that the cell's records lie in.
std::optional<Vector> bounds_of(const ControlEvidence::Cell& cell);

}  // namespace pmio
