/* Programs call _exit and exec in children of fork and vfork mostly, for which a runtime library does
 * nothing; there nothing may be looked up or allocated, so what is behind is found when this library is
 * loaded. */
#define _GNU_SOURCE
#include "preload/end_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#define PMIO_EXPORT __attribute__((visibility("default")))

typedef void (*Hook)(void);
static _Atomic(Hook) ends, breaks_off, goes_on; /* NULL: nobody wants to know */

static void (*exit_behind)(int);
static void (*exit_c99_behind)(int);
static void (*abort_behind)(void);
static int (*execve_behind)(const char*, char* const*, char* const*);
static int (*execvpe_behind)(const char*, char* const*, char* const*);
static int (*fexecve_behind)(int, char* const*, char* const*);

static void find(void* pointer, const char* name) {
  void* volatile address = dlsym(RTLD_NEXT, name);
  *(void**)pointer = address;
}

/* Another library's constructor, which may call them, may come before this one. */
static __attribute__((constructor)) void find_calls(void) {
  if (execve_behind != NULL) return;
  find(&exit_behind, "_exit");
  find(&exit_c99_behind, "_Exit");
  find(&abort_behind, "abort");
  find(&execvpe_behind, "execvpe");
  find(&fexecve_behind, "fexecve");
  find(&execve_behind, "execve");
}

static void tell(_Atomic(Hook)* whom) {
  find_calls();
  const Hook hook = atomic_load_explicit(whom, memory_order_acquire);
  if (hook != NULL) hook();
}

static void learn(_Atomic(Hook)* whom, void* library, const char* name) {
  atomic_store_explicit(whom, (Hook)dlsym(library, name), memory_order_release);
}

void pmio_tell_of_ends(void* library) {
  learn(&goes_on, library, "pmio_program_goes_on");
  learn(&breaks_off, library, "pmio_program_breaks_off");
  learn(&ends, library, "pmio_program_ends");
}

/* An exec that returns has failed. */
static int failed(void) {
  const int error = errno;
  tell(&goes_on);
  errno = error;
  return -1;
}

static int execute(const char* path, char* const argv[], char* const environment[]) {
  tell(&ends);
  execve_behind(path, argv, environment);
  return failed();
}

static int execute_in_path(const char* file, char* const argv[], char* const environment[]) {
  tell(&ends);
  execvpe_behind(file, argv, environment);
  return failed();
}

PMIO_EXPORT void _exit(int status) {
  tell(&ends);
  exit_behind(status);
  __builtin_unreachable();
}

PMIO_EXPORT void _Exit(int status) {
  tell(&ends);
  exit_c99_behind(status);
  __builtin_unreachable();
}

PMIO_EXPORT void abort(void) {
  tell(&breaks_off);
  abort_behind();
  __builtin_unreachable();
}

PMIO_EXPORT int execve(const char* path, char* const argv[], char* const envp[]) {
  return execute(path, argv, envp);
}

PMIO_EXPORT int execv(const char* path, char* const argv[]) { return execute(path, argv, environ); }

PMIO_EXPORT int execvp(const char* file, char* const argv[]) { return execute_in_path(file, argv, environ); }

PMIO_EXPORT int execvpe(const char* file, char* const argv[], char* const envp[]) {
  return execute_in_path(file, argv, envp);
}

PMIO_EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) {
  tell(&ends);
  fexecve_behind(fd, argv, envp);
  return failed();
}

/* The arguments of execl and its like are copied to the stack: those from `first` on, and the null. */
static size_t count_words(va_list words) {
  size_t count = 1;
  while (va_arg(words, char*) != NULL) count++;
  return count;
}

static void copy_words(char** argv, const char* first, va_list words) {
  size_t count = 0;
  argv[count++] = (char*)first;
  while ((argv[count++] = va_arg(words, char*)) != NULL) {
  }
}

#define PMIO_WORDS                                                               \
  va_list words;                                                                 \
  va_start(words, first);                                                        \
  char** const argv = __builtin_alloca((count_words(words) + 1) * sizeof *argv); \
  va_end(words);                                                                 \
  va_start(words, first);                                                        \
  copy_words(argv, first, words)

PMIO_EXPORT int execl(const char* path, const char* first, ...) {
  PMIO_WORDS;
  va_end(words);
  return execute(path, argv, environ);
}

PMIO_EXPORT int execlp(const char* file, const char* first, ...) {
  PMIO_WORDS;
  va_end(words);
  return execute_in_path(file, argv, environ);
}

PMIO_EXPORT int execle(const char* path, const char* first, ...) {
  PMIO_WORDS;
  char* const* const environment = va_arg(words, char* const*);
  va_end(words);
  return execute(path, argv, environment);
}
