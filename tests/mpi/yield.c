/* A preloadable shim for tests: an MPI library that polls without pause is made to give the processor away,
 * so that more ranks than cores make progress at once. A poll that found nothing counts; after a few of them
 * in a row each further one sleeps for PMIO_YIELD_NS (default 20000) nanoseconds. Only zero-timeout polls are
 * touched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

enum { kPollsBeforeSleep = 16 };

typedef int (*EpollWait)(int, struct epoll_event*, int, int);
typedef int (*Poll)(struct pollfd*, nfds_t, int);

static EpollWait real_epoll_wait;
static Poll real_poll;
static long sleep_ns = 20000;
static __thread int empty_polls;

static void bind(void) {
  const char* setting = getenv("PMIO_YIELD_NS");
  if (setting) sleep_ns = atol(setting);
  /* The default timer slack of 50 us would be longer than the sleep itself. */
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
  real_epoll_wait = (EpollWait)dlsym(RTLD_NEXT, "epoll_wait");
  real_poll = (Poll)dlsym(RTLD_NEXT, "poll");
}

static void bind_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, bind);
}

/* While there is one thread: later another one may be changing the environment. */
__attribute__((constructor)) static void bind_at_load(void) { bind_once(); }

static void found_nothing(void) {
  if (++empty_polls < kPollsBeforeSleep) return;
  struct timespec pause = {0, sleep_ns};
  nanosleep(&pause, 0);
}

static void account(int found, int timeout) {
  if (timeout != 0) return;
  if (found == 0)
    found_nothing();
  else
    empty_polls = 0;
}

int epoll_wait(int set, struct epoll_event* events, int capacity, int timeout) {
  bind_once();
  int found = real_epoll_wait(set, events, capacity, timeout);
  account(found, timeout);
  return found;
}

int poll(struct pollfd* set, nfds_t count, int timeout) {
  bind_once();
  int found = real_poll(set, count, timeout);
  account(found, timeout);
  return found;
}

int sched_yield(void) {
  found_nothing();
  return 0;
}
