// A handle that goes straight to its file: opened by each rank, before and after all have agreed on it.
#pragma once

#include <memory>
#include <string>

#include "mpi/handle.h"
#include "mpi/opening.h"

namespace pmio {

struct StraightOpen {
  std::unique_ptr<StraightFile> file;  // null: this rank cannot
  std::string why_not = {};            // then: Handle::why_not
  Status misconfigured = {};           // a reason that the user should hear
};

// Local. The first rank brings in what a dead job has left of the file.
StraightOpen open_straight(const Handle& handle);

// Collective, when all ranks have agreed, with team and view.
void begin_straight(Handle& handle, const Opening& ranks, std::unique_ptr<StraightFile> file);

}  // namespace pmio
