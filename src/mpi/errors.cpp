#include "mpi/errors.h"

#include <cstdio>
#include <set>

#include "mpi/process.h"

namespace pmio {

int error_class(const Status& status) {
  switch (status.code()) {
    case Code::ok:
      return MPI_SUCCESS;
    case Code::no_space:
      return MPI_ERR_NO_SPACE;
    case Code::quota:
      return MPI_ERR_QUOTA;
    case Code::access:
      return MPI_ERR_ACCESS;
    case Code::unsupported:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case Code::invalid:
      return MPI_ERR_ARG;
    case Code::busy:
      return MPI_ERR_FILE_IN_USE;
    case Code::io:
    case Code::corrupt:
      return MPI_ERR_IO;
  }
  return MPI_ERR_OTHER;
}

int raise_code(Handle& handle, int code) {
  if (code == MPI_SUCCESS) return code;
  const Outside outside;  // the handler may be the program's, and its calls are
  mpi().File_call_errhandler(handle.real, code);
  return code;
}

int raise_error(Handle& handle, const Status& status) {
  if (status.ok()) return MPI_SUCCESS;
  // A node that is gone takes the job with it, mostly: this is the last that is heard of the log.
  const bool last = status.code() == Code::io && handle.file != nullptr && handle.file->reach().spans_nodes();
  if (!handle.said_error.exchange(true))
    complain_once((last ? handle.file->closing().kept_in_log(status) : status).message());
  return raise_code(handle, error_class(status));
}

void complain_once(const std::string& text) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (said.insert(text).second && Process::instance().first_to_say(text))
    std::fprintf(stderr, "pmio: %s\n", text.c_str());
}

}  // namespace pmio
