#include "mpi/roll.h"

#include <array>
#include <cstddef>

#include "mpi/library.h"

namespace pmio {
namespace {

// With a handler of the program's, MPICH returns a success.
bool has_failed = false;

void note_failure(MPI_Comm* /*comm*/, int* /*code*/, ...) {  // NOLINT(cert-dcl50-cpp): MPI's type
  has_failed = true;
}

// While it lives, errors of names are noted, and do not end the job. Libraries differ in whose handler they
// call. MPI_ERRORS_RETURN does that, too, but libraries of the same ABI have different numbers for it.
class NotesErrors {
 public:
  NotesErrors() : comms_{MPI_COMM_WORLD, MPI_COMM_SELF} {
    has_quiet_ = mpi().Comm_create_errhandler(&note_failure, &quiet_) == MPI_SUCCESS;
    if (!has_quiet_) return;
    for (size_t i = 0; i < comms_.size(); ++i) {
      is_known_[i] = mpi().Comm_get_errhandler(comms_[i], &before_[i]) == MPI_SUCCESS;
      if (is_known_[i]) mpi().Comm_set_errhandler(comms_[i], quiet_);
    }
  }
  ~NotesErrors() {
    for (size_t i = 0; i < comms_.size(); ++i) {
      if (is_known_[i]) mpi().Comm_set_errhandler(comms_[i], before_[i]);
    }
    if (has_quiet_) mpi().Errhandler_free(&quiet_);
  }
  NotesErrors(const NotesErrors&) = delete;
  NotesErrors& operator=(const NotesErrors&) = delete;

 private:
  std::array<MPI_Comm, 2> comms_;
  std::array<MPI_Errhandler, 2> before_{};
  std::array<bool, 2> is_known_{};
  MPI_Errhandler quiet_{};
  bool has_quiet_ = false;
};

// nullptr: the library lacks them.
decltype(&PMPI_Publish_name) publish_name = nullptr;
decltype(&PMPI_Lookup_name) lookup_name = nullptr;

int put(const char* name, const char* value) {
  if (publish_name == nullptr) return 0;
  has_failed = false;
  return publish_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS && !has_failed ? 1 : 0;
}

int get(const char* name, char* value) {
  static_assert(MPI_MAX_PORT_NAME < PMIO_BOARD_VALUE);
  if (lookup_name == nullptr) return 0;
  has_failed = false;
  return lookup_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS && !has_failed ? 1 : 0;
}

}  // namespace

pmio_roll call_roll(bool bound) {
  if (!bound) return pmio_roll_call(nullptr, 0);
  int ranks = 0;
  mpi().Comm_size(MPI_COMM_WORLD, &ranks);
  publish_name = reinterpret_cast<decltype(publish_name)>(find_mpi_symbol("PMPI_Publish_name"));
  lookup_name = reinterpret_cast<decltype(lookup_name)>(find_mpi_symbol("PMPI_Lookup_name"));
  const NotesErrors quiet;
  const pmio_board board{&put, &get};
  return pmio_roll_call(&board, ranks);
}

}  // namespace pmio
