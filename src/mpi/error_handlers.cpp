// Error handlers of the program. The library also calls them within calls of the program that have come
// through pmio. What they call then are the program's calls all the same, not the library's own.
#include <array>
#include <atomic>
#include <cstdarg>
#include <utility>

#include "mpi/next.h"

namespace pmio {
namespace {

using Function = MPI_File_errhandler_function*;

// MPI passes nothing of the program's to an error handler. So each of the program's functions gets one of
// ours, for good. There are few of ours; a function for which none is left is not wrapped.
constexpr size_t kFunctions = 64;
std::array<std::atomic<Function>, kFunctions> functions;

template <size_t Which>
void call(MPI_File* file, int* code, ...) {
  const Function function = functions[Which];
  const Outside outside;
#ifdef OPEN_MPI
  std::va_list more;
  va_start(more, code);
  const char* message = va_arg(more, const char*);
  va_end(more);
  function(file, code, message, nullptr);
#else
  function(file, code);
#endif
}

template <size_t... Which>
constexpr std::array<Function, kFunctions> callers(std::index_sequence<Which...> /*all*/) {
  return {&call<Which>...};
}

Function caller_of(Function function) {
  if (function == nullptr) return function;  // the library has an error for it
  constexpr auto kCallers = callers(std::make_index_sequence<kFunctions>());
  for (size_t i = 0; i < kFunctions; ++i) {
    Function known = nullptr;
    if (functions[i].compare_exchange_strong(known, function) || known == function) return kCallers[i];
  }
  return function;
}

constinit Next<decltype(MPI_File_create_errhandler)> create{"PMPI_File_create_errhandler"};

}  // namespace
}  // namespace pmio

extern "C" {

PMIO_EXPORT int MPI_File_create_errhandler(MPI_File_errhandler_function* function,
                                           MPI_Errhandler* errhandler) {
  return pmio::create.next()(pmio::caller_of(function), errhandler);
}

PMIO_EXPORT int PMPI_File_create_errhandler(MPI_File_errhandler_function* function,
                                            MPI_Errhandler* errhandler) {
  return pmio::create.profiled()(pmio::caller_of(function), errhandler);
}

}  // extern "C"
