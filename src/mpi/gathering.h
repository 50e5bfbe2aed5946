// Small pieces of collective writes to a file that logs, gathered by collective buffering while the log is
// cold (docs/decisions/0033-gathering.md). What becomes a long piece of the file by that goes straight to it,
// as any other large piece does; the rest goes into the log of the rank that gathers.
//
// Whether it is done is decided by all ranks alike: in MPI_File_set_view, by the views and the logs of all,
// and in each call that is gathered, by what all ranks give to it. Of files whose ranks are on one node.
// Threads: as of collective calls on one handle, one at a time, unless told otherwise.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "mpi/tempo.h"
#include "node/idle_sightings.h"
#include "node/log_store.h"
#include "twophase/two_phase.h"
#include "view/view.h"

namespace pmio {

struct Handle;

// In order: the most that any rank wants counts.
enum class GatherWish : int64_t { none, asked, always };
// What this rank wants for collective writes through such a view.
GatherWish wish_to_gather(Handle& handle, const FileView& view);
// Whether this rank is against it, whatever the others want.
bool is_against_gathering(const Handle& handle);

class Gathering {
 public:
  // Not collective: may_begin takes the memory.
  Gathering(Handle& handle, GatherWish wish);
  ~Gathering();

  // Before each call of write.
  void begin() { tempo_.begin(monotonic_ns(), idle_.since(tempo_.ended_ns())); }
  // Whether the program pauses between the calls for longer than it is in them, and leaves a processor idle.
  bool pauses() const { return tempo_.computes(); }
  // Collective, as TwoPhase::write. *goes_on, the same on all ranks: the next call should come, too.
  Status write(const TwoPhaseRequest& request, CallNumber call, bool* goes_on);
  // After it, of a rank that has given bytes.
  void end_call() { log_.end_call(); }
  // Collective, of a view that wants it: false, the same on all ranks, if calls through the last views were
  // not worth it, or a rank cannot have the memory.
  bool may_begin();
  const TwoPhaseCounters& counters() const { return engine_->counters(); }

 private:
  const std::unique_ptr<Collective> ranks_;
  LogStore log_;
  const std::unique_ptr<TwoPhase> engine_;
  // Views that are passed over after a call that was not gathered; more each time in succession.
  static constexpr uint32_t kMostPassedOver = 64;
  IdleSightings& idle_;
  Tempo tempo_;
  uint32_t pass_over_ = 0, passed_over_ = 0;
};

// Whether this rank's part of a call would better be gathered.
bool asks_to_gather(const Handle& handle, uint64_t bytes);
// Collective, at a view: the engine of the handle's collective writes from now on, as all ranks want it.
void choose_gathering(Handle& handle, GatherWish wish, bool against);
// What has been gathered, into the file's statistics.
void note_gathering(const Handle& handle);

}  // namespace pmio
