#include "twophase/two_phase.h"

#include <algorithm>

#include "twophase/parts.h"
#include "twophase/read_call.h"
#include "twophase/write_call.h"

namespace pmio {
namespace {

// If stripes are shorter. Windows of 4 MiB take as long (bench/twophase_bench), and more memory.
constexpr uint64_t kMostWindowBytes = uint64_t{1} << 20;

// An aggregator has two windows; if there are several nodes, also room for two messages.
uint64_t window_bytes(const TwoPhaseOptions& options, bool several_nodes) {
  const uint64_t stripe = options.stripe_bytes;
  const uint64_t most =
      std::max(options.buffer_bytes / (several_nodes ? 4 : 2) / kBufferUnit, uint64_t{1}) * kBufferUnit;
  const uint64_t wanted = std::min(most, std::max(stripe, kMostWindowBytes));
  return stripe <= wanted && stripe % kBufferUnit == 0 ? wanted / stripe * stripe
                                                       : wanted / kBufferUnit * kBufferUnit;
}

class Engine final : public TwoPhase {
 public:
  Engine(Collective& collective, Store& store, const Places& places, TwoPhaseOptions options, uint64_t window)
      : parts_{collective,         store,  places,
               std::move(options), window, Slots(parts_.places, parts_.options.aggregators)} {}

  bool take_memory() override { return have_memory(); }
  Status write(const TwoPhaseRequest& request) override;
  Status read(const TwoPhaseRequest& request, uint64_t* got) override;
  const TwoPhaseOptions& options() const override { return parts_.options; }
  const TwoPhaseCounters& counters() const override { return parts_.counters; }

 private:
  bool have_memory();
  Status take_part_in_read(const TwoPhaseRequest& request, uint64_t* got);
  // A rank's access to its own bytes, without the others.
  Status write_alone(const Stream& stream);
  Status read_alone(const Stream& stream, uint64_t* got);

  TwoPhaseParts parts_;
  bool asked_for_memory_ = false;
};

bool Engine::have_memory() {
  if (asked_for_memory_) return parts_.memory != nullptr;
  asked_for_memory_ = true;
  const NodeMemory::Shape shape{parts_.places.nodes(), static_cast<uint32_t>(parts_.places.here().size()),
                                parts_.slots.count(), parts_.window_bytes};
  auto memory = parts_.collective.share(shape.bytes(), shape.zeroed_bytes());
  if (memory.ok()) parts_.memory = std::make_unique<NodeMemory>(std::move(memory.value()), shape);
  return memory.ok();
}

Status Engine::write_alone(const Stream& stream) {
  const TwoPhaseRequest& request = stream.request();
  if (request.bytes == 0) return {};
  PatternCursor to = stream.file_cursor(0), from = stream.memory_cursor(0);
  return parts_.store.write_own(to, from, request.base, request.bytes);
}

Status Engine::read_alone(const Stream& stream, uint64_t* got) {
  const TwoPhaseRequest& request = stream.request();
  *got = 0;
  if (request.bytes == 0) return {};
  PatternCursor from = stream.file_cursor(0), to = stream.memory_cursor(0);
  return parts_.store.read_own(from, to, request.base, request.bytes, got);
}

Status Engine::write(const TwoPhaseRequest& request) {
  const Stream stream(request);
  ++parts_.counters.calls;
  parts_.counters.bytes += request.bytes;
  // Without shared memory there is nothing to wait with either.
  if (!have_memory()) return write_alone(stream);
  const CallPlan plan = plan_call(parts_, stream, true);
  if (!plan.status.ok()) return plan.status;
  if (plan.exchange) {
    ++parts_.counters.exchanged_calls;
    return WriteCall(parts_, plan, stream).run();
  }
  if (plan.bytes == 0) return {};
  ++parts_.counters.independent_calls;
  Status status = write_alone(stream);
  (void)finish_call(parts_, {});
  return status;
}

Status Engine::read(const TwoPhaseRequest& request, uint64_t* got) {
  parts_.store.begin_reads(parts_.options.fresh_reads);
  Status status = take_part_in_read(request, got);
  parts_.store.end_reads();
  return status;
}

Status Engine::take_part_in_read(const TwoPhaseRequest& request, uint64_t* got) {
  const Stream stream(request);
  *got = 0;
  ++parts_.counters.calls;
  if (!have_memory()) return read_alone(stream, got);
  const CallPlan plan = plan_call(parts_, stream, false);
  if (!plan.status.ok()) return plan.status;
  Status status;
  if (plan.exchange) {
    ++parts_.counters.exchanged_calls;
    status = ReadCall(parts_, plan, stream).run(got);
  } else if (plan.bytes > 0) {
    ++parts_.counters.independent_calls;
    status = read_alone(stream, got);
  }
  parts_.counters.bytes += *got;
  return status;
}

}  // namespace

TwoPhaseOptions in_force(TwoPhaseOptions wished, const Members& members) {
  TwoPhaseOptions options = std::move(wished);
  if (options.aggregators.empty()) options.aggregators = choose_aggregators(members, options.layout, 0);
  options.buffer_bytes = std::max(options.buffer_bytes, TwoPhaseOptions::kLeastBufferBytes);
  Layout& layout = options.layout;
  if (layout.components.empty() && layout.stripe_bytes == 0)
    layout.stripe_bytes = std::max(options.stripe_bytes, uint64_t{1});
  options.stripe_bytes = layout.smallest_stripe_bytes();
  return options;
}

std::unique_ptr<TwoPhase> TwoPhase::make(Collective& collective, Store& store, TwoPhaseOptions options) {
  const Places places(collective.members());
  options = in_force(std::move(options), collective.members());
  const uint64_t window = window_bytes(options, places.nodes() > 1);
  return std::make_unique<Engine>(collective, store, places, std::move(options), window);
}

}  // namespace pmio
