// Random MPI datatypes, and where their bytes are.
//
// The map of a type (which byte of memory is byte i of its data stream) is asked from MPI itself, by packing
// buffers that hold their own addresses: nothing of pmio takes part.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "differential_random.h"

namespace differential {

struct DataType {
  MPI_Datatype handle = MPI_BYTE;
  bool owned = false;           // to be freed
  int64_t size = 1;             // data bytes
  int64_t extent = 1;           // bytes from one instance to the next
  int64_t lowest = 0;           // first data byte
  int64_t span = 1;             // from the first data byte to one past the last
  std::vector<int64_t> map{0};  // map[i]: where byte i of the data stream is
  int64_t pieces = 1;           // contiguous pieces in one instance

  int64_t byte_at(int64_t stream_byte) const { return stream_byte / size * extent + map[stream_byte % size]; }
};

// Takes the handle over (not freed where predefined), commits it and finds out all facts.
DataType describe(MPI_Datatype handle, bool owned);
void release(DataType* type);

// An elementary type of 1, 2, 4 or 8 bytes, or a contiguous group of such: what an etype may be.
DataType random_etype(Random& random);

// A type made of whole elements, of at most extent_limit bytes and with ascending, disjoint pieces at
// multiples of the element's extent, all at or above 0: a filetype over element.
DataType random_filetype(Random& random, const DataType& element, int64_t extent_limit);

// As a filetype, but now and then with a lower bound other than 0, negative displacements, pieces out of
// order, and displacements that are not multiples of the element. Pieces never overlap.
DataType random_memory_type(Random& random, const DataType& element, int64_t extent_limit);

// Rank's share of the same array for all: ascending pieces, disjoint between ranks, equal extents. `darray`:
// by MPI_Type_create_darray with random distributions, else a subarray.
DataType random_array_share(Random& shared, const DataType& element, int rank, int ranks, bool darray);

// The same type with extent `extent` and lower bound 0. Frees the old one.
DataType resized(DataType type, int64_t lower_bound, int64_t extent);

}  // namespace differential
