#include "view/flatten.h"

#include "view/mpi_calls.h"

namespace pmio {
namespace {

// See FlatType::ascending.
bool is_ascending(const Pattern& pattern) {
  int64_t end = 0;
  for (const Vector& part : pattern.parts) {
    if (part.offset < end) return false;
    if (part.count > 1 && part.stride < static_cast<int64_t>(part.block_length)) return false;
    end = part.end();
  }
  return true;
}

bool size_is_countable(const std::vector<Vector>& parts) {
  uint64_t size = 0;
  for (const Vector& part : parts) {
    if (__builtin_add_overflow(size, part.bytes(), &size) || static_cast<int64_t>(size) < 0) return false;
  }
  return true;
}

}  // namespace

Flattener::~Flattener() {
  for (MPI_Datatype type : held_) release_type(type);
}

std::shared_ptr<const FlatType> Flattener::flatten(MPI_Datatype type) {
  MPI_Count size = 0, lb = 0, extent = 0;
  if (mpi_calls().Type_size_x(type, &size) != MPI_SUCCESS || size == MPI_UNDEFINED) return nullptr;
  if (mpi_calls().Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS) return nullptr;
  PartList parts = build(type);
  if (parts.failed() || !size_is_countable(parts.parts())) return nullptr;
  auto flat = std::make_shared<FlatType>();
  flat->pattern = parts.take_pattern();
  flat->pattern.parts.shrink_to_fit();
  flat->pattern.finish(extent);
  flat->size = flat->pattern.size;
  flat->lb = lb;
  flat->extent = extent;
  flat->ascending = is_ascending(flat->pattern);
  flat->monotonic = flat->ascending && tiles_are_apart(flat->pattern);
  // Better no speed than wrong bytes, should an MPI's decoding not tell all.
  return flat->size == static_cast<uint64_t>(size) ? flat : nullptr;
}

const Flattener::Element& Flattener::element(MPI_Datatype type) {
  if (auto found = elements_.find(type); found != elements_.end()) return found->second;
  MPI_Count lb = 0, extent = 0;
  Element result{build(type), 0};
  if (mpi_calls().Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS) result.parts.fail();
  result.extent = extent;
  return elements_.emplace(type, std::move(result)).first->second;
}

PartList Flattener::build(MPI_Datatype type) {
  TypeContents contents;
  PartList unknown;
  unknown.fail();
  if (!get_contents(type, &contents)) return unknown;
  held_.insert(held_.end(), contents.types.begin(), contents.types.end());
  std::vector<ChildType> children;
  for (MPI_Datatype child : contents.types) {
    const Element& found = element(child);
    children.push_back({&found.parts, found.extent});
  }
  switch (contents.combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
      return build_named(type);
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return *children.at(0).parts;
    case MPI_COMBINER_SUBARRAY:
      return build_subarray(contents.arguments, children.at(0));
    case MPI_COMBINER_DARRAY:
      return build_darray(contents.arguments, children.at(0));
    default:
      return build_blocks(contents.combiner, contents.arguments, children);
  }
}

}  // namespace pmio
