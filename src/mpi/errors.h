// Errors as MPI has them: the one place that turns a Status into an error class.
#pragma once

#include "base/status.h"
#include "mpi/handle.h"

namespace pmio {

// The error class that says what status says; MPI_SUCCESS for ok.
int error_class(const Status& status);

// Calls the handle's error handler with the class, and returns it. The first error of a handle is also said
// on stderr, since an error class cannot carry the place of the log. ok: MPI_SUCCESS, and nothing is called.
int raise_error(Handle& handle, const Status& status);
// The same for an error that the program has made: no line on stderr, as from the MPI library.
int raise_code(Handle& handle, int code);

// Prints "pmio: text" on stderr, once per text and node if the ranks of the job share memory
// (job/rendezvous.h). If they do not, and before MPI_Init has returned: once per process.
void complain_once(const std::string& text);

}  // namespace pmio
