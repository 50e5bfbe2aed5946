// Named types, and the constructors that place blocks of a type at displacements.
#include <cstddef>

#include "view/flatten.h"
#include "view/mpi_calls.h"

namespace pmio {
namespace {

template <class Value>
struct Pair {
  Value value;
  int index;
};

template <class Value>
PartList pair_parts() {
  PartList parts;
  parts.add({0, sizeof(Value)});
  parts.add({offsetof(Pair<Value>, index), sizeof(int)});
  return parts;
}

// count blocks of blocklength(i) children at byte displacement(i).
template <class Lengths, class Displacements>
void place(PartList& out, int64_t count, const ChildType& child, Lengths length, Displacements displacement) {
  for (int64_t i = 0; i < count && !out.failed(); ++i) {
    int64_t at = 0;
    if (!displacement(i, &at)) return out.fail();
    out.repeat(*child.parts, at, child.extent, length(i));
  }
}

PartList build_vector(int64_t count, int64_t length, int64_t stride, const ChildType& child) {
  PartList block, out;
  block.repeat(*child.parts, 0, child.extent, length);
  out.repeat(block, 0, stride, count);
  return out;
}

PartList build_struct(const std::vector<int64_t>& arguments, const std::vector<ChildType>& children) {
  PartList out;
  const auto count = static_cast<size_t>(arguments.at(0));
  for (size_t i = 0; i < count; ++i) {
    const ChildType& child = children.at(i);
    out.repeat(*child.parts, arguments.at(1 + count + i), child.extent, arguments.at(1 + i));
  }
  return out;
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
// A C struct { value; index }; both are scalars, so that the index is aligned to its own size.
PartList build_value_index(const ChildType& value, const ChildType& index) {
  PartList out;
  if (index.extent <= 0) return out.fail(), out;
  out.repeat(*value.parts, 0, value.extent, 1);
  out.repeat(*index.parts, (value.extent + index.extent - 1) / index.extent * index.extent, index.extent, 1);
  return out;
}
#endif

}  // namespace

PartList build_named(MPI_Datatype type) {
  if (type == MPI_SHORT_INT) return pair_parts<short>();
  if (type == MPI_LONG_INT) return pair_parts<long>();
  if (type == MPI_FLOAT_INT) return pair_parts<float>();
  if (type == MPI_DOUBLE_INT) return pair_parts<double>();
  if (type == MPI_LONG_DOUBLE_INT) return pair_parts<long double>();
  // Everything else has no hole between its bytes.
  PartList parts;
  MPI_Count size = 0;
  if (mpi_calls().Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return parts.fail(), parts;
  parts.add({0, static_cast<uint64_t>(size)});
  return parts;
}

PartList build_blocks(int combiner, const std::vector<int64_t>& arguments,
                      const std::vector<ChildType>& children) {
  PartList out;
  const auto argument = [&](int64_t i) { return arguments.at(static_cast<size_t>(i)); };
  const int64_t count = arguments.empty() ? 0 : arguments[0];
  const auto lengths = [&](int64_t i) { return argument(1 + i); };
  const auto one_length = [&](int64_t) { return argument(1); };
  const auto bytes_from = [&](int64_t first) {
    return [&, first](int64_t i, int64_t* at) { return *at = argument(first + i), true; };
  };
  const auto extents_from = [&](int64_t first) {
    return [&, first](int64_t i, int64_t* at) {
      return !__builtin_mul_overflow(argument(first + i), children[0].extent, at);
    };
  };
  int64_t stride = 0;
  switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
      out.repeat(*children.at(0).parts, 0, children[0].extent, count);
      return out;
    case MPI_COMBINER_VECTOR:
      if (__builtin_mul_overflow(argument(2), children.at(0).extent, &stride)) return out.fail(), out;
      return build_vector(count, argument(1), stride, children[0]);
    case MPI_COMBINER_INDEXED:
      place(out, count, children.at(0), lengths, extents_from(1 + count));
      return out;
    case MPI_COMBINER_INDEXED_BLOCK:
      place(out, count, children.at(0), one_length, extents_from(2));
      return out;
#ifdef MPICH_VERSION  // what the Fortran functions that MPI-3 removed build; others use the C combiners
    case MPI_COMBINER_HVECTOR_INTEGER:
#endif
    case MPI_COMBINER_HVECTOR:
      return build_vector(count, argument(1), argument(2), children.at(0));
#ifdef MPICH_VERSION
    case MPI_COMBINER_HINDEXED_INTEGER:
#endif
    case MPI_COMBINER_HINDEXED:
      place(out, count, children.at(0), lengths, bytes_from(1 + count));
      return out;
    case MPI_COMBINER_HINDEXED_BLOCK:
      place(out, count, children.at(0), one_length, bytes_from(2));
      return out;
#ifdef MPICH_VERSION
    case MPI_COMBINER_STRUCT_INTEGER:
#endif
    case MPI_COMBINER_STRUCT:
      return build_struct(arguments, children);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX:
      return build_value_index(children.at(0), children.at(1));
#endif
    default:
      out.fail();
      return out;
  }
}

}  // namespace pmio
