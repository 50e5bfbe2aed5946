// What a derived datatype was built from (MPI 4.1, 5.1.13 "Decoding a Datatype"), in one form for all
// constructors.
//
// Threads: like MPI's type functions, under the program's thread level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "view/mpi_compat.h"

namespace pmio {

struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;
  // Integers, addresses and large counts in the order of the constructor's arguments, whichever variant built
  // the type:
  //   CONTIGUOUS            count
  //   VECTOR, HVECTOR       count, blocklength, stride
  //   INDEXED, HINDEXED     count, blocklengths..., displacements...          (STRUCT too)
  //   INDEXED_BLOCK, H...   count, blocklength, displacements...
  //   SUBARRAY              ndims, sizes..., subsizes..., starts..., order
  //   DARRAY                size, rank, ndims, gsizes..., distribs..., dargs..., psizes..., order
  //   RESIZED               lb, extent
  std::vector<int64_t> arguments;
  // References that the caller owns: release_type() each. Empty for named types.
  std::vector<MPI_Datatype> types;
};

// False: MPI cannot tell; nothing is owned then.
bool get_contents(MPI_Datatype type, TypeContents* contents);

int get_combiner(MPI_Datatype type);

// Frees a type that get_contents() returned, unless it is one that must not be freed.
void release_type(MPI_Datatype type);

}  // namespace pmio
