// MPI datatypes as byte patterns, cached on the datatype.
//
// Every constructor of MPI 4 is known, and its large-count variant, too. Regular types stay vectors: a 3-D
// subarray is one vector per plane. Threads: like MPI's type functions, under the program's thread level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "extent/pattern.h"
#include "view/mpi_compat.h"

namespace pmio {

// The most parts that a type may flatten into; each has 40 bytes.
constexpr size_t kMaxParts = size_t{64} << 20;

struct FlatType {
  Pattern pattern;     // tile i lies at i * extent; offsets count from the type's origin, not from lb
  uint64_t size = 0;   // data bytes, == pattern.size
  int64_t lb = 0;      // bytes, by MPI_Type_get_extent
  int64_t extent = 0;  // bytes, == pattern.extent
  // What MPI demands of a filetype (14.3): no negative offset, and bytes that ascend without overlap within a
  // tile. True for empty types.
  bool ascending = false;
  bool monotonic = false;  // ascending, and from tile to tile, too
};

// nullptr: the type is MPI_DATATYPE_NULL, too fragmented (kMaxParts), too large for int64_t or of an unknown
// kind; the caller must hand the call on. A result lives as long as the datatype, and for ever if the type is
// predefined. The first call per type costs O(parts). Later ones cost one lookup of an attribute, and less
// for predefined types. Duplicates share a result.
const FlatType* flatten(MPI_Datatype type);

// The same, for owners that outlive the datatype, as a file view does.
std::shared_ptr<const FlatType> flatten_shared(MPI_Datatype type);

// Gives the attribute key back. To be called at most once, at MPI_Finalize; nothing may be flattened
// afterwards.
void release_type_cache();

}  // namespace pmio
