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
      mpi().Comm_get_errhandler(comms_[i], &before_[i]);
      mpi().Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
    }
  }
  ~ReturnsErrors() {
    for (size_t i = 0; i < comms_.size(); ++i) mpi().Comm_set_errhandler(comms_[i], before_[i]);
  }
  ReturnsErrors(const ReturnsErrors&) = delete;
  ReturnsErrors& operator=(const ReturnsErrors&) = delete;

 private:
  std::array<MPI_Comm, 2> comms_;
  std::array<MPI_Errhandler, 2> before_{};
};

int put(const char* name, const char* value) {
  return mpi().Publish_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS ? 1 : 0;
}

int get(const char* name, char* value) {
  static_assert(MPI_MAX_PORT_NAME < PMIO_BOARD_VALUE);
  return mpi().Lookup_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS ? 1 : 0;
}

}  // namespace

pmio_roll call_roll(bool bound) {
  if (!bound) return pmio_roll_call(nullptr);
  const ReturnsErrors quiet;
  const pmio_board board{&put, &get};
  return pmio_roll_call(&board);
}

}  // namespace pmio
