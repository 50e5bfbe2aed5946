#include "view_random_types.h"

#include <algorithm>

namespace pmio::test {
namespace {

// Arrays of the element type that a constructor wants.
template <class Element>
std::vector<Element> as(const std::vector<int64_t>& numbers) {
  std::vector<Element> result(numbers.begin(), numbers.end());
  result.resize(std::max<size_t>(result.size(), 1));
  return result;
}

struct Bounds {
  MPI_Count lb = 0, extent = 0, true_lb = 0, true_extent = 0;
};

Bounds bounds(MPI_Datatype type) {
  Bounds result;
  MPI_Type_get_extent_x(type, &result.lb, &result.extent);
  MPI_Type_get_true_extent_x(type, &result.true_lb, &result.true_extent);
  return result;
}

void release(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_DUP;
#if MPI_VERSION >= 4
  MPI_Count counts[4];
  MPI_Type_get_envelope_c(type, &counts[0], &counts[1], &counts[2], &counts[3], &combiner);
  (void)integers, (void)addresses, (void)types;
#else
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
#endif
  const bool predefined = combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
                          combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
  if (!predefined) MPI_Type_free(&type);
}

// Calls the plain or the large-count constructor.
#if MPI_VERSION >= 4
#define PMIO_BUILD(use_large, plain, large_call) ((use_large) ? (large_call) : (plain))
#else
#define PMIO_BUILD(use_large, plain, large_call) (static_cast<void>(use_large), (plain))
#endif

}  // namespace

bool RandomTypes::large() {
  const bool result = chance(3);
#if MPI_VERSION >= 4
  if (result) description_ += " _c";
#endif
  return result;
}

void RandomTypes::say(const std::string& name, const Numbers& numbers) {
  description_ += " " + name + "(";
  for (int64_t number : numbers) description_ += std::to_string(number) + ",";
  description_ += ")";
}

MPI_Datatype RandomTypes::basic() {
  // Without MPI_LONG_DOUBLE: an MPI may pack its ten bytes of value only and leave the padding behind.
  static const std::vector<MPI_Datatype> types = {
      MPI_BYTE,     MPI_CHAR,      MPI_SHORT,           MPI_INT,       MPI_DOUBLE,
      MPI_INT64_T,  MPI_SHORT_INT, MPI_DOUBLE_INT,      MPI_FLOAT_INT, MPI_LONG_DOUBLE_INT,
      MPI_LONG_INT, MPI_2INT,      MPI_C_DOUBLE_COMPLEX};
  const int64_t choice = pick(0, static_cast<int64_t>(types.size()) + 1);
  say("basic", {choice});
  MPI_Datatype f90 = MPI_DATATYPE_NULL;
  if (choice == static_cast<int64_t>(types.size())) {
    if (MPI_Type_create_f90_integer(9, &f90) == MPI_SUCCESS && f90 != MPI_DATATYPE_NULL) return f90;
    return MPI_INT;
  }
  if (choice > static_cast<int64_t>(types.size())) {
    if (MPI_Type_create_f90_real(6, 30, &f90) == MPI_SUCCESS && f90 != MPI_DATATYPE_NULL) return f90;
    return MPI_FLOAT;
  }
  return types[static_cast<size_t>(choice)];
}

RandomTypes::Numbers RandomTypes::lengths(bool equal) {
  Numbers result(static_cast<size_t>(pick(chance(10) ? 0 : 1, 4)));
  const int64_t same = pick(chance(8) ? 0 : 1, 3);
  for (int64_t& length : result) length = equal ? same : pick(chance(4) ? 0 : 1, 3);
  return result;
}

RandomTypes::Numbers RandomTypes::displacements(const Numbers& block_lengths, int64_t unit, int64_t first) {
  Numbers result;
  int64_t at = first;
  for (int64_t length : block_lengths) {
    result.push_back(at);
    at += length * unit + (chance(2) ? pick(0, 3) * (chance(2) ? unit : 1) : 0);
  }
  if (!shape_.file && chance(3)) shuffle(result);
  return result;
}

void RandomTypes::shuffle(Numbers& numbers) {
  // Unlike std::shuffle, the same under every standard library.
  for (size_t i = numbers.size(); i > 1; --i) {
    std::swap(numbers[i - 1], numbers[static_cast<size_t>(pick(0, static_cast<int64_t>(i) - 1))]);
  }
}

MPI_Datatype RandomTypes::build_struct(MPI_Datatype first, MPI_Datatype second) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  Numbers block_lengths = lengths(false);
  std::vector<MPI_Datatype> types;
  Numbers at;
  int64_t next = shape_.file ? 0 : pick(-20, 20);
  for (int64_t length : block_lengths) {
    types.push_back(chance(2) ? first : second);
    const Bounds child = bounds(types.back());
    at.push_back(next - (shape_.file ? 0 : child.lb));
    next += length * std::max<int64_t>(child.extent, child.true_lb + child.true_extent) + pick(0, 5);
  }
  if (!shape_.file && chance(3)) shuffle(at);
  say("struct", block_lengths);
  say("at", at);
  types.resize(std::max<size_t>(types.size(), 1), MPI_BYTE);
  const auto count = static_cast<int>(block_lengths.size());
  PMIO_BUILD(large(),
             MPI_Type_create_struct(count, as<int>(block_lengths).data(), as<MPI_Aint>(at).data(),
                                    types.data(), &result),
             MPI_Type_create_struct_c(count, as<MPI_Count>(block_lengths).data(), as<MPI_Count>(at).data(),
                                      types.data(), &result));
  return result;
}

MPI_Datatype RandomTypes::build_subarray(MPI_Datatype child) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const auto dimensions = static_cast<int>(pick(1, 3));
  Numbers sizes, subsizes, starts;
  for (int i = 0; i < dimensions; ++i) {
    sizes.push_back(pick(1, 5));
    subsizes.push_back(pick(1, sizes.back()));
    starts.push_back(pick(0, sizes.back() - subsizes.back()));
  }
  const int order = chance(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  say(order == MPI_ORDER_C ? "subarray C" : "subarray Fortran", sizes);
  say("subsizes", subsizes);
  say("starts", starts);
  PMIO_BUILD(
      large(),
      MPI_Type_create_subarray(dimensions, as<int>(sizes).data(), as<int>(subsizes).data(),
                               as<int>(starts).data(), order, child, &result),
      MPI_Type_create_subarray_c(dimensions, as<MPI_Count>(sizes).data(), as<MPI_Count>(subsizes).data(),
                                 as<MPI_Count>(starts).data(), order, child, &result));
  return result;
}

MPI_Datatype RandomTypes::build_darray(MPI_Datatype child) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const auto dimensions = static_cast<int>(pick(1, 3));
  Numbers sizes, distributions, arguments, processes;
  int64_t ranks = 1;
  for (int i = 0; i < dimensions; ++i) {
    const int64_t kind = pick(0, 2);
    sizes.push_back(pick(1, 7));
    distributions.push_back(kind == 0   ? MPI_DISTRIBUTE_NONE
                            : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                                        : MPI_DISTRIBUTE_CYCLIC);
    processes.push_back(kind == 0 ? 1 : pick(1, 3));
    const int64_t least = (sizes.back() + processes.back() - 1) / processes.back();
#ifdef I_MPI_VERSION
    constexpr int64_t kLargestBlock = 1;  // Intel MPI misplaces cyclic shares that end within a block
#else
    constexpr int64_t kLargestBlock = 3;
#endif
    const int64_t argument = kind == 1 ? least + pick(0, 2) : pick(1, kLargestBlock);
    arguments.push_back(kind == 0 || chance(3) ? static_cast<int64_t>(MPI_DISTRIBUTE_DFLT_DARG) : argument);
    ranks *= processes.back();
  }
  const auto rank = static_cast<int>(pick(0, ranks - 1));
  const int order = chance(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  say(order == MPI_ORDER_C ? "darray C rank" : "darray Fortran rank", {rank, ranks});
  say("sizes", sizes);
  say("distributions", distributions);
  say("arguments", arguments);
  say("processes", processes);
  PMIO_BUILD(large(),
             MPI_Type_create_darray(static_cast<int>(ranks), rank, dimensions, as<int>(sizes).data(),
                                    as<int>(distributions).data(), as<int>(arguments).data(),
                                    as<int>(processes).data(), order, child, &result),
             MPI_Type_create_darray_c(static_cast<int>(ranks), rank, dimensions, as<MPI_Count>(sizes).data(),
                                      as<int>(distributions).data(), as<int>(arguments).data(),
                                      as<int>(processes).data(), order, child, &result));
  return result;
}

MPI_Datatype RandomTypes::build_resized(MPI_Datatype child) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const Bounds old = bounds(child);
  const int64_t span = std::max<int64_t>(old.true_lb + old.true_extent, 1);
  const int64_t lb = shape_.file ? 0 : pick(-16, 16);
  // Not 0 or less, by which MPICH's MPI_Pack divides.
  const int64_t extent = shape_.file ? span + pick(0, 9) : pick(1, 2 * span);
  say("resized", {lb, extent});
  PMIO_BUILD(
      large(),
      MPI_Type_create_resized(child, static_cast<MPI_Aint>(lb), static_cast<MPI_Aint>(extent), &result),
      MPI_Type_create_resized_c(child, lb, extent, &result));
  return result;
}

RandomTypes::Numbered RandomTypes::draw(MPI_Datatype child) {
  Numbered drawn;
  drawn.extent = bounds(child).extent;
  drawn.origin = shape_.file ? 0 : pick(-3, 3);
  drawn.count = pick(chance(10) ? 0 : 1, 4);
  drawn.length = pick(chance(10) ? 0 : 1, 3);
  drawn.any = lengths(false);
  drawn.equal = lengths(true);
  // Not 0, by which MPICH's MPI_Pack divides, nor -1 byte, which Open MPI takes for "undefined".
  const int64_t sign = chance(2) ? 1 : -1;
  drawn.stride =
      shape_.file ? drawn.length + pick(drawn.length == 0, 3) : (drawn.extent == 1 ? 1 : sign) * pick(1, 5);
  drawn.byte_stride =
      shape_.file ? drawn.length * drawn.extent + pick(drawn.length == 0, 9) : sign * pick(2, 90);
  drawn.byte_origin = shape_.file ? pick(0, 9) : pick(-30, 30);
  return drawn;
}

MPI_Datatype RandomTypes::build_strided(int kind, MPI_Datatype child, const Numbered& drawn) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const int64_t count = drawn.count, length = drawn.length;
  switch (kind) {
    case 1:
      say("contiguous", {count});
      PMIO_BUILD(large(), MPI_Type_contiguous(static_cast<int>(count), child, &result),
                 MPI_Type_contiguous_c(count, child, &result));
      break;
    case 2:
      say("vector", {count, length, drawn.stride});
      PMIO_BUILD(large(),
                 MPI_Type_vector(static_cast<int>(count), static_cast<int>(length),
                                 static_cast<int>(drawn.stride), child, &result),
                 MPI_Type_vector_c(count, length, drawn.stride, child, &result));
      break;
    default:
      say("hvector", {count, length, drawn.byte_stride});
      PMIO_BUILD(large(),
                 MPI_Type_create_hvector(static_cast<int>(count), static_cast<int>(length),
                                         static_cast<MPI_Aint>(drawn.byte_stride), child, &result),
                 MPI_Type_create_hvector_c(count, length, drawn.byte_stride, child, &result));
  }
  return result;
}

// Blocks of different lengths.
MPI_Datatype RandomTypes::build_indexed(bool in_bytes, MPI_Datatype child, const Numbered& drawn) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const Numbers& any = drawn.any;
  const auto count = static_cast<int>(any.size());
  const Numbers at =
      in_bytes ? displacements(any, drawn.extent, drawn.byte_origin) : displacements(any, 1, drawn.origin);
  say(in_bytes ? "hindexed" : "indexed", any);
  say("at", at);
  if (in_bytes)
    PMIO_BUILD(large(),
               MPI_Type_create_hindexed(count, as<int>(any).data(), as<MPI_Aint>(at).data(), child, &result),
               MPI_Type_create_hindexed_c(count, as<MPI_Count>(any).data(), as<MPI_Count>(at).data(), child,
                                          &result));
  else
    PMIO_BUILD(
        large(), MPI_Type_indexed(count, as<int>(any).data(), as<int>(at).data(), child, &result),
        MPI_Type_indexed_c(count, as<MPI_Count>(any).data(), as<MPI_Count>(at).data(), child, &result));
  return result;
}

// Blocks of one length.
MPI_Datatype RandomTypes::build_indexed_block(bool in_bytes, MPI_Datatype child, const Numbered& drawn) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const int64_t same = drawn.equal.empty() ? 1 : drawn.equal[0];
  const auto count = static_cast<int>(drawn.equal.size());
  const Numbers at = in_bytes ? displacements(drawn.equal, drawn.extent, drawn.byte_origin)
                              : displacements(drawn.equal, 1, drawn.origin);
  say(in_bytes ? "hindexed_block" : "indexed_block", {same});
  say("at", at);
  if (in_bytes)
    PMIO_BUILD(large(),
               MPI_Type_create_hindexed_block(count, static_cast<int>(same), as<MPI_Aint>(at).data(), child,
                                              &result),
               MPI_Type_create_hindexed_block_c(count, same, as<MPI_Count>(at).data(), child, &result));
  else
    PMIO_BUILD(
        large(),
        MPI_Type_create_indexed_block(count, static_cast<int>(same), as<int>(at).data(), child, &result),
        MPI_Type_create_indexed_block_c(count, same, as<MPI_Count>(at).data(), child, &result));
  return result;
}

MPI_Datatype RandomTypes::build(int kind, MPI_Datatype child) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const Numbered drawn = draw(child);
  switch (kind) {
    case 0:
      say("dup", {});
      MPI_Type_dup(child, &result);
      return result;
    case 1:
    case 2:
    case 3:
      return build_strided(kind, child, drawn);
    case 4:
    case 5:
      return build_indexed(kind == 5, child, drawn);
    case 6:
    case 7:
      return build_indexed_block(kind == 7, child, drawn);
    case 8:
      return build_subarray(child);
    case 9:
      return build_darray(child);
    default:
      return build_resized(child);
  }
}

MPI_Datatype RandomTypes::nested(int depth) {
  if (depth == 0) return basic();
  MPI_Datatype child = nested(depth - 1);
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const auto kind = static_cast<int>(pick(0, 12));
  if (kind == 11) {
    MPI_Datatype other = chance(2) ? basic() : nested(depth - 1);
    result = build_struct(child, other);
    release(other);
  } else {
    result = build(kind, child);
  }
  if (result == MPI_DATATYPE_NULL) {
    // Open MPI refuses some distributed arrays, such as those of empty types.
    description_ += " refused";
    MPI_Type_dup(child, &result);
  }
  release(child);
  return result;
}

MPI_Datatype RandomTypes::make() {
  MPI_Datatype type = nested(static_cast<int>(pick(1, 4)));
  MPI_Type_commit(&type);
  return type;
}

}  // namespace pmio::test
