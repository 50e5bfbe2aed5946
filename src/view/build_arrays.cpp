// Subarrays and distributed arrays (MPI 4.1, 5.1.3 and 5.1.4), dimension by dimension from the fastest one.
#include <algorithm>

#include "view/flatten.h"

namespace pmio {
namespace {

// The dimension that is the i-th fastest in memory.
size_t fastest(size_t i, size_t dimensions, int64_t order) {
  return order == MPI_ORDER_C ? dimensions - 1 - i : i;
}

// The part of one dimension that process `coordinate` of `processes` owns in a block-cyclic distribution:
// indices k with (k / block) % processes == coordinate. distance: bytes from one index to the next.
PartList cyclic(const PartList& child, int64_t distance, int64_t size, int64_t block, int64_t coordinate,
                int64_t processes) {
  PartList out, whole;
  int64_t first = 0, cycle = 0, span = 0;
  if (block <= 0 || processes <= 0 || __builtin_mul_overflow(block, coordinate, &first) ||
      __builtin_mul_overflow(block, processes, &cycle) || __builtin_mul_overflow(size, distance, &span)) {
    return out.fail(), out;
  }
  if (first >= size) return out;
  // Indices below size times distance can't overflow any more.
  const int64_t full = size - first >= block ? (size - first - block) / cycle + 1 : 0;
  const int64_t rest_at = full > 0 ? first + (full - 1) * cycle : first;
  const int64_t rest = full > 0 ? (size - rest_at > cycle ? size - rest_at - cycle : 0) : size - first;
  whole.repeat(child, 0, distance, block);
  out.repeat(whole, first * distance, full > 1 ? cycle * distance : 0, full);
  if (rest > 0) out.repeat(child, (size - rest) * distance, distance, rest);
  return out;
}

// Block size of a distribution argument; 0 if it is invalid.
int64_t block_size(int64_t distribution, int64_t argument, int64_t size, int64_t processes) {
  if (distribution == MPI_DISTRIBUTE_NONE) return std::max(size, int64_t{1});
  if (argument != MPI_DISTRIBUTE_DFLT_DARG) return argument;
  if (distribution == MPI_DISTRIBUTE_CYCLIC) return 1;
  return std::max((size + processes - 1) / processes, int64_t{1});
}

}  // namespace

PartList build_subarray(const std::vector<int64_t>& arguments, const ChildType& child) {
  const auto dimensions = static_cast<size_t>(arguments.at(0));
  const int64_t* sizes = &arguments.at(1);
  const int64_t* subsizes = sizes + dimensions;
  const int64_t* starts = subsizes + dimensions;
  const int64_t order = arguments.at(1 + 3 * dimensions);
  PartList parts = *child.parts;
  int64_t distance = child.extent;
  for (size_t i = 0; i < dimensions; ++i) {
    const size_t d = fastest(i, dimensions, order);
    int64_t start = 0;
    PartList next;
    if (__builtin_mul_overflow(starts[d], distance, &start)) next.fail();
    next.repeat(parts, start, distance, subsizes[d]);
    if (__builtin_mul_overflow(distance, sizes[d], &distance)) next.fail();
    parts = std::move(next);
  }
  return parts;
}

PartList build_darray(const std::vector<int64_t>& arguments, const ChildType& child) {
  int64_t processes_left = arguments.at(0);
  int64_t rank = arguments.at(1);
  const auto dimensions = static_cast<size_t>(arguments.at(2));
  const int64_t* sizes = &arguments.at(3);
  const int64_t* distributions = sizes + dimensions;
  const int64_t* block_arguments = distributions + dimensions;
  const int64_t* processes = block_arguments + dimensions;
  const int64_t order = arguments.at(3 + 4 * dimensions);
  // The process grid is row-major whatever the order of the array.
  std::vector<int64_t> coordinates(dimensions);
  for (size_t d = 0; d < dimensions; ++d) {
    processes_left /= processes[d];
    coordinates[d] = rank / processes_left;
    rank %= processes_left;
  }
  PartList parts = *child.parts;
  int64_t distance = child.extent;
  for (size_t i = 0; i < dimensions; ++i) {
    const size_t d = fastest(i, dimensions, order);
    const int64_t block = block_size(distributions[d], block_arguments[d], sizes[d], processes[d]);
    parts = cyclic(parts, distance, sizes[d], block, coordinates[d], processes[d]);
    if (__builtin_mul_overflow(distance, sizes[d], &distance)) parts.fail();
  }
  return parts;
}

}  // namespace pmio
