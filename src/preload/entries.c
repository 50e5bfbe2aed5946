/* What libpmio.so exports: the functions that a runtime library stands in front of, and the C API. A call
 * goes where pmio_find says, which is asked once per function. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "preload/takeover.h"

#define PMIO_EXPORT __attribute__((visibility("default")))

/* Nobody's function, for a program that has no MPI library in sight; no MPI's success. */
static pmio_word missing(const char* name) {
  enum { kOther = 16 }; /* MPI_ERR_OTHER, or near it */
  dprintf(STDERR_FILENO, "pmio: the program calls %s, and no MPI library is in sight\n", name);
  return kOther;
}

/* The registers are handed on as they are; what the callee leaves in the one for the result is, too. The
 * first call is a function of its own, to which the entry jumps, so that its return address is the program's.
 * Where there is none to go to, otherwise sets `to` or returns. */
#define PMIO_PARAMETERS pmio_word a, pmio_word b, pmio_word c, pmio_word d, pmio_word e, pmio_word f
#define PMIO_FORWARD(name, otherwise)                                                   \
  static _Atomic(pmio_function) known_##name;                                           \
  static __attribute__((noinline, cold)) pmio_word first_##name(PMIO_PARAMETERS) {      \
    pmio_function to = pmio_find(#name, __builtin_return_address(0));                   \
    if (to == NULL) otherwise;                                                          \
    atomic_store_explicit(&known_##name, to, memory_order_relaxed);                     \
    return to(a, b, c, d, e, f);                                                        \
  }                                                                                     \
  PMIO_EXPORT pmio_word name(PMIO_PARAMETERS) {                                         \
    const pmio_function to = atomic_load_explicit(&known_##name, memory_order_relaxed); \
    return to == NULL ? first_##name(a, b, c, d, e, f) : to(a, b, c, d, e, f);          \
  }

#define PMIO_FORWARD_MPI(name)                           \
  PMIO_FORWARD(MPI_##name, return missing("MPI_" #name)) \
  PMIO_FORWARD(PMPI_##name, return missing("PMPI_" #name))

/* The form with an MPI_Count, which libraries before MPI 4 have not. mpi4py and others ask by a weak symbol
 * whether it is there, and find it here: then it is what they would have called else. */
#define PMIO_NARROW(name, count)                                                 \
  static pmio_word narrow_##name(PMIO_PARAMETERS) {                              \
    enum { kCount = 2 }; /* MPI_ERR_COUNT, in all */                             \
    return (count) == (int)(count) ? name(a, b, c, d, e, f) : (pmio_word)kCount; \
  }
#define PMIO_FORWARD_MPI_LARGE(name, count)             \
  PMIO_NARROW(MPI_##name, count)                        \
  PMIO_NARROW(PMPI_##name, count)                       \
  PMIO_FORWARD(MPI_##name##_c, to = &narrow_MPI_##name) \
  PMIO_FORWARD(PMPI_##name##_c, to = &narrow_PMPI_##name)

#include "preload/functions.h" /* PMIO_FORWARD_MPI or PMIO_FORWARD_MPI_LARGE of each, written by src/mpi/generate.py */

/* pmio/pmio.h says what these answer where pmio is out of the way. */
PMIO_FORWARD(pmio_drain, return 0)
PMIO_FORWARD(pmio_persist, return pmio_unsupported_code())
PMIO_FORWARD(pmio_collective_times, return pmio_unsupported_code())

PMIO_EXPORT const char* pmio_version(void) { return PMIO_VERSION; }

/* AddressSanitizer refuses to start a program that does not load its runtime first, since a library before it
 * could have taken its functions away. This one has none of them. A program's own options come before. */
PMIO_EXPORT const char* __asan_default_options(void) { return "verify_asan_link_order=0"; }
