#include "base/gpu_library.h"

#include <link.h>

#include <string_view>

namespace pmio {
namespace {

struct Search {
  std::string_view beginning;  // of a file's name
  bool found = false;
};

int look_at(dl_phdr_info* info, size_t /*size*/, void* search) {
  auto& wanted = *static_cast<Search*>(search);
  const std::string_view path = info->dlpi_name;
  wanted.found = path.substr(path.rfind('/') + 1).starts_with(wanted.beginning);
  return wanted.found ? 1 : 0;
}

}  // namespace

// The file's name may have more of the version behind ".so". dlopen knows the library by its DT_SONAME, too.
void* open_if_loaded(const char* name) {
  constexpr std::string_view kEnd = ".so";
  const std::string_view whole = name;
  Search search{whole.substr(0, whole.find(kEnd) + kEnd.size())};
  dl_iterate_phdr(&look_at, &search);
  return search.found ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
}

}  // namespace pmio
