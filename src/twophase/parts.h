// What the calls of a file have in common. Threads: one.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/idle_processor.h"
#include "twophase/domains.h"
#include "twophase/node_memory.h"
#include "twophase/patience.h"
#include "twophase/places.h"
#include "twophase/store.h"
#include "twophase/two_phase.h"

namespace pmio {

// A window that the ranks of a node go through together.
struct Step {
  uint64_t number;
  uint64_t previous;  // 1 more than the step that had the slot before; 0: none
  uint32_t slot;
  uint32_t aggregator;  // its rank
  uint32_t keeper;      // the rank on this node that empties the slot
  Interval window;
  bool local() const { return aggregator == keeper; }
};

// Gives steps their numbers and slots: two for each aggregator of the node, in turn, and some that all
// windows of other nodes' aggregators use in turn. Alike on all ranks of a node.
class Slots {
 public:
  Slots(const Places& places, const std::vector<uint32_t>& aggregators);
  Step next(uint32_t aggregator, const Interval& window);
  uint32_t count() const { return static_cast<uint32_t>(last_.size()); }
  static constexpr uint32_t kSending = 4;  // slots for windows of other nodes

 private:
  uint32_t slot_of(uint32_t aggregator);

  const Places* places_;
  const std::vector<uint32_t>* aggregators_;
  std::vector<uint32_t> first_slot_;  // by number of the aggregator
  std::vector<uint32_t> turns_;       // the same
  uint32_t sending_turns_ = 0, sending_first_ = 0;
  std::vector<uint64_t> last_;  // by slot
  uint64_t number_ = 0;
};

struct TwoPhaseParts {
  Collective& collective;
  Store& store;
  const Places places;
  const TwoPhaseOptions options;
  const uint64_t window_bytes;
  Slots slots;
  TwoPhaseCounters counters{};
  std::unique_ptr<NodeMemory> memory{};  // none before the first call, or if there is none to be had
  uint64_t calls = 0;
  const bool eager = places.here().size() <= online_processors();

  // Messages ring no bell, and the MPI library may have to do something.
  static constexpr uint64_t kNapNs = 20'000, kSleepNs = 500'000;

  void ring_rank(uint32_t rank) { ring(memory->rank(places.index_of(rank)).bell); }
  void ring_all() {
    for (uint32_t i = 0; i < places.here().size(); ++i)
      if (i != places.index) ring(memory->rank(i).bell);
  }
  RankLine& line() { return memory->rank(places.index); }
  std::byte* image(const Step& step) { return memory->image(step.slot, step.window.begin); }

  // Waits until `ready`. serve() does what others wait for, and says whether it did something.
  template <class Ready, class Serve>
  void wait(Ready ready, Serve serve) {
    Patience patience(eager);
    uint64_t start = 0, worked = 0;
    while (!ready()) {
      if (serve()) {
        patience.renew();
        continue;
      }
      if (start == 0) {
        start = monotonic_ns();
        worked = counters.exchange_ns + counters.file_ns;
      }
      if (patience.is_long()) collective.progress();
      if (patience.pause()) continue;
      lie_down(line().bell);
      if (!ready() && !serve()) sleep_on(line().bell, places.nodes() > 1 ? kNapNs : kSleepNs);
      get_up(line().bell);
    }
    // What was done for others meanwhile is no waiting.
    if (start != 0)
      counters.wait_ns += monotonic_ns() - start + worked - counters.exchange_ns - counters.file_ns;
  }
  template <class Ready>
  void wait(Ready ready) {
    wait(ready, [] { return false; });
  }
  // Of this rank as an aggregator.
  uint64_t shared_stripes(const Domains& domains) const {
    for (uint32_t a = 0; a < options.aggregators.size(); ++a)
      if (options.aggregators[a] == places.rank) return domains.shared_stripes(a);
    return 0;
  }
  // Whether the step before in its slot is over.
  bool is_free(const Step& step) {
    return memory->slot(step.slot).ready.load(std::memory_order_acquire) >= step.previous;
  }
  // Whether a counter has come so far on all ranks of the node.
  bool all_reached(std::atomic<uint64_t> RankLine::*counter, uint64_t value) {
    for (uint32_t i = 0; i < places.here().size(); ++i)
      if ((memory->rank(i).*counter).load(std::memory_order_acquire) < value) return false;
    return true;
  }
};

}  // namespace pmio
