#include "differential_types.h"

#include <algorithm>
#include <cstdlib>

namespace differential {
namespace {

// Packs buffers in which byte plane p holds bits 8p..8p+7 of each byte's own address.
std::vector<int64_t> ask_map(MPI_Datatype type, int64_t size, int64_t lowest, int64_t span) {
  std::vector<int64_t> map(static_cast<size_t>(size), lowest);
  std::vector<unsigned char> plane(static_cast<size_t>(span)), packed(static_cast<size_t>(size));
  for (int shift = 0; shift < 32 && (span - 1) >> shift != 0; shift += 8) {
    for (int64_t i = 0; i < span; i++) plane[i] = static_cast<unsigned char>(i >> shift);
    int position = 0;
    MPI_Pack(plane.data() - lowest, 1, type, packed.data(), static_cast<int>(size), &position, MPI_COMM_SELF);
    if (position != size) abort();
    for (int64_t i = 0; i < size; i++) map[i] += static_cast<int64_t>(packed[i]) << shift;
  }
  return map;
}

MPI_Datatype subarray_of(Random& random, int rows, int columns, const DataType& child) {
  int sizes[2] = {rows, columns}, subsizes[2], starts[2];
  for (int d = 0; d < 2; d++) {
    subsizes[d] = static_cast<int>(random.between(1, sizes[d]));
    starts[d] = static_cast<int>(random.below(sizes[d] - subsizes[d] + 1));
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, sizes, subsizes, starts, random.percent(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                           child.handle, &made);
  return made;
}

// One constructor over `child`, whose instances may follow each other at its extent. Ascending, at or above
// 0. unit: displacements are multiples of it.
DataType construct(Random& random, const DataType& child, int64_t extent_limit, int64_t unit) {
  const int64_t room = std::max<int64_t>(1, extent_limit / child.extent);  // children that fit
  const int blocks = static_cast<int>(random.between(1, std::min<int64_t>(room, 6)));
  const int length =
      static_cast<int>(random.between(1, std::max<int64_t>(1, std::min<int64_t>(room / blocks, 40))));
  const int64_t slack = std::max<int64_t>(0, room / blocks - length);  // children's extents free per block
  MPI_Datatype made = MPI_DATATYPE_NULL;
  std::vector<int> lengths(blocks), places(blocks);
  std::vector<MPI_Aint> bytes(blocks);
  std::vector<MPI_Datatype> children(blocks, child.handle);
  int64_t next = random.below(slack + 1);
  int64_t odd = 0;  // sub-extent shift in units, for the forms whose displacements are in bytes
  for (int i = 0; i < blocks; i++) {
    lengths[i] = static_cast<int>(random.between(random.percent(20) ? 0 : 1, length));
    places[i] = static_cast<int>(next);
    if (slack > 0 && unit < child.extent && random.percent(50)) odd += unit;
    bytes[i] = next * child.extent + odd;
    next += length + random.below(slack + 1);
  }
  lengths[0] = std::max(lengths[0], 1);
  const int stride = length + static_cast<int>(random.below(slack + 1));
  switch (random.below(8)) {
    case 0:
      MPI_Type_contiguous(length, child.handle, &made);
      break;
    case 1:
      MPI_Type_vector(blocks, length, stride, child.handle, &made);
      break;
    case 2:
      MPI_Type_create_hvector(blocks, length, stride * child.extent + (slack > 0 ? unit : 0), child.handle,
                              &made);
      break;
    case 3:
      MPI_Type_indexed(blocks, lengths.data(), places.data(), child.handle, &made);
      break;
    case 4:
      MPI_Type_create_hindexed(blocks, lengths.data(), bytes.data(), child.handle, &made);
      break;
    case 5:
      MPI_Type_create_indexed_block(blocks, length, places.data(), child.handle, &made);
      break;
    case 6:
      MPI_Type_create_struct(blocks, lengths.data(), bytes.data(), children.data(), &made);
      break;
    default:
      made = subarray_of(random, blocks, stride, child);
  }
  DataType type = describe(made, true);
  // The extent of a struct depends on alignment, which MPIs may see differently; an explicit one is the same
  // for all.
  const int64_t tail = random.percent(30) ? random.between(0, 3) * child.extent : 0;
  const int64_t end = (type.lowest + type.span + unit - 1) / unit * unit;
  return resized(type, 0, std::max<int64_t>(end, 1) + tail);
}

DataType nest(Random& random, const DataType& element, int64_t extent_limit, int64_t unit) {
  DataType type = construct(random, element, std::max(element.extent, extent_limit / 8), unit);
  for (int depth = 1; depth < 3 && random.percent(45) && type.extent * 2 <= extent_limit; depth++) {
    DataType outer = construct(random, type, extent_limit, unit);
    release(&type);
    type = outer;
  }
  return type;
}

}  // namespace

DataType describe(MPI_Datatype handle, bool owned) {
  DataType type;
  type.handle = handle;
  type.owned = owned;
  MPI_Type_commit(&type.handle);
  int size = 0;
  MPI_Type_size(handle, &size);
  MPI_Aint lower = 0, extent = 0, lowest = 0, span = 0;
  MPI_Type_get_extent(handle, &lower, &extent);
  MPI_Type_get_true_extent(handle, &lowest, &span);
  type.size = size;
  type.extent = extent;
  type.lowest = lowest;
  type.span = span;
  type.map = ask_map(handle, size, lowest, span);
  type.pieces = 1;
  for (int64_t i = 1; i < size; i++) type.pieces += type.map[i] != type.map[i - 1] + 1;
  return type;
}

void release(DataType* type) {
  if (type->owned) MPI_Type_free(&type->handle);
  *type = DataType();
}

DataType random_etype(Random& random) {
  const MPI_Datatype elementary[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
  const MPI_Datatype base = elementary[random.below(4)];
  if (random.percent(70)) return describe(base, false);
  MPI_Datatype group;
  MPI_Type_contiguous(static_cast<int>(random.between(1, 5)), base, &group);
  return describe(group, true);
}

DataType random_filetype(Random& random, const DataType& element, int64_t extent_limit) {
  return nest(random, element, extent_limit, element.extent);
}

DataType random_memory_type(Random& random, const DataType& element, int64_t extent_limit) {
  DataType type = nest(random, element, extent_limit / 2, random.percent(30) ? 1 : element.extent);
  if (random.percent(40)) {  // pieces out of order, some of them at negative displacements
    MPI_Aint places[2] = {0, -type.extent - random.below(64)};
    if (random.percent(50)) std::swap(places[0], places[1]);
    int lengths[2] = {1, 1};
    MPI_Datatype shuffled;
    MPI_Type_create_hindexed(2, lengths, places, type.handle, &shuffled);
    release(&type);
    type = describe(shuffled, true);
  }
  if (type.size == type.span && type.lowest != 0) {
    // ROMIO takes a contiguous type for bytes that begin at the buffer's address, even where they don't.
    const MPI_Aint place = -type.lowest;
    const int one = 1;
    MPI_Datatype moved;
    MPI_Type_create_hindexed(1, &one, &place, type.handle, &moved);
    release(&type);
    type = describe(moved, true);
  }
  const int64_t lower = random.percent(50) ? type.lowest : type.lowest - random.below(100);
  return resized(type, lower, type.lowest + type.span - lower + (random.percent(50) ? 0 : random.below(100)));
}

DataType random_array_share(Random& shared, const DataType& element, int rank, int ranks, bool darray) {
  const int dimensions = static_cast<int>(shared.between(1, 3));
  int grid[3] = {0, 0, 0};
  MPI_Dims_create(ranks, dimensions, grid);
  if (shared.percent(50)) std::swap(grid[0], grid[dimensions - 1]);
  int sizes[3], subsizes[3], starts[3], distributions[3], arguments[3];
  const int order = shared.percent(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  int rest = rank;
  for (int d = dimensions - 1; d >= 0; d--) {
    const int place = rest % grid[d];
    rest /= grid[d];
    const int share = static_cast<int>(shared.between(1, dimensions == 1 ? 60 : 12));
    sizes[d] = share * grid[d];
    subsizes[d] = share;
    starts[d] = place * share;
    distributions[d] = shared.percent(50) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
    const bool by_default = distributions[d] == MPI_DISTRIBUTE_BLOCK || shared.percent(50);
    arguments[d] = by_default ? MPI_DISTRIBUTE_DFLT_DARG : static_cast<int>(shared.between(1, share));
  }
  MPI_Datatype made;
  if (darray)
    MPI_Type_create_darray(ranks, rank, dimensions, sizes, distributions, arguments, grid, order,
                           element.handle, &made);
  else
    MPI_Type_create_subarray(dimensions, sizes, subsizes, starts, order, element.handle, &made);
  return describe(made, true);
}

DataType resized(DataType type, int64_t lower_bound, int64_t extent) {
  MPI_Datatype made;
  MPI_Type_create_resized(type.handle, lower_bound, extent, &made);
  release(&type);
  return describe(made, true);
}

}  // namespace differential
