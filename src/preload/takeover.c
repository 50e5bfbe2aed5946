#define _GNU_SOURCE
#include "preload/takeover.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "preload/choose.h"
#include "preload/end_calls.h"
#include "preload/names.h"
#include "preload/no_vote.h"

#define PMIO_EXPORT __attribute__((visibility("default")))

static pthread_mutex_t deciding = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static int decided;        /* an MPI library has been found, and what follows from it is for good */
static void* runtime;      /* the runtime library; NULL: none takes over */
static void* mpi;          /* the MPI library */
static const char* family; /* its family; NULL: not one that we know */
static int stands_aside;   /* this library has decided that none takes over, and not another one before it */

/* By this another library of this name, preloaded too, is seen. For us, too, it may be that one's. */
PMIO_EXPORT const char pmio_preloaded = 1;
static const char here = 1; /* an address of this very library */

static void say(const char* what, const char* which) {
  if (getenv(PMIO_ENV_COMMAND) == NULL || !pmio_is_first_rank()) return;
  dprintf(STDERR_FILENO, "pmio: the program runs without the log: %s%s; see 'pmio doctor'\n", what, which);
}

static const void* base_of(const void* address, Dl_info* info) {
  return dladdr(address, info) != 0 ? info->dli_fbase : NULL;
}

static int is_ours(const void* address) {
  Dl_info own, other;
  return base_of(&here, &own) == base_of(address, &other);
}

/* A handle of the object that holds this address, for what it and its dependencies define. The program itself
 * has none that is wanted here: what it sees, everybody does. */
static void* object_of(const void* address) {
  Dl_info info;
  if (base_of(address, &info) == NULL || info.dli_fname == NULL) return NULL;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void* defined_in(void* object, const char* name) {
  void* const address = object == NULL ? NULL : dlsym(object, name);
  return address != NULL && !is_ours(address) ? address : NULL;
}

/* As the loader would find it without this library: among what everybody sees, which may be a profiler's, and
 * then out of the MPI library that only some see. The runtime library asks so too. */
static void* behind_us(const char* name) {
  /* dlsym looks at who calls: it must be called from here, and not by a jump. */
  void* volatile address = dlsym(RTLD_NEXT, name);
  return address != NULL ? address : defined_in(mpi, name);
}

/* What nobody stands in front of. An object of the library may have been moved into the program (a copy
 * relocation), which comes first in the loader's order. */
static void* in_mpi(const char* name) {
  void* const address = dlsym(RTLD_DEFAULT, name);
  return address != NULL ? address : defined_in(mpi, name);
}

/* As behind_us, and among what the caller sees. */
static void* find_behind(const char* name, const void* caller) {
  void* address = behind_us(name);
  if (address != NULL) return address;
  void* const object = object_of(caller);
  address = defined_in(object, name);
  if (object != NULL) dlclose(object); /* whoever calls from it keeps it */
  return address;
}

static int is_off(const char* mode) {
  static const char known[][8] = {"off", "0", "no", "false", "disable"};
  for (size_t i = 0; mode != NULL && i < sizeof known / sizeof *known; ++i) {
    if (strcasecmp(mode, known[i]) == 0) return 1;
  }
  return 0;
}

/* Then this library takes part in nothing, as if it were not there. All ranks have to say it, or those that
 * vote wait for this one: it is for jobs in which some ranks have no such library. */
static int is_absent(void) {
  const char* const mode = getenv("PMIO_MODE");
  return mode != NULL && strcasecmp(mode, "absent") == 0;
}

/* A job that is off and asks for statistics is told that nothing was logged, which the runtime library does.
 */
static int wants_nothing(void) {
  const char* const statistics = getenv("PMIO_STATS");
  return is_off(getenv("PMIO_MODE")) && (statistics == NULL || is_off(statistics));
}

/* A runtime library that the program is linked with, or that is preloaded itself, takes it over already, and
 * so does another library like this one that comes first. */
static int is_taken(void) {
  return dlsym(RTLD_DEFAULT, "pmio_loaded") != NULL || !is_ours(dlsym(RTLD_DEFAULT, "pmio_preloaded"));
}

/* MemorySanitizer knows nothing of what code writes that was not built with it, and would report what pmio
 * reads. */
static int is_forbidden(void) { return dlsym(RTLD_DEFAULT, "__msan_init") != NULL; }

/* MPI allows this one call before MPI_Init. */
static int major_version(void) {
  typedef int (*Version)(char*, int*);
  const Version version = (Version)defined_in(mpi, "PMPI_Get_library_version");
  enum { kLongest = 16384 }; /* MPICH's MPI_MAX_LIBRARY_VERSION_STRING is 8192 */
  char* const text = calloc(1, kLongest);
  int length = 0, major = 0;
  if (version != NULL && text != NULL && version(text, &length) == 0) major = pmio_first_number(text);
  free(text);
  return major;
}

/* Of the same directory as this library. */
static int list_of_runtimes(char path[PATH_MAX]) {
  Dl_info own;
  char file[PATH_MAX];
  if (dladdr(&here, &own) == 0 || realpath(own.dli_fname, file) == NULL) return 0;
  const int directory = (int)(strrchr(file, '/') - file);
  return snprintf(path, PATH_MAX, "%.*s/pmio-mpi.list", directory, file) < PATH_MAX;
}

static void load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    say("cannot load ", dlerror());
    return;
  }
  typedef void (*Loaded)(void* (*)(const char*));
  const Loaded loaded = (Loaded)dlsym(library, "pmio_loaded");
  if (loaded == NULL) return; /* not of this version */
  loaded(&behind_us);
  pmio_tell_of_ends(library);
  runtime = library;
}

/* The file of the MPI library, links resolved, by a function that nobody stands in front of. */
static int find_mpi(const void* caller, char file[PATH_MAX]) {
  Dl_info found;
  const void* const address = find_behind("PMPI_Comm_rank", caller);
  if (address == NULL || base_of(address, &found) == NULL) return 0;
  if (realpath(found.dli_fname, file) == NULL) return 0;
  mpi = object_of(address);
  family = pmio_family_of(found.dli_fname);
  if (family == NULL) family = pmio_family_of(file);
  return 1;
}

static void decide(const void* caller) {
  char file[PATH_MAX], list[PATH_MAX], path[PATH_MAX];
  if (!find_mpi(caller, file)) return;
  decided = 1;
  if (is_taken() || is_absent()) return;
  stands_aside = 1;
  if (wants_nothing() || is_forbidden()) return;
  const char* const wanted = getenv(PMIO_ENV_RUNTIME);
  const int known = family != NULL && list_of_runtimes(list);
  if (known && pmio_choose_runtime(list, family, file, major_version(), wanted, path)) {
    load(path);
  } else if (wanted != NULL) {
    say("its MPI is another than that of the runtime library ", wanted);
  } else {
    say("no runtime library fits ", file);
  }
}

pmio_function pmio_find(const char* name, const void* caller) {
  pthread_mutex_lock(&deciding);
  if (!decided) decide(caller);
  pthread_mutex_unlock(&deciding);
  void* address = runtime == NULL ? NULL : dlsym(runtime, name);
  if (address == NULL) address = find_behind(name, caller);
  if (runtime == NULL && stands_aside)
    address = (void*)pmio_voting(name, (pmio_function)address, family, &in_mpi);
  return (pmio_function)address;
}

int pmio_unsupported_code(void) {
  if (family != NULL && strcmp(family, "openmpi") == 0) return 52;
  return family != NULL && strcmp(family, "abi") == 0 ? 55 : 44;
}
