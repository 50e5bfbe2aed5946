// The runs of a drain round as one process sees them, and as one more run the entries for which none could
// be made. Threads: values.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "node/index.h"

namespace pmio {

class RoundRuns {
 public:
  // Maps runs by number. An error: none is mapped; the round may be over.
  Status open(FileIndex& index, std::span<const uint64_t> numbers);
  // FileIndex::Leftover::entries, whose order it destroys. At most once.
  void add(std::vector<Entry>& leftover);

  // Of all the runs, as RunView.
  void find(uint64_t a, uint64_t b, std::vector<Entry>* found) const;
  uint64_t next_covered(uint64_t a) const;

 private:
  std::vector<std::shared_ptr<FileIndex::Mapping>> mappings_;
  std::unique_ptr<std::byte[]> private_run_;
  std::vector<RunView> views_;
};

}  // namespace pmio
