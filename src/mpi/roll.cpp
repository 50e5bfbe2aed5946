#include "mpi/roll.h"

#include <cstdint>
#include <type_traits>

#include "mpi/library.h"
#include "preload/roll_names.h"

namespace pmio {
namespace {

static_assert(MPI_MAX_PORT_NAME < PMIO_BOARD_VALUE);

// A handle as the library takes it in a register.
template <class Handle>
pmio_word word_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return static_cast<pmio_word>(reinterpret_cast<intptr_t>(handle));
  else
    return static_cast<pmio_word>(handle);
}

}  // namespace

pmio_roll call_roll(bool bound) {
  if (!bound) return pmio_roll_call(nullptr, 0);
  const pmio_library library{&find_mpi_symbol, word_of(MPI_COMM_WORLD), word_of(MPI_COMM_SELF),
                             word_of(MPI_INFO_NULL)};
  return pmio_roll_by_names(&library);
}

}  // namespace pmio
