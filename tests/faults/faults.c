/* Preloaded into a program under test: makes system calls fail on certain files, and counts them.
 *
 *   FAULTS=call:effect:path:first-last,...
 *       call        pwrite (pwritev is one), fsync, fdatasync, close, posix_fallocate
 *       effect      an errno: EIO, ENOSPC, EDQUOT, EINTR, EROFS, EOPNOTSUPP; or short
 *       path        part of the file's name; empty: any
 *       first-last  which of the matching calls of this process, from 1
 *   FAULTS_WHILE=/path     only while that file exists
 *   FAULTS_CALLER=libpmio  only calls from a library of such a name
 *   FAULTS_CLOCK=1         CLOCK_REALTIME is an hour earlier or later at every other call
 *
 * A close that fails closes, as on Linux. faults_count(call) says how often a call, msync too, was made. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call { PWRITE, FSYNC, FDATASYNC, CLOSE, FALLOCATE, MSYNC, CALLS };
static const char* const call_names[CALLS] = {"pwrite", "fsync",           "fdatasync",
                                              "close",  "posix_fallocate", "msync"};
enum { SHORT = -1, MOST_FAULTS = 16 };

struct fault {
  enum call call;
  int effect; /* an errno, or SHORT */
  char path[200];
  long first, last;
  atomic_long seen;
};
static struct fault faults[MOST_FAULTS];
static int fault_count;
static atomic_long counts[CALLS];

static int effect_of(const char* name) {
  static const struct {
    const char* name;
    int effect;
  } known[] = {{"EIO", EIO},     {"ENOSPC", ENOSPC},         {"EDQUOT", EDQUOT}, {"EINTR", EINTR},
               {"EROFS", EROFS}, {"EOPNOTSUPP", EOPNOTSUPP}, {"short", SHORT}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].name, name) == 0) return known[i].effect;
  fprintf(stderr, "faults: unknown effect %s\n", name);
  abort();
}

static void add_fault(const char* text) {
  char call[32], effect[32];
  struct fault* fault = &faults[fault_count];
  const char* path = text;
  for (int colons = 0; colons < 2 && *path != '\0'; path++) colons += *path == ':';
  const char* end = strrchr(text, ':');
  if (fault_count == MOST_FAULTS || sscanf(text, "%31[^:]:%31[^:]:", call, effect) != 2 || end < path ||
      end - path >= (long)sizeof fault->path ||
      sscanf(end + 1, "%ld-%ld", &fault->first, &fault->last) != 2) {
    fprintf(stderr, "faults: not call:effect:path:first-last: %s\n", text);
    abort();
  }
  memcpy(fault->path, path, (size_t)(end - path));
  fault->effect = effect_of(effect);
  for (fault->call = 0; fault->call < CALLS && strcmp(call_names[fault->call], call) != 0;) fault->call++;
  fault_count++;
}

__attribute__((constructor)) static void read_environment(void) {
  const char* given = getenv("FAULTS");
  if (given == NULL) return;
  char* text = strdup(given);
  for (char *rest = text, *item; (item = strsep(&rest, ",")) != NULL;)
    if (*item != '\0') add_fault(item);
  free(text);
}

long faults_count(const char* call) {
  for (int i = 0; i < CALLS; i++)
    if (strcmp(call_names[i], call) == 0) return atomic_load(&counts[i]);
  return -1;
}

static int names(int fd, const char* part) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strstr(path, part) != NULL;
}

static int meant(const void* caller) {
  const char* part = getenv("FAULTS_CALLER");
  Dl_info where;
  return part == NULL || (dladdr(caller, &where) != 0 && strstr(where.dli_fname, part) != NULL);
}

/* What is to happen to this call: 0 nothing, SHORT, or an errno. */
static int judge(enum call call, int fd, const void* caller) {
  atomic_fetch_add(&counts[call], 1);
  if (fault_count == 0) return 0;
  const int error = errno;
  const char* gate = getenv("FAULTS_WHILE");
  int effect = 0;
  if (meant(caller) && (gate == NULL || access(gate, F_OK) == 0)) {
    for (int i = 0; i < fault_count && effect == 0; i++) {
      struct fault* fault = &faults[i];
      if (fault->call != call || (fault->path[0] != '\0' && !names(fd, fault->path))) continue;
      const long number = atomic_fetch_add(&fault->seen, 1) + 1;
      if (number >= fault->first && number <= fault->last) effect = fault->effect;
    }
  }
  errno = error;
  return effect;
}

#define NEXT(name) ((__typeof__(name)*)dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void* data, size_t length, off_t offset) {
  const int effect = judge(PWRITE, fd, __builtin_return_address(0));
  if (effect > 0) {
    errno = effect;
    return -1;
  }
  if (effect == SHORT && length > 1) length /= 2;
  return NEXT(pwrite)(fd, data, length, offset);
}

ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t offset) {
  const int effect = judge(PWRITE, fd, __builtin_return_address(0));
  if (effect > 0) {
    errno = effect;
    return -1;
  }
  if (effect == SHORT && count > 0 && parts[0].iov_len > 1)
    return NEXT(pwrite)(fd, parts[0].iov_base, parts[0].iov_len / 2, offset);
  return NEXT(pwritev)(fd, parts, count, offset);
}

int fsync(int fd) {
  const int effect = judge(FSYNC, fd, __builtin_return_address(0));
  if (effect == 0) return NEXT(fsync)(fd);
  errno = effect;
  return -1;
}

int fdatasync(int fd) {
  const int effect = judge(FDATASYNC, fd, __builtin_return_address(0));
  if (effect == 0) return NEXT(fdatasync)(fd);
  errno = effect;
  return -1;
}

int close(int fd) {
  const int effect = judge(CLOSE, fd, __builtin_return_address(0));
  const int result = NEXT(close)(fd);
  if (effect == 0 || result != 0) return result;
  errno = effect;
  return -1;
}

int posix_fallocate(int fd, off_t offset, off_t length) {
  const int effect = judge(FALLOCATE, fd, __builtin_return_address(0));
  return effect == 0 ? NEXT(posix_fallocate)(fd, offset, length) : effect;
}

int msync(void* address, size_t length, int flags) {
  atomic_fetch_add(&counts[MSYNC], 1);
  return NEXT(msync)(address, length, flags);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  static atomic_long calls;
  static int steps = -1;
  const int result = NEXT(clock_gettime)(clock, now);
  if (steps < 0) steps = getenv("FAULTS_CLOCK") != NULL;
  if (result == 0 && steps && clock == CLOCK_REALTIME)
    now->tv_sec += atomic_fetch_add(&calls, 1) % 2 == 0 ? 3600 : -3600;
  return result;
}
