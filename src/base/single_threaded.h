// Whether this thread is the only one of the process; false if the C library cannot tell.
#pragma once

#if __has_include(<sys/single_threaded.h>)  // glibc 2.32
#include <sys/single_threaded.h>
#endif

namespace pmio {

inline bool is_single_threaded() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace pmio
