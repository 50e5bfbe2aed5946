#include "mpi/roll.h"

#include <array>
#include <cstddef>

#include "mpi/library.h"

namespace pmio {
namespace {

// While it lives, errors of names come back as codes. Libraries differ in whose handler they call.
class ReturnsErrors {
 public:
  ReturnsErrors() : comms_{MPI_COMM_WORLD, MPI_COMM_SELF} {
    for (size_t i = 0; i < comms_.size(); ++i) {
      is_known_[i] = mpi().Comm_get_errhandler(comms_[i], &before_[i]) == MPI_SUCCESS;
      if (is_known_[i]) mpi().Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
    }
  }
  ~ReturnsErrors() {
    for (size_t i = 0; i < comms_.size(); ++i) {
      if (is_known_[i]) mpi().Comm_set_errhandler(comms_[i], before_[i]);
    }
  }
  ReturnsErrors(const ReturnsErrors&) = delete;
  ReturnsErrors& operator=(const ReturnsErrors&) = delete;

 private:
  std::array<MPI_Comm, 2> comms_;
  std::array<MPI_Errhandler, 2> before_{};
  std::array<bool, 2> is_known_{};
};

// nullptr: the library lacks them.
decltype(&PMPI_Publish_name) publish_name = nullptr;
decltype(&PMPI_Lookup_name) lookup_name = nullptr;

int put(const char* name, const char* value) {
  return publish_name != nullptr && publish_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS ? 1 : 0;
}

int get(const char* name, char* value) {
  static_assert(MPI_MAX_PORT_NAME < PMIO_BOARD_VALUE);
  return lookup_name != nullptr && lookup_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS ? 1 : 0;
}

}  // namespace

pmio_roll call_roll(bool bound) {
  if (!bound) return pmio_roll_call(nullptr, 0);
  int ranks = 0;
  mpi().Comm_size(MPI_COMM_WORLD, &ranks);
  publish_name = reinterpret_cast<decltype(publish_name)>(find_mpi_symbol("PMPI_Publish_name"));
  lookup_name = reinterpret_cast<decltype(lookup_name)>(find_mpi_symbol("PMPI_Lookup_name"));
  const ReturnsErrors quiet;
  const pmio_board board{&put, &get};
  return pmio_roll_call(&board, ranks);
}

}  // namespace pmio
