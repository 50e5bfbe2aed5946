// Collective buffering: ranks that read or write small pieces of a file together exchange them, so that few
// ranks, the aggregators, access the file in large pieces (docs/decisions/0028-two-phase.md).
//
// All calls are collective over the ranks of a Collective: every rank makes each of them, in the same order,
// also a rank that has no bytes or has an error. Nobody returns from a write before the bytes of all ranks
// are in the store, so that whoever reads after it, sees them. No byte is written that no rank has given.
// Durability: the store's. Threads: one at a time; all work is done on the calling threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/relaxed_count.h"
#include "base/status.h"
#include "extent/pattern.h"
#include "layout/layout.h"
#include "twophase/collective.h"
#include "twophase/store.h"

namespace pmio {

// Which aggregator accesses which bytes of the file: Cray's MPICH_MPIIO_CB_ALIGN.
enum class Alignment {
  even = 0,        // the accessed range is split evenly
  stripes = 1,     // the same at boundaries of stripes: in a call no stripe is touched by two aggregators
  persistent = 2,  // stripe number n belongs to aggregator n modulo their count, in all calls
};

// Whether calls are buffered collectively: romio_cb_write and romio_cb_read.
enum class Buffering {
  automatic,  // if it is expected to be faster: the ranks' pieces are small and lie close to each other
  enable,     // always
  disable,    // never: each rank accesses its own pieces
  asked,      // writes only: if that is expected to be faster for ranks that ask for it
};

// In which memory the ranks of a node share collective buffers: pmio_cb_memory.
enum class BufferMemory {
  dram,
  pmem,  // the log's medium
};

// The same on all ranks.
struct TwoPhaseOptions {
  Alignment alignment = Alignment::persistent;
  Buffering writes = Buffering::automatic, reads = Buffering::automatic;
  // Most memory for collective buffers, for each aggregator: cb_buffer_size. At least kLeastBufferBytes is
  // taken.
  uint64_t buffer_bytes = uint64_t{16} << 20;
  static constexpr uint64_t kLeastBufferBytes = 8192;
  // Ranks, each once, in the order of their parts of the file. Empty: as choose_aggregators does by itself.
  std::vector<uint32_t> aggregators{};
  // Of the file; if it has no stripes, those of stripe_bytes are taken.
  Layout layout{};
  uint64_t stripe_bytes = uint64_t{1} << 20;
  BufferMemory memory = BufferMemory::dram;  // as Collective::share has it
  // Reads see what was synced on other nodes before the call began on any rank.
  bool fresh_reads = false;
  bool across_calls = false;  // pmio_cb_buffering, as the Store has it
};

// The values that a TwoPhase has of those that are wished.
TwoPhaseOptions in_force(TwoPhaseOptions wished, const Members& members);

// `count` aggregators, spread over the nodes in turn, on each node over its ranks; the least rank of each
// node first. count 0: one for each node, but not more than the layout has servers, if that has several.
std::vector<uint32_t> choose_aggregators(const Members& members, const Layout& layout, uint32_t count);

// What a rank gives to a call. The default: no bytes.
struct TwoPhaseRequest {
  const Pattern* view = nullptr;    // of the file. Its bytes ascend
  int64_t displacement = 0;         // of the view
  uint64_t position = 0;            // bytes of the view's stream before the first one
  const Pattern* memory = nullptr;  // of the buffer: from its stream's begin on
  std::byte* base = nullptr;        // of the buffer; a write only reads it
  uint64_t bytes = 0;
  bool asks = false;  // Buffering::asked
};

// What this rank has done; grows with each call.
struct TwoPhaseCounters {
  uint64_t calls = 0, independent_calls = 0;  // all; those of them without an exchange
  uint64_t exchanged_calls = 0;               // with one; the others had no bytes on any rank
  uint64_t bytes = 0;                         // that this rank has given or got
  // As an aggregator. Whole stripes: bytes that were accessed by stripes as a whole.
  uint64_t windows = 0, accessed_bytes = 0, whole_stripes = 0;
  uint64_t shared_stripes = 0;  // stripes that it shared with another aggregator in one call
  uint64_t messages = 0, message_bytes = 0,
           metadata_bytes = 0;  // sent; metadata: what is no bytes of the file
  // Time, each counted once: until all ranks had come; copies and messages; the file; waiting for other ranks
  // after that. copy_ns is of exchange_ns: for this rank's own bytes.
  RelaxedCount arrival_ns = 0, exchange_ns = 0, file_ns = 0, wait_ns = 0, copy_ns = 0;
};

class TwoPhase {
 public:
  // Collective. Both must outlive it. Memory is taken by the first call that is buffered.
  static std::unique_ptr<TwoPhase> make(Collective& collective, Store& store, TwoPhaseOptions options);
  virtual ~TwoPhase() = default;
  TwoPhase(const TwoPhase&) = delete;
  TwoPhase& operator=(const TwoPhase&) = delete;

  // Collective: takes the memory now. False, on all ranks: there is none.
  virtual bool take_memory() = 0;
  // Collective. An error of the file is returned on each rank some of whose bytes it may concern. The other
  // bytes are written.
  virtual Status write(const TwoPhaseRequest& request) = 0;
  // Collective. *got: bytes up to the end of the file, in the stream's order.
  virtual Status read(const TwoPhaseRequest& request, uint64_t* got) = 0;

  // The values in force, after those that were wished.
  virtual const TwoPhaseOptions& options() const = 0;
  virtual const TwoPhaseCounters& counters() const = 0;

 protected:
  TwoPhase() = default;
};

}  // namespace pmio
