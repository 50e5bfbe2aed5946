// A read or write as the program has called it, and what becomes of a call.
#pragma once

#include <cstdint>
#include <optional>

#include "view/mpi_compat.h"

namespace pmio {

enum class Direction { read, write };
enum class Pointer { explicit_offset, individual, shared };
enum class Completion { blocking, split, nonblocking };

struct Transfer {
  Direction direction;
  Pointer pointer;
  bool collective;    // with the shared pointer: ordered
  MPI_Offset offset;  // etypes; explicit_offset only
  void* buffer;       // not written to if direction is write
  MPI_Count count;
  MPI_Datatype datatype;
};

// MPI's code, or nothing. Then the call is handed on as it came: the MPI library has the handle, or has an
// error to give. An error has been through the file's error handler.
using Outcome = std::optional<int>;

// The outcome of a read or write.
struct Moved {
  Outcome outcome;
  uint64_t bytes = 0;  // if the outcome is MPI_SUCCESS
};

}  // namespace pmio
