#include "node/round_runs.h"

#include <algorithm>

namespace pmio {

Status RoundRuns::open(FileIndex& index, std::span<const uint64_t> numbers) {
  auto runs = index.open_runs(numbers);
  if (!runs.ok()) return runs.status();
  mappings_ = std::move(runs).value();
  for (const auto& mapping : mappings_) views_.push_back(mapping->view);
  return {};
}

void RoundRuns::add(std::vector<Entry>& leftover) {
  if (leftover.empty()) return;
  private_run_ = std::make_unique_for_overwrite<std::byte[]>(run_bytes(leftover.size()));
  build_run(leftover, private_run_.get());
  views_.emplace_back(private_run_.get());
}

void RoundRuns::find(uint64_t a, uint64_t b, std::vector<Entry>* found) const {
  for (const RunView& view : views_) view.find(a, b, found);
}

uint64_t RoundRuns::next_covered(uint64_t a) const {
  uint64_t next = UINT64_MAX;
  for (const RunView& view : views_) next = std::min(next, view.next_covered(a));
  return next;
}

}  // namespace pmio
