#include "mpi/engine.h"

#include "mpi/errors.h"
#include "mpi/handle.h"

namespace pmio {

// No call has left anything for it.
Moved Engine::end_split(Handle& handle) { return {raise_code(handle, MPI_ERR_IO)}; }

Outcome Engine::get_size(Handle& handle, MPI_Offset* size) {
  if (size == nullptr) return std::nullopt;
  const Result<uint64_t> bytes = size_bytes(handle);
  if (!bytes.ok()) return raise_error(handle, bytes.status());
  *size = static_cast<MPI_Offset>(bytes.value());
  return MPI_SUCCESS;
}

}  // namespace pmio
