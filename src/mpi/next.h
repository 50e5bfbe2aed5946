// The function behind an entry point: what the program's call would have reached without pmio.
//
// next: the next definition of MPI_X after this library's, which may be a profiler's. profiled: the next
// PMPI_X. If the loader's order has none (Python loads libmpi with RTLD_LOCAL), the MPI library's own. Found
// at first use. Threads: any; two that come together find the same.
#pragma once

#include <atomic>

#include "mpi/library.h"

#define PMIO_EXPORT __attribute__((visibility("default")))

namespace pmio {

template <class Function>
class Next {
 public:
  // profiling_name: "PMPI_X".
  explicit constexpr Next(const char* profiling_name) : profiling_name_(profiling_name) {}

  Function* next() { return get(next_, profiling_name_ + 1); }
  Function* profiled() { return get(profiled_, profiling_name_); }

 private:
  static Function* get(std::atomic<Function*>& known, const char* name) {
    Function* function = known.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(require_mpi_symbol(name));
      known.store(function, std::memory_order_relaxed);
    }
    return function;
  }

  const char* profiling_name_;
  std::atomic<Function*> next_{nullptr};
  std::atomic<Function*> profiled_{nullptr};
};

// Held while a call of the program is in pmio or in the library. Calls that arrive meanwhile on this thread
// are the library's own, and go straight on.
class Inside {
 public:
  Inside() { ++depth; }
  ~Inside() { --depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static inline thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;
};

// Held while a function of the program is called back from inside, an error handler say. Its calls are the
// program's.
class Outside {
 public:
  Outside() : depth_(Inside::depth) { Inside::depth = 0; }
  ~Outside() { Inside::depth = depth_; }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  int depth_;
};

}  // namespace pmio
