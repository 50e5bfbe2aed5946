// As a process starts, before its main: where its MPI library is of another family than this runtime library,
// `pmio run --again` takes over the process (exec), with its arguments, environment, open files and id, and
// becomes the program once more with the runtime library that fits. Where that cannot be done safely the
// program goes on without the log, which MPI_Init says.
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mpi/choose_again.h"
#include "mpi/family.h"

namespace pmio {
namespace {

struct Search {
  std::string_view own_name;
  bool behind_own = false;
  const char* family = nullptr;
};

int look_at(dl_phdr_info* object, size_t /*size*/, void* context) {
  auto* const search = static_cast<Search*>(context);
  if (search->behind_own) search->family = family_of_library(object->dlpi_name);
  if (object->dlpi_name == search->own_name) search->behind_own = true;
  return search->family != nullptr ? 1 : 0;
}

// The family of the first MPI library behind this one, in the loader's order; nullptr: none. A library that
// is loaded later than at the start has none behind it: a process that already runs must not be replaced.
const char* family_behind(const char* own_name) {
  Search search{own_name};
  dl_iterate_phdr(&look_at, &search);
  return search.family;
}

bool is_preloaded(const char* own_name) {
  const char* list = std::getenv("LD_PRELOAD");
  return list != nullptr && std::strstr(list, own_name) != nullptr;
}

bool was_chosen_again() {
  const char* process = std::getenv(kChosenAgain);
  return process != nullptr && process == std::to_string(getpid());
}

// Not one with more rights than its user, and not one that was started by naming the loader (AT_BASE is then
// 0), whose file is the loader's.
bool may_be_replaced() { return getauxval(AT_SECURE) == 0 && getauxval(AT_BASE) != 0; }

// The program's file by a name that still leads to it; empty: it is gone, or elsewhere.
std::string program_file() {
  char path[PATH_MAX] = {};
  struct stat running, found;
  if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return {};
  if (stat("/proc/self/exe", &running) != 0 || stat(path, &found) != 0) return {};
  return running.st_dev == found.st_dev && running.st_ino == found.st_ino ? path : "";
}

__attribute__((constructor)) void choose_again(int argc, char** argv, char** /*environment*/) {
  char* const command = std::getenv(kRunCommand);
  Dl_info own{};
  if (command == nullptr || argc < 1 || dladdr(reinterpret_cast<void*>(&choose_again), &own) == 0) return;
  const char* const family = family_behind(own.dli_fname);
  if (family == nullptr || std::strcmp(family, PMIO_MPI_FAMILY) == 0) return;
  if (was_chosen_again() || !may_be_replaced() || !is_preloaded(own.dli_fname)) return;
  std::string program = program_file();
  if (program.empty()) return;
  char run[] = "run", again[] = "--again", end[] = "--";
  std::vector<char*> words{command, run, again, end, program.data()};
  words.insert(words.end(), argv, argv + argc + 1);  // its null too
  execv(command, words.data());
}

}  // namespace
}  // namespace pmio
