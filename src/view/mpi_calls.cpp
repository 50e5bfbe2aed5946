#include "view/mpi_calls.h"

#include <string>

#include "base/status.h"

namespace pmio {
namespace {

MpiCalls table;
void* (*symbol_lookup)(const char*) = nullptr;

template <class Function>
bool bind(Function& function, const char* name) {
  void* address = symbol_lookup((std::string("PMPI_") + name).c_str());
  if (address == nullptr) address = symbol_lookup((std::string("MPI_") + name).c_str());
  function = reinterpret_cast<Function>(address);
  return address != nullptr;
}

}  // namespace

void* mpi_symbol(const char* name) {
  PMIO_ASSERT(symbol_lookup != nullptr);
  return symbol_lookup(name);
}

bool bind_mpi_calls(void* (*lookup)(const char*)) {
  symbol_lookup = lookup;
  bool complete = true;
#define PMIO_BIND(name) complete = bind(table.name, #name) && complete;
  PMIO_VIEW_MPI_CALLS(PMIO_BIND)
#undef PMIO_BIND
#define PMIO_BIND(name) bind(table.name, #name);
  PMIO_VIEW_MPI_CALLS_LARGE(PMIO_BIND)
#undef PMIO_BIND
  return complete;
}

const MpiCalls& mpi_calls() { return table; }

}  // namespace pmio
